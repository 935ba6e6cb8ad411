package check

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ThisMachine is the machine on which this process runs, with the network namespace of the calling thread.
func ThisMachine() Source { return Source{Files: threadFiles{os.DirFS("/")}, Network: kernel{}} }

// threadFiles are the files of this machine as a thread sees them: /proc/net alone would show the network namespace of
// the process's first thread. /proc/sys/net belongs to the thread that opens it in any case.
type threadFiles struct{ fs.FS }

func (t threadFiles) Open(name string) (fs.File, error) { return t.FS.Open(ofThread(name)) }

// ReadFile reads a file at once: the kernel gives a setting only to a read from its beginning.
func (t threadFiles) ReadFile(name string) ([]byte, error) { return fs.ReadFile(t.FS, ofThread(name)) }

func ofThread(name string) string {
	if rest, ok := strings.CutPrefix(name, "proc/net/"); ok {
		return "proc/thread-self/net/" + rest
	}
	return name
}

// kernel asks the kernel over netlink, and drivers by ethtool's ioctl: their own counters are not in its netlink
// family.
type kernel struct{}

func (kernel) Links() ([]Link, error) {
	found, err := netlink.LinkList()
	if err != nil {
		return nil, err
	}
	all := make([]Link, 0, len(found))
	for _, l := range found {
		a := l.Attrs()
		link := Link{
			Name: a.Name, Index: a.Index, Address: a.HardwareAddr.String(), State: a.OperState.String(), MTU: a.MTU,
			Master: a.MasterIndex, TxQueues: a.NumTxQueues, RxQueues: a.NumRxQueues,
		}
		if kind := l.Type(); kind != "device" {
			link.Kind = kind
		}
		if a.NetNsID < 0 { // otherwise the device below is in another namespace, and its index means nothing here
			link.Lower = a.ParentIndex
		}
		if s := a.Statistics; s != nil {
			link.Statistics = Statistics{
				RxPackets: s.RxPackets, TxPackets: s.TxPackets, RxBytes: s.RxBytes, TxBytes: s.TxBytes,
				RxDropped: s.RxDropped, TxDropped: s.TxDropped, RxErrors: s.RxErrors, TxErrors: s.TxErrors,
				RxMissed: s.RxMissedErrors, Known: true,
			}
		}
		all = append(all, link)
	}
	return all, nil
}

func (kernel) Route(to netip.Addr) (Route, int, error) {
	routes, err := netlink.RouteGet(net.IP(to.AsSlice()))
	if err != nil {
		return Route{}, 0, err
	}
	if len(routes) == 0 {
		return Route{}, 0, errors.New("the kernel has no route")
	}
	found := routes[0]
	link, err := netlink.LinkByIndex(found.LinkIndex)
	if err != nil {
		return Route{}, 0, fmt.Errorf("the device of the route: %w", err)
	}
	r := Route{Device: link.Attrs().Name, Local: found.Type == unix.RTN_LOCAL}
	r.Gateway = address(found.Gw)
	r.Source = address(found.Src)
	return r, pathMTU(to), nil
}

// address is the zero value for none.
func address(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}

// pathMTU asks the kernel with a connected UDP socket (ip(7), IP_MTU), which sends nothing. It is 0 if the kernel does
// not say.
func pathMTU(to netip.Addr) int {
	family, level, option := unix.AF_INET, unix.IPPROTO_IP, unix.IP_MTU
	var at unix.Sockaddr
	if to.Is4() {
		at = &unix.SockaddrInet4{Port: 9, Addr: to.As4()}
	} else {
		family, level, option = unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_MTU
		at = &unix.SockaddrInet6{Port: 9, Addr: to.As16()}
	}
	socket, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer func() { _ = unix.Close(socket) }()
	if unix.Connect(socket, at) != nil {
		return 0
	}
	mtu, err := unix.GetsockoptInt(socket, level, option)
	if err != nil {
		return 0
	}
	return mtu
}

func (kernel) Details(device string) Details {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return Details{}
	}
	defer e.Close()
	var d Details
	if info, err := e.DriverInfo(device); err == nil {
		d.Driver, d.Version, d.Firmware, d.Bus = info.Driver, info.Version, info.FwVersion, info.BusInfo
	}
	if c, err := e.GetChannels(device); err == nil {
		d.Channels = present(map[string]uint32{
			"rx": c.RxCount, "tx": c.TxCount, "combined": c.CombinedCount, "max-combined": c.MaxCombined,
		})
	}
	if r, err := e.GetRing(device); err == nil {
		d.Rings = present(map[string]uint32{
			"rx": r.RxPending, "tx": r.TxPending, "max-rx": r.RxMaxPending, "max-tx": r.TxMaxPending,
		})
	}
	if c, err := e.GetCoalesce(device); err == nil {
		d.Coalescing = present(map[string]uint32{
			"rx-usecs": c.RxCoalesceUsecs, "tx-usecs": c.TxCoalesceUsecs, "rx-frames": c.RxMaxCoalescedFrames,
			"tx-frames": c.TxMaxCoalescedFrames, "adaptive-rx": c.UseAdaptiveRxCoalesce,
			"adaptive-tx": c.UseAdaptiveTxCoalesce,
		})
	}
	if i, err := e.GetIndir(device); err == nil && int(i.Size) <= len(i.RingIndex) {
		queues := slices.Clone(i.RingIndex[:i.Size])
		slices.Sort(queues)
		d.Spread = len(slices.Compact(queues))
	}
	if features, err := e.Features(device); err == nil {
		for name, on := range features {
			if on {
				d.Offloads = append(d.Offloads, name)
			}
		}
		slices.Sort(d.Offloads)
	}
	return d
}

// present leaves out zeros; nil if nothing else is left.
func present(all map[string]uint32) map[string]uint32 {
	for name, value := range all {
		if value == 0 {
			delete(all, name)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// Counters asks only drivers whose counters are used (see ownCounters): for others the call can take milliseconds.
func (kernel) Counters(device string) (map[string]uint64, error) {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	info, err := e.DriverInfo(device)
	if err != nil {
		return nil, err
	}
	if !ownCounters(info.Driver) || info.NStats == 0 {
		return nil, nil
	}
	return e.Stats(device)
}
