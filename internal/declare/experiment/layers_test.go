package experiment

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// derived gives the layers of arms that have the given paths.
func derived(paths ...[]Element) []map[string]int {
	arms := make([]Arm, len(paths))
	for i, path := range paths {
		arms[i].Lab = &Lab{Path: path}
	}
	DeriveLayers(arms)
	layers := make([]map[string]int, len(arms))
	for i, a := range arms {
		layers[i] = a.Layers
	}
	return layers
}

func TestLayersOfPaths(t *testing.T) {
	type path = []Element
	type layers = map[string]int
	bridge, router, vtep := Element{Kind: Bridge}, Element{Kind: Router}, Element{Kind: VTEP}
	wire := func(delay time.Duration, rate, loss float64) Element {
		return Element{Kind: Wire, Delay: delay, Rate: rate, Loss: loss}
	}
	firewall := func(rules int) Element { return Element{Kind: Firewall, Rules: rules} }
	for _, c := range []struct {
		name  string
		paths []path
		want  []layers
	}{
		{"kinds are counted", []path{{bridge}, {vtep, bridge, router, bridge, vtep}},
			[]layers{{"bridge": 1}, {"vtep": 2, "bridge": 2, "router": 1}}},
		{"one set of parameters is the kind alone", []path{{wire(50_000, 0, 0)}, {wire(50_000, 0, 0), bridge}},
			[]layers{{"wire": 1}, {"wire": 1, "bridge": 1}}},
		{"the least delay is the base", []path{{wire(200_000, 0, 0)}, {wire(0, 0, 0)},
			{wire(50_000, 0, 0), wire(50_000, 0, 0)}},
			[]layers{{"wire": 1, "wire(delay=200us)": 1}, {"wire": 1}, {"wire": 2, "wire(delay=50us)": 2}}},
		{"no rate is the base", []path{{wire(0, 1e9, 0)}, {wire(0, 0, 0)}, {wire(0, 1e8, 0)}},
			[]layers{{"wire": 1, "wire(rate=1Gbit/s)": 1}, {"wire": 1}, {"wire": 1, "wire(rate=100Mbit/s)": 1}}},
		{"then the highest", []path{{wire(0, 1e8, 0)}, {wire(0, 1e9, 0)}},
			[]layers{{"wire": 1, "wire(rate=100Mbit/s)": 1}, {"wire": 1}}},
		{"the least loss is the base", []path{{wire(0, 0, 0.01)}, {wire(0, 0, 0.001)}},
			[]layers{{"wire": 1, "wire(loss=1%)": 1}, {"wire": 1}}},
		{"all that differs is named", []path{{wire(0, 1e9, 0)}, {wire(1_500_000, 0, 0.01)}},
			[]layers{{"wire": 1}, {"wire": 1, "wire(delay=1.5ms,rate=unlimited,loss=1%)": 1}}},
		{"the fewest rules are the base", []path{{firewall(1000), bridge, firewall(10)}, {firewall(100)}},
			[]layers{{"firewall": 2, "firewall(rules=1000)": 1, "bridge": 1},
				{"firewall": 1, "firewall(rules=100)": 1}}},
		{"a firewall at a host is the base, one on a hop is named by it",
			[]path{{firewall(9), bridge}, {bridge, firewall(9), router, bridge},
				{bridge, router, firewall(9), firewall(10), wire(0, 0, 0)}},
			[]layers{
				{"firewall": 1, "bridge": 1}, {"firewall": 1, "firewall(at=router)": 1, "bridge": 2, "router": 1},
				{"firewall": 2, "firewall(at=router)": 1, "firewall(rules=10,at=router)": 1, "bridge": 1, "router": 1,
					"wire": 1},
			}},
		{"firewalls that are all on a router need no name for it",
			[]path{{bridge, firewall(9), router, bridge}, {bridge, router, bridge}},
			[]layers{{"firewall": 1, "bridge": 2, "router": 1}, {"bridge": 2, "router": 1}}},
		{"the underlay is another place", []path{{bridge, firewall(9), router, bridge},
			{vtep, bridge, firewall(9), router, vtep}},
			[]layers{
				{"firewall": 1, "bridge": 2, "router": 1},
				{"firewall": 1, "firewall(at=underlay-router)": 1, "bridge": 1, "router": 1, "vtep": 2},
			}},
	} {
		if diff := cmp.Diff(c.want, derived(c.paths...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestFirewallAt: a firewall filters at a neighbour that handles IP packets: a host or a VTEP's underlay side before a
// router, and the left one of two that are equal.
func TestFirewallAt(t *testing.T) {
	for _, c := range []struct {
		path string
		i    int
		want int // the neighbour's index; -2 for none
	}{
		{"firewall", 0, -1},
		{"firewall bridge", 0, -1},
		{"bridge firewall", 1, 2},
		{"firewall router bridge", 0, -1},
		{"bridge firewall router bridge", 1, 2},
		{"bridge router firewall bridge", 2, 1},
		{"bridge router firewall router bridge", 2, 1},
		{"bridge router firewall firewall wire", 3, 1},
		{"bridge firewall bridge", 1, -2},
		{"wire firewall wire", 1, -2},
		{"bridge firewall firewall bridge", 2, -2},
		{"bridge firewall dlr vtep vtep", 1, 2},
		{"vtep vtep dlr firewall bridge", 3, 2},
		{"bridge firewall vtep bridge vtep", 1, -2}, // the host's side of a VTEP, which is a bridge
		{"vtep bridge vtep firewall bridge", 3, -2},
		{"vtep firewall bridge vtep", 1, 0},
		{"vtep bridge firewall vtep", 2, 3},
		{"vtep firewall vtep", 1, 0},
		{"vtep firewall router vtep", 1, 0},
		{"vtep bridge firewall router vtep", 2, 3},
		{"vtep vtep bridge vtep firewall bridge vtep", 4, 3},
	} {
		var path []Element
		for _, kind := range strings.Fields(c.path) {
			path = append(path, NewElement(kind))
		}
		got, ok := FirewallAt(path, c.i)
		if !ok {
			got = -2
		}
		if got != c.want {
			t.Errorf("%s: firewall %d is at %d, want %d", c.path, c.i, got, c.want)
		}
	}
}
