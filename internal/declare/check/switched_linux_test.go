package check

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
)

// imitated is the real kernel, with a bridge as Azure's synthetic device and its port vf0 as the virtual function: the
// packets that the bridge sends through vf0 are the packets of the function. Traffic, statistics and switches are real,
// the names of drivers are not.
type imitated struct{ kernel }

func (i imitated) Links() ([]Link, error) {
	links, err := i.kernel.Links()
	for n := range links {
		if links[n].Name == "br0" {
			links[n].Kind = ""
		}
	}
	return links, err
}

func (i imitated) Details(device string) Details {
	driver, ok := map[string]string{"br0": netvsc, "vf0": "mlx5_core", "syn0": "veth"}[device]
	if !ok {
		return i.kernel.Details(device)
	}
	return Details{Driver: driver}
}

// Counters imitates hv_netvsc: the function's packets are part of the device's.
func (i imitated) Counters(device string) (map[string]uint64, error) {
	if device != "br0" {
		return nil, nil
	}
	links, err := i.kernel.Links()
	if err != nil {
		return nil, err
	}
	own := map[string]uint64{"vf_tx_packets": 0, "vf_tx_bytes": 0, "vf_rx_packets": 0, "vf_rx_bytes": 0}
	for _, l := range links {
		if l.Name == "vf0" {
			own["vf_tx_packets"], own["vf_tx_bytes"] = l.Statistics.TxPackets, l.Statistics.TxBytes
		}
	}
	return own, nil
}

// TestSwitchedPath sends real packets over a device that has two paths, and switches the path in the middle of a trial.
func TestSwitchedPath(t *testing.T) {
	if !inside(t) {
		return
	}
	bridge, ports := twoPaths(t)
	s := Source{Network: imitated{}}
	to := netip.MustParseAddr("192.0.2.2")
	const packets, size = 1000, 500
	send := func(through string, count int) {
		direct(t, bridge, ports[through])
		c, err := net.Dial("udp4", "192.0.2.2:9")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		for range count {
			if _, err := c.Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, test := range map[string]struct {
		traffic func()
		want    finding
	}{
		"virtual function": {func() { send("vf0", packets) }, finding{outcome: Proved}},
		"synthetic path":   {func() { send("syn0", packets) }, finding{outcome: Refuted}},
		"switched": {func() { send("vf0", packets/2); send("syn0", packets/2) },
			finding{outcome: Refuted, partly: true}},
		"switched for the last tenth": {func() { send("vf0", packets*9/10); send("syn0", packets/10) },
			finding{outcome: Refuted, partly: true}},
		"the function is gone": {func() {
			send("vf0", packets)
			if err := netlink.LinkSetNoMaster(ports["vf0"]); err != nil {
				t.Fatal(err)
			}
		}, finding{outcome: Refuted, partly: true}},
	} {
		if err := netlink.LinkSetMaster(ports["vf0"], bridge); err != nil {
			t.Fatal(err)
		}
		forwarding(t, ports["vf0"])
		f := s.Read(Options{To: to})
		before := s.ReadCounters(to)
		test.traffic()
		after := s.ReadCounters(to)
		got := accelerated(one{
			Side: Side{
				Facts: &f, Counters: after.Since(&before), Sent: Amount{Bytes: packets * size, Packets: packets},
			},
			protocol: "udp",
		})
		if got.outcome != test.want.outcome || got.partly != test.want.partly {
			t.Errorf("%s: got %+v", name, got)
		}
		t.Logf("%s: %s: %s", name, got.outcome, got.evidence)
	}
}

// twoPaths makes a bridge with two ports. Their other ends drop what arrives.
func twoPaths(t *testing.T) (bridge netlink.Link, ports map[string]netlink.Link) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	up := func(name string) netlink.Link {
		t.Helper()
		l, err := netlink.LinkByName(name)
		must(err)
		quietIPv6(name)
		must(netlink.LinkSetUp(l))
		return l
	}
	// A bridge without its own address takes the address of a port, and forgets its neighbours when that port leaves.
	must(netlink.LinkAdd(&netlink.Bridge{
		LinkAttrs: netlink.LinkAttrs{Name: "br0", HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 1}},
	}))
	bridge = up("br0")
	a, err := netlink.ParseAddr("192.0.2.1/24")
	must(err)
	must(netlink.AddrAdd(bridge, a))
	ports = map[string]netlink.Link{}
	for _, name := range []string{"vf0", "syn0"} {
		must(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "-peer"}))
		up(name + "-peer")
		ports[name] = up(name)
		must(netlink.LinkSetMaster(ports[name], bridge))
		forwarding(t, ports[name])
	}
	must(netlink.NeighAdd(&netlink.Neigh{
		LinkIndex: bridge.Attrs().Index, State: netlink.NUD_PERMANENT, IP: net.IPv4(192, 0, 2, 2),
		HardwareAddr: farEnd(),
	}))
	return bridge, ports
}

func farEnd() net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, 9} }

// direct lets the bridge send packets for the far end through a port.
func direct(t *testing.T, bridge, port netlink.Link) {
	t.Helper()
	if err := netlink.NeighSet(&netlink.Neigh{
		LinkIndex: port.Attrs().Index, MasterIndex: bridge.Attrs().Index, Family: 7, // AF_BRIDGE
		State: netlink.NUD_NOARP | netlink.NUD_PERMANENT, Flags: netlink.NTF_MASTER, HardwareAddr: farEnd(),
	}); err != nil {
		t.Fatal(err)
	}
}

// forwarding waits until a port of a bridge forwards.
func forwarding(t *testing.T, port netlink.Link) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		l, err := netlink.LinkByIndex(port.Attrs().Index)
		if err != nil {
			t.Fatal(err)
		}
		if l.Attrs().OperState == netlink.OperUp && l.Attrs().MasterIndex != 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the port does not forward")
		}
	}
}
