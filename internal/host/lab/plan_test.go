package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nearfar/internal/experiment"
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
		}
		for _, r := range s.Routes {
			fmt.Fprintf(&b, " %s via %s", r.To, r.Via)
		}
		for _, fw := range s.Firewalls {
			fmt.Fprintf(&b, " firewall %d at %s", fw.Element, fw.Device)
		}
		fmt.Fprintf(&b, " mtu %d %d\n", s.Left.MTU, s.Right.MTU)
	}
	return b.String()
}

func elements(kinds string) []experiment.Element {
	var path []experiment.Element
	for k := range strings.FieldsSeq(kinds) {
		path = append(path, experiment.Element{Kind: k})
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
		{"bridge firewall router", `
client: eth0=10.3.0.1/24 10.3.1.0/24 via 10.3.0.2 mtu 1500 1500
0-bridge: br0[left right] mtu 1500 1500
2-router: left=10.3.0.2/24 right=10.3.1.1/24 firewall 1 at left mtu 1500 1500
server: eth0=10.3.1.2/24 10.3.0.0/24 via 10.3.1.1 mtu 1500 1500
`},
	} {
		p, err := newPlan("arm", 3, experiment.Lab{Path: elements(c.path)})
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if got := "\n" + p.describe(); got != c.want {
			t.Errorf("%s: got%swant%s", c.path, got, c.want)
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
		{experiment.Lab{}, 1, "a path of 0 elements"},
		{experiment.Lab{Path: elements("vtep")}, 1, "1 VTEPs: they come in pairs"},
		{experiment.Lab{Path: elements("dlr bridge")}, 1, "element 0: a dlr must stand directly beside its vtep"},
		{experiment.Lab{Path: elements("vtep dlr vtep")}, 1, "element 1: a dlr must stand"},
		{experiment.Lab{Path: elements("bridge hub")}, 1, `element 1: unknown kind "hub"`},
		{experiment.Lab{Path: elements("bridge"), MTU: 100}, 1, "MTU 100: it must lie between"},
		{experiment.Lab{Path: elements("bridge")}, 251, "at most 250 arms"},
		{experiment.Lab{Path: []experiment.Element{{Kind: experiment.Firewall, Rules: -1}}}, 1, "a firewall of -1 rules"},
		{wire(experiment.Element{Delay: -1}), 1, "a wire's delay of -1ns"},
		{wire(experiment.Element{Delay: time.Minute}), 1, "a wire's delay of 1m0s"},
		{wire(experiment.Element{Rate: 1}), 1, "a wire's rate of 1 bit/s"},
		{wire(experiment.Element{Loss: 1}), 1, "a wire's loss of 1"},
	} {
		_, err := newPlan("arm", c.index, c.lab)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.lab, err, c.want)
		}
	}
}

// drawPath draws a path in which VTEPs come in pairs and DLRs stand where they may.
func drawPath(t *rapid.T) []experiment.Element {
	flat := func(label string) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"bridge", "router", "wire", "firewall"}), 0, 4).Draw(t, label), " ")
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
	return elements(kinds)
}

func TestPlanHoldsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := drawPath(t)
		p, err := newPlan("arm", rapid.IntRange(1, maxArms).Draw(t, "index"), experiment.Lab{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		// Every element is somewhere, once.
		var placed []int
		byAddress := map[netip.Addr]address{}
		for _, s := range p.Spaces {
			placed = append(placed, s.Elements...)
			for _, a := range s.Addresses {
				if _, twice := byAddress[a.Prefix.Addr()]; twice {
					t.Fatalf("%s twice", a.Prefix)
				}
				byAddress[a.Prefix.Addr()] = a
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
			if !ok || peer.Peer != a.Prefix.Addr() || a.PeerMAC != peer.MAC || a.Prefix.Masked() != peer.Prefix.Masked() {
				t.Fatalf("%+v and %+v are no neighbours", a, peer)
			}
		}
		// Every route leads over a neighbour, and both ends of each link agree on its MTU.
		for i, s := range p.Spaces {
			for _, r := range s.Routes {
				if !slices.ContainsFunc(s.Addresses, func(a address) bool { return a.Peer == r.Via }) {
					t.Fatalf("%s: the route to %s is over %s, which is no neighbour", s.Name, r.To, r.Via)
				}
			}
			if i > 0 && s.Left.MTU != p.Spaces[i-1].Right.MTU {
				t.Fatalf("the link to %s has MTUs %d and %d", s.Name, p.Spaces[i-1].Right.MTU, s.Left.MTU)
			}
		}
		arrives(t, p)
	})
}

// arrives follows the routes from the client to the server and back.
func arrives(t *rapid.T, p *plan) {
	owner := map[netip.Addr]*space{}
	for i := range p.Spaces {
		for _, a := range p.Spaces[i].Addresses {
			owner[a.Prefix.Addr()] = &p.Spaces[i]
		}
	}
	client, server := &p.Spaces[0], &p.Spaces[len(p.Spaces)-1]
	for _, way := range [][2]*space{{client, server}, {server, client}} {
		to := way[1].addressOf(hostDevice)
		at := way[0]
		for hops := 0; at != way[1]; hops++ {
			next := netip.Addr{}
			for _, a := range at.Addresses {
				if a.Prefix.Contains(to) {
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
