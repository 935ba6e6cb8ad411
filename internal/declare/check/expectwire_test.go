package check

import (
	"strings"
	"testing"
)

// TestEncapsulationOnTheWire judges packets that were seen on underlay devices.
func TestEncapsulationOnTheWire(t *testing.T) {
	amount := Amount{Bytes: 1_000_000, Packets: 10_000}
	carried := func(how string, packets uint64) Carried {
		return Carried{Encapsulation: how, ID: 257, Port: 4789, Packets: packets, Bytes: packets * 160, TTL: 63}
	}
	arriving := func(all ...Carried) *Wire { return &Wire{Device: "up0", Arriving: true, Carried: all} }
	both := func(all ...Carried) *Wire { return &Wire{Device: "up0", Carried: all} }
	veth := func(all ...Carried) *Wire { return &Wire{Device: "eth0", Arriving: true, Veth: true, Carried: all} }
	refused := &Wire{Problem: "watching a device needs root or CAP_NET_RAW"}
	for _, c := range []struct {
		name           string
		client, server *Wire
		node, other    string
		sent           Amount
		want           map[string]Outcome // by expected encapsulation
		evidence       string
	}{
		{name: "all in VXLAN", client: arriving(carried("vxlan", 10_050)), server: arriving(carried("vxlan", 10_050)),
			sent: amount, want: map[string]Outcome{"vxlan": Proved, "none": Refuted, "geneve": Refuted,
				"wireguard": Refuted}, evidence: "in vxlan 257 (port 4789, TTL 63)"},
		{name: "plain", client: arriving(carried("none", 10_050)), server: arriving(carried("none", 10_050)),
			sent: amount, want: map[string]Outcome{"vxlan": Refuted, "none": Proved}, evidence: "in no tunnel"},
		{name: "one direction plain", client: arriving(carried("vxlan", 10_050)),
			server: arriving(carried("none", 10_050)), sent: amount,
			want: map[string]Outcome{"vxlan": Refuted, "none": Refuted}},
		{name: "switched in the middle", client: arriving(carried("vxlan", 9_000), carried("none", 1_100)),
			server: arriving(carried("vxlan", 10_050)), sent: amount,
			want: map[string]Outcome{"vxlan": Refuted, "none": Refuted}},
		{name: "a few in another tunnel", client: arriving(carried("vxlan", 10_000), carried("none", 100)),
			server: arriving(carried("vxlan", 10_050)), sent: amount,
			want: map[string]Outcome{"vxlan": Proved, "none": Refuted}},
		{name: "hardware carried most", client: arriving(carried("vxlan", 40)), server: arriving(carried("vxlan", 40)),
			sent: amount, want: map[string]Outcome{"vxlan": Unknown, "none": Unknown}, evidence: "was not seen"},
		{name: "nothing seen", client: arriving(), server: arriving(), sent: amount,
			want: map[string]Outcome{"vxlan": Unknown, "none": Unknown}, evidence: "no packet on up0"},
		{name: "nothing seen on one side", client: arriving(carried("vxlan", 10_050)), server: arriving(), sent: amount,
			want: map[string]Outcome{"vxlan": Unknown, "none": Refuted}},
		{name: "one node", client: both(), server: both(), sent: amount, node: "n1", other: "n1",
			want: map[string]Outcome{"vxlan": Refuted, "none": Unknown}, evidence: "both sides are on node n1"},
		{name: "one node, not watched", client: refused, server: refused, sent: amount, node: "n1", other: "n1",
			want: map[string]Outcome{"vxlan": Unknown, "none": Unknown}, evidence: "no overlay carries it"},
		{name: "encrypted", client: both(carried("esp", 20_100)), server: both(carried("esp", 20_100)), sent: amount,
			want: map[string]Outcome{"vxlan": Unknown, "none": Unknown, "wireguard": Unknown}, evidence: "are hidden"},
		{name: "encrypted packets of others", client: both(carried("none", 20_100), carried("esp", 500)),
			server: both(carried("none", 20_100)), sent: amount, want: map[string]Outcome{"none": Proved}},
		{name: "one side, both directions", client: both(carried("vxlan", 20_100)), server: refused, sent: amount,
			want: map[string]Outcome{"vxlan": Proved, "none": Refuted}, evidence: "needs root"},
		{name: "one side, one direction", client: arriving(carried("vxlan", 10_050)), server: refused, sent: amount,
			want: map[string]Outcome{"vxlan": Unknown, "none": Refuted}},
		{name: "no side", client: refused, server: refused, sent: amount,
			want: map[string]Outcome{"vxlan": Unknown, "none": Unknown}},
		{name: "below a tunnel on a veth", client: veth(carried("vxlan", 10_050)), server: veth(carried("vxlan", 10_050)),
			sent: amount, want: map[string]Outcome{"vxlan": Proved, "none": Refuted, "geneve": Refuted}},
		{name: "plain on a veth", client: veth(carried("none", 10_050)), server: veth(carried("none", 10_050)),
			sent: amount, want: map[string]Outcome{"vxlan": Unknown, "none": Unknown}, evidence: "in no tunnel"},
		{name: "switched on a veth", client: veth(carried("vxlan", 9_000), carried("none", 1_100)),
			server: veth(carried("vxlan", 10_050)), sent: amount,
			want: map[string]Outcome{"vxlan": Unknown, "none": Refuted}},
		{name: "an unknown amount", client: arriving(carried("vxlan", 50)), server: arriving(carried("vxlan", 50)),
			want: map[string]Outcome{"vxlan": Unknown, "none": Refuted}},
	} {
		for value, want := range c.want {
			j := Judge(Expectation{Name: ExpectEncapsulation, Value: value}, Trial{
				Client: Side{Wire: c.client, Node: c.node, Sent: c.sent},
				Server: Side{Wire: c.server, Node: c.other, Sent: c.sent}, Protocol: "tcp",
			})
			if j.Outcome != want || !strings.Contains(j.Evidence, c.evidence) {
				t.Errorf("%s: %s: %s (%s), want %s", c.name, value, j.Outcome, j.Evidence, want)
			}
		}
	}
}

// TestWireBound: what a host says is cut, and cannot move the cursor of a terminal.
func TestWireBound(t *testing.T) {
	w := Wire{
		Device: strings.Repeat("d", 1000), Problem: "a\x1b[2Jb\n" + strings.Repeat("p", 1000),
		Carried: make([]Carried, 100),
	}
	w.Carried[0].Encapsulation = "\x07"
	w.Bound()
	if len(w.Device) > 64 || len(w.Problem) > 512 || len(w.Carried) > 16 || strings.ContainsAny(w.Problem, "\x1b\n") ||
		w.Carried[0].Encapsulation != "?" {
		t.Errorf("%+v", w)
	}
}
