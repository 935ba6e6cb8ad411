package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nearfar/internal/declare/experiment"
)

// describe writes a plan as a reader would draw it.
func (p *plan) describe() string {
	var b strings.Builder
	for _, s := range p.Spaces {
		fmt.Fprintf(&b, "%s:", s.Name)
		for _, br := range s.Bridges {
			fmt.Fprintf(&b, " %s%v", br.Name, br.Ports)
		}
		if t := s.Tunnel; t != nil {
			fmt.Fprintf(&b, " vni %d %s>%s", t.ID, t.Local, t.Remote)
		}
		for _, a := range s.Addresses {
			fmt.Fprintf(&b, " %s=%s", a.Device, a.Prefix)
			if a.Prefix6.IsValid() {
				fmt.Fprintf(&b, "+%s", a.Prefix6)
			}
		}
		for _, r := range s.Routes {
			fmt.Fprintf(&b, " %s via %s", r.To, r.Via)
		}
		for _, fw := range s.Firewalls {
			fmt.Fprintf(&b, " firewall %d at %s", fw.Element, fw.Device)
			if fw.IPv6 {
				b.WriteString(" of both")
			}
		}
		fmt.Fprintf(&b, " mtu %d %d\n", s.Left.MTU, s.Right.MTU)
	}
	return b.String()
}

func elements(kinds string) []experiment.Element {
	var path []experiment.Element
	for k := range strings.FieldsSeq(kinds) {
		e := experiment.Element{Kind: k}
		if k == experiment.Firewall {
			e.Rules = 100
		}
		path = append(path, e)
	}
	return path
}

func TestPlan(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"bridge router bridge", `
client: eth0=10.3.0.1/24 10.3.1.0/24 via 10.3.0.2 mtu 1500 1500
0-bridge: br0[left right] mtu 1500 1500
1-router: left=10.3.0.2/24 right=10.3.1.1/24 mtu 1500 1500
2-bridge: br0[left right] mtu 1500 1500
server: eth0=10.3.1.2/24 10.3.0.0/24 via 10.3.1.1 mtu 1500 1500
`},
		{"router router router", `
client: eth0=10.3.0.1/24 10.3.1.0/24 via 10.3.0.2 10.3.2.0/24 via 10.3.0.2 10.3.3.0/24 via 10.3.0.2 mtu 1500 1500
0-router: left=10.3.0.2/24 right=10.3.1.1/24 10.3.2.0/24 via 10.3.1.2 10.3.3.0/24 via 10.3.1.2 mtu 1500 1500
1-router: left=10.3.1.2/24 right=10.3.2.1/24 10.3.0.0/24 via 10.3.1.1 10.3.3.0/24 via 10.3.2.2 mtu 1500 1500
2-router: left=10.3.2.2/24 right=10.3.3.1/24 10.3.0.0/24 via 10.3.2.1 10.3.1.0/24 via 10.3.2.1 mtu 1500 1500
server: eth0=10.3.3.2/24 10.3.0.0/24 via 10.3.3.1 10.3.1.0/24 via 10.3.3.1 10.3.2.0/24 via 10.3.3.1 mtu 1500 1500
`},
		{"firewall dlr vtep router vtep", `
client: eth0=10.3.0.1/24 10.3.1.0/24 via 10.3.0.2 firewall 0 at eth0 mtu 1450 1450
1-dlr-vtep: br0[vxlan0] br1[left] vni 769 10.3.2.1>10.3.3.2 br1=10.3.0.2/24 br0=10.3.1.1/24 right=10.3.2.1/24 10.3.3.0/24 via 10.3.2.2 mtu 1450 1500
3-router: left=10.3.2.2/24 right=10.3.3.1/24 mtu 1500 1500
4-vtep: br0[right vxlan0] vni 769 10.3.3.2>10.3.2.1 left=10.3.3.2/24 10.3.2.0/24 via 10.3.3.1 mtu 1500 1450
server: eth0=10.3.1.2/24 10.3.0.0/24 via 10.3.1.1 mtu 1450 1450
`},
		{"vtep vtep dlr bridge firewall", `
client: eth0=10.3.0.1/24 10.3.1.0/24 via 10.3.0.2 mtu 1450 1450
0-vtep: br0[left vxlan0] vni 769 10.3.2.1>10.3.2.2 right=10.3.2.1/24 mtu 1450 1500
1-vtep-dlr: br0[vxlan0] br1[right] vni 769 10.3.2.2>10.3.2.1 br0=10.3.0.2/24 br1=10.3.1.1/24 left=10.3.2.2/24 mtu 1500 1450
3-bridge: br0[left right] mtu 1450 1450
server: eth0=10.3.1.2/24 10.3.0.0/24 via 10.3.1.1 firewall 4 at eth0 mtu 1450 1450
`},
		{"bridge router firewall firewall wire router firewall", `
client: eth0=10.3.0.1/24 10.3.1.0/24 via 10.3.0.2 10.3.2.0/24 via 10.3.0.2 mtu 1500 1500
0-bridge: br0[left right] mtu 1500 1500
1-router: left=10.3.0.2/24 right=10.3.1.1/24 10.3.2.0/24 via 10.3.1.2 firewall 2 at right firewall 3 at right mtu 1500 1500
4-wire: mtu 1500 1500
5-router: left=10.3.1.2/24 right=10.3.2.1/24 10.3.0.0/24 via 10.3.1.1 mtu 1500 1500
server: eth0=10.3.2.2/24 10.3.0.0/24 via 10.3.2.1 10.3.1.0/24 via 10.3.2.1 firewall 6 at eth0 mtu 1500 1500
`},
		{"bridge firewall router", `
client: eth0=10.3.0.1/24 10.3.1.0/24 via 10.3.0.2 mtu 1500 1500
0-bridge: br0[left right] mtu 1500 1500
2-router: left=10.3.0.2/24 right=10.3.1.1/24 firewall 1 at left mtu 1500 1500
server: eth0=10.3.1.2/24 10.3.0.0/24 via 10.3.1.1 mtu 1500 1500
`},
	} {
		p, err := newPlan("arm", 3, experiment.Lab{Path: elements(c.path)}, false)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if got := "\n" + p.describe(); got != c.want {
			t.Errorf("%s: got%swant%s", c.path, got, c.want)
		}
	}
}

// Hosts and routers have IPv6 addresses and routes like those of IPv4. Underlays have none, and neither have arms whose
// MTU is too small for IPv6.
func TestPlanOfIPv6(t *testing.T) {
	p, err := newPlan("arm", 3, experiment.Lab{Path: elements("firewall dlr vtep firewall router vtep")}, true)
	if err != nil {
		t.Fatal(err)
	}
	want := `
client: eth0=10.3.0.1/24+fd6e:6561:7266:300::1/64 10.3.1.0/24 via 10.3.0.2 fd6e:6561:7266:301::/64 via fd6e:6561:7266:300::2 firewall 0 at eth0 of both mtu 1450 1450
1-dlr-vtep: br0[vxlan0] br1[left] vni 769 10.3.2.1>10.3.3.2 br1=10.3.0.2/24+fd6e:6561:7266:300::2/64 br0=10.3.1.1/24+fd6e:6561:7266:301::1/64 right=10.3.2.1/24 10.3.3.0/24 via 10.3.2.2 firewall 3 at right mtu 1450 1500
4-router: left=10.3.2.2/24 right=10.3.3.1/24 mtu 1500 1500
5-vtep: br0[right vxlan0] vni 769 10.3.3.2>10.3.2.1 left=10.3.3.2/24 10.3.2.0/24 via 10.3.3.1 mtu 1500 1450
server: eth0=10.3.1.2/24+fd6e:6561:7266:301::2/64 10.3.0.0/24 via 10.3.1.1 fd6e:6561:7266:300::/64 via fd6e:6561:7266:301::1 mtu 1450 1450
`
	if got := "\n" + p.describe(); got != want {
		t.Errorf("got%swant%s", got, want)
	}
	f := p.facts()
	if f.Client6 != "fd6e:6561:7266:300::1" || f.Server6 != "fd6e:6561:7266:301::2" ||
		!slices.Contains(f.Addresses, "server eth0 fd6e:6561:7266:301::2/64") {
		t.Errorf("%+v", f)
	}
	for mtu, has := range map[int]bool{1329: false, 1330: true} {
		p, err := newPlan("arm", 3, experiment.Lab{Path: elements("vtep vtep"), MTU: mtu}, true)
		if err != nil {
			t.Fatal(err)
		}
		if p.IPv6 != has || p.Spaces[0].address6Of(hostDevice).IsValid() != has || (p.facts().Client6 != "") != has {
			t.Errorf("mtu %d: IPv6 is %v\n%s", mtu, p.IPv6, p.describe())
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	wire := func(e experiment.Element) experiment.Lab {
		e.Kind = experiment.Wire
		return experiment.Lab{Path: []experiment.Element{e}}
	}
	for _, c := range []struct {
		lab   experiment.Lab
		index int
		want  string
	}{
		{experiment.Lab{}, 1, "the path is empty"},
		{experiment.Lab{Path: elements("vtep")}, 1, "1 VTEPs: they come in pairs"},
		{experiment.Lab{Path: elements("dlr bridge")}, 1, "element 0: a dlr must stand directly beside its vtep"},
		{experiment.Lab{Path: elements("vtep dlr vtep")}, 1, "element 1: a dlr must stand"},
		{experiment.Lab{Path: elements("bridge hub")}, 1, `path[1].hub: unknown kind of path element "hub"`},
		{experiment.Lab{Path: elements("bridge firewall bridge")}, 1, "element 1: a firewall must stand beside"},
		{experiment.Lab{Path: elements("firewall vtep firewall vtep firewall wire")}, 1,
			"element 4: a firewall must stand beside"},
		{experiment.Lab{Path: elements("bridge"), MTU: 575}, 1, "mtu cannot be 575: write 576 to 9216"},
		{experiment.Lab{Path: elements("bridge"), MTU: 9217}, 1, "mtu cannot be 9217: write 576 to 9216"},
		{experiment.Lab{Path: elements("vtep vtep"), MTU: 625}, 1, "mtu 625 leaves no room for VXLAN: at least 626"},
		{experiment.Lab{Path: elements("bridge")}, 251, "at most 250 arms"},
		{experiment.Lab{Path: []experiment.Element{{Kind: experiment.Firewall, Rules: -1}}}, 1,
			"path[0].firewall.rules: rules cannot be -1: write 1 to 100000"},
		{wire(experiment.Element{Delay: -1}), 1, "a delay of -1ns is negative"},
		{wire(experiment.Element{Delay: time.Minute}), 1, "a delay of 1m is too long: at most 10s"},
		{wire(experiment.Element{Rate: 1}), 1, "a wire cannot have a rate of 1bit/s"},
		{wire(experiment.Element{Loss: 1}), 1, "with a loss of 100% nothing gets through"},
	} {
		_, err := newPlan("arm", c.index, c.lab, true)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.lab, err, c.want)
		}
	}
	if _, err := newPlan("arm", 1, experiment.Lab{Path: elements("bridge"), MTU: 576}, true); err != nil {
		t.Error(err)
	}
}

// drawPath draws a path in which VTEPs come in pairs, and DLRs and firewalls stand where they may.
func drawPath(t *rapid.T) []experiment.Element {
	flat := func(label string) string {
		kinds := rapid.SampledFrom([]string{"bridge", "router", "wire", "firewall"})
		return strings.Join(rapid.SliceOfN(kinds, 0, 4).Draw(t, label), " ")
	}
	kinds := "bridge " + flat("before")
	for i := range rapid.IntRange(0, 2).Draw(t, "tunnels") {
		label := fmt.Sprint("tunnel ", i)
		if rapid.Bool().Draw(t, label+" dlr before") {
			kinds += " dlr"
		}
		kinds += " vtep " + flat(label) + " vtep "
		if rapid.Bool().Draw(t, label+" dlr after") {
			kinds += " dlr "
		}
		kinds += flat(label + " behind")
	}
	all := elements(kinds)
	var path []experiment.Element
	for i, e := range all {
		if _, ok := experiment.FirewallAt(all, i); ok || e.Kind != experiment.Firewall {
			path = append(path, e)
		}
	}
	return path
}

func TestPlanHoldsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := drawPath(t)
		ipv6 := rapid.Bool().Draw(t, "ipv6")
		p, err := newPlan("arm", rapid.IntRange(1, maxArms).Draw(t, "index"), experiment.Lab{Path: path}, ipv6)
		if err != nil {
			t.Fatal(err)
		}
		// Every element is in one namespace.
		var placed []int
		byAddress, byAddress6 := map[netip.Addr]address{}, map[netip.Addr]address{}
		for _, s := range p.Spaces {
			placed = append(placed, s.Elements...)
			for _, a := range s.Addresses {
				if _, twice := byAddress[a.Prefix.Addr()]; twice {
					t.Fatalf("%s twice", a.Prefix)
				}
				byAddress[a.Prefix.Addr()] = a
				if !a.Prefix6.IsValid() {
					continue
				}
				if _, twice := byAddress6[a.Prefix6.Addr()]; twice {
					t.Fatalf("%s twice", a.Prefix6)
				}
				byAddress6[a.Prefix6.Addr()] = a
			}
		}
		slices.Sort(placed)
		for i := range path {
			if i >= len(placed) || placed[i] != i {
				t.Fatalf("of %d elements %v are placed", len(path), placed)
			}
		}
		// Neighbours know each other, and are on one network.
		for _, a := range byAddress {
			peer, ok := byAddress[a.Peer]
			if !ok || peer.Peer != a.Prefix.Addr() || a.PeerMAC.String() != peer.MAC.String() ||
				a.Prefix.Masked() != peer.Prefix.Masked() {
				t.Fatalf("%+v and %+v are no neighbours", a, peer)
			}
		}
		for _, a := range byAddress6 {
			peer, ok := byAddress6[a.Peer6]
			if !ok || peer.Peer6 != a.Prefix6.Addr() || peer.Peer != a.Prefix.Addr() ||
				a.Prefix6.Masked() != peer.Prefix6.Masked() {
				t.Fatalf("%+v and %+v are no neighbours over IPv6", a, peer)
			}
		}
		if (len(byAddress6) > 0) != ipv6 {
			t.Fatalf("%d IPv6 addresses", len(byAddress6))
		}
		// Every route leads over a neighbour, and both ends of each link agree on its MTU.
		for i, s := range p.Spaces {
			for _, r := range s.Routes {
				isPeer := func(a address) bool { return a.Peer == r.Via || a.Peer6 == r.Via }
				if !r.Via.IsValid() || !slices.ContainsFunc(s.Addresses, isPeer) {
					t.Fatalf("%s: the route to %s is over %s, which is no neighbour", s.Name, r.To, r.Via)
				}
			}
			if i > 0 && s.Left.MTU != p.Spaces[i-1].Right.MTU {
				t.Fatalf("the link to %s has MTUs %d and %d", s.Name, p.Spaces[i-1].Right.MTU, s.Left.MTU)
			}
		}
		arrives(t, p, (*space).addressOf)
		if ipv6 {
			arrives(t, p, (*space).address6Of)
		}
	})
}

// arrives follows the routes from the client to the server and back, between the addresses that addressOf gives.
func arrives(t *rapid.T, p *plan, addressOf func(s *space, device string) netip.Addr) {
	owner := map[netip.Addr]*space{}
	for i := range p.Spaces {
		for _, a := range p.Spaces[i].Addresses {
			owner[a.Prefix.Addr()] = &p.Spaces[i]
			owner[a.Prefix6.Addr()] = &p.Spaces[i]
		}
	}
	delete(owner, netip.Addr{})
	client, server := &p.Spaces[0], &p.Spaces[len(p.Spaces)-1]
	for _, way := range [][2]*space{{client, server}, {server, client}} {
		to := addressOf(way[1], hostDevice)
		at := way[0]
		for hops := 0; at != way[1]; hops++ {
			next := netip.Addr{}
			for _, a := range at.Addresses {
				if a.Prefix.Contains(to) || a.Prefix6.Contains(to) {
					next = to
				}
			}
			for _, r := range at.Routes {
				if r.To.Contains(to) {
					next = r.Via
				}
			}
			if at = owner[next]; at == nil || hops > len(p.Spaces) {
				t.Fatalf("no way to %s beyond hop %d", to, hops)
			}
			if at != way[1] && !at.Forward {
				t.Fatalf("%s is on the way to %s and does not forward", at.Name, to)
			}
		}
	}
}
