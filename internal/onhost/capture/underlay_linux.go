package capture

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// maxBelow bounds devices below each other.
const maxBelow = 8

// Underlay is the lowest device by which packets to an address leave this machine, as far as the kernel shows it: below
// tunnels, VLANs and similar devices. node says that one end of a veth pair is the machine's uplink, as on a node of a
// cluster of containers. Elsewhere a veth device belongs to a container, and how its other end sends the packets on is
// not visible; then the result veth is true, and the device is of use only below a tunnel of this machine.
func Underlay(to netip.Addr, node bool) (device string, veth bool, err error) {
	link, err := linkTo(net.IP(to.AsSlice()))
	if err != nil {
		return "", false, err
	}
	tunnelled := false
	for range maxBelow {
		name := link.Attrs().Name
		var remote net.IP
		switch l := link.(type) {
		case *netlink.Vxlan:
			remote = l.Group
		case *netlink.Geneve:
			remote = l.Remote
		case *netlink.Iptun:
			remote = l.Remote
		case *netlink.Gretun:
			remote = l.Remote
		case *netlink.Gretap:
			remote = l.Remote
		}
		switch kind := link.Type(); kind {
		case "device", "bond", "team", "netvsc":
			return name, false, nil
		case "veth":
			if node || tunnelled {
				return name, !node, nil
			}
			return "", false, fmt.Errorf("%s is one end of a veth pair: what happens at its other end is not visible here",
				name)
		case "vlan", "macvlan", "ipvlan":
			a := link.Attrs()
			if a.NetNsID >= 0 || a.ParentIndex == 0 {
				return "", false, fmt.Errorf("the device below %s is in another namespace", name)
			}
			link, err = netlink.LinkByIndex(a.ParentIndex)
		default:
			if len(remote) == 0 || remote.IsUnspecified() || remote.IsMulticast() {
				return "", false, fmt.Errorf("the device below %s (%s) is not known", name, kind)
			}
			tunnelled = true
			link, err = linkTo(remote)
		}
		if err != nil {
			return "", false, fmt.Errorf("the device below %s: %w", name, err)
		}
	}
	return "", false, errors.New("too many devices below each other")
}

// linkTo is the device of the route to an address.
func linkTo(to net.IP) (netlink.Link, error) {
	routes, err := netlink.RouteGet(to)
	if err != nil {
		return nil, fmt.Errorf("the route to %v: %w", to, err)
	}
	if len(routes) == 0 {
		return nil, fmt.Errorf("there is no route to %v", to)
	}
	if routes[0].Type == unix.RTN_LOCAL {
		return nil, fmt.Errorf("%v is this machine: packets leave by no device", to)
	}
	return netlink.LinkByIndex(routes[0].LinkIndex)
}
