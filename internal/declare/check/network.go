package check

import (
	"fmt"
	"io/fs"
	"net/netip"
	"strconv"
)

// maxDevices bounds the devices whose drivers are asked. A Kubernetes node can have hundreds of veth devices.
const maxDevices = 64

// readNetwork reads devices and the path to an address.
func (s Source) readNetwork(f *Facts, to netip.Addr) {
	if to.IsValid() {
		route, mtu, err := s.Network.Route(to)
		if err != nil {
			f.Missing = append(f.Missing, fmt.Sprintf("the path to %v: %v", to, err))
		} else {
			f.Path = &Path{To: to, Route: route, MTU: mtu}
		}
	}
	links, err := s.Network.Links()
	if err != nil {
		f.Missing = append(f.Missing, fmt.Sprintf("the network devices: %v", err))
		return
	}
	for _, l := range relevant(links, f.Path) {
		d := Device{Link: l, Details: s.Network.Details(l.Name), NUMA: -1}
		if s.Files != nil && sameDevice(s.Files, l) {
			d.NUMA = number(s.Files, "sys/class/net/"+l.Name+"/device/numa_node", -1)
		}
		f.Devices = append(f.Devices, d)
	}
	if dropped := len(links) - len(f.Devices); dropped > 0 {
		f.Missing = append(f.Missing, fmt.Sprintf("%d of %d network devices: only %d are read", dropped, len(links),
			maxDevices))
	}
}

// relevant puts the devices of the path first, with those enslaved to them or below them, and keeps maxDevices.
func relevant(links []Link, p *Path) []Link {
	if len(links) <= maxDevices {
		return links
	}
	var first, rest []Link
	on := pathIndexes(links, p)
	for _, l := range links {
		if on[l.Index] {
			first = append(first, l)
		} else {
			rest = append(rest, l)
		}
	}
	return append(first, rest...)[:maxDevices]
}

// pathIndexes are the indexes of the devices that packets on a path can use: the device of the route, the devices
// enslaved to it, its master, and the devices below them.
func pathIndexes(links []Link, p *Path) map[int]bool {
	on := map[int]bool{}
	if p == nil {
		return on
	}
	for _, l := range links {
		if l.Name == p.Device {
			on[l.Index] = true
		}
	}
	for range links { // each pass follows at least one relation more, or is the last one
		before := len(on)
		for _, l := range links {
			switch {
			case on[l.Index]:
				if l.Master != 0 {
					on[l.Master] = true
				}
				// The lower device of a veth in the same namespace is its peer, which carries the packets too.
				if l.Lower != 0 {
					on[l.Lower] = true
				}
			case l.Master != 0 && on[l.Master] && enslavesHardware(links, l.Master):
				on[l.Index] = true
			}
		}
		if len(on) == before {
			break
		}
	}
	return on
}

// enslavesHardware is false for a bridge: a bridge has devices of many paths.
func enslavesHardware(links []Link, index int) bool {
	for _, l := range links {
		if l.Index == index {
			return l.Kind != "bridge"
		}
	}
	return false
}

// sameDevice says whether /sys shows this device. Where /sys was mounted in another network namespace, a device of the
// same name can be another one.
func sameDevice(root fs.FS, l Link) bool {
	folder := "sys/class/net/" + l.Name
	return line(root, folder+"/ifindex") == strconv.Itoa(l.Index) && line(root, folder+"/address") == l.Address
}
