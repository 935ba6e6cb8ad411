package check

import (
	"fmt"
	"slices"
	"strings"
)

// PlainPackets is the value of ExpectEncapsulation for packets that are in no tunnel.
const PlainPackets = "none"

// tunnels are the kinds of devices that put packets into others.
func tunnels() []string { return []string{"vxlan", "geneve", "ipip", "gre", "gretap", "wireguard"} }

// encrypted lists the tunnels that hide all but the outer header.
func encrypted() []string { return []string{"wireguard", "esp"} }

// encapsulation expects that packets are in tunnels of a kind, or in none. It is judged by the packets themselves, on
// the devices that were watched. Where none was, a device of the kernel that makes the tunnel, on the path and with the
// trial's bytes counted, proves it.
func encapsulation(t Trial, e Expectation) finding {
	want, _ := e.Value.(string)
	client, server := t.sides()
	ofClient, ofServer := client.encapsulated(t, want), server.encapsulated(t, want)
	f := ofBoth(ofClient, ofServer)
	// One device is enough if it shows both directions.
	if f.outcome == Unknown && client.watched() != server.watched() {
		s, its := client, ofClient
		if server.watched() {
			s, its = server, ofServer
		}
		if its.outcome == Proved && !s.Wire.Arriving {
			f.outcome = Proved
		}
	}
	return f
}

// encapsulated judges one side.
func (s one) encapsulated(t Trial, want string) finding {
	if s.watched() {
		return s.onWire(t, want)
	}
	// The device above the one that could not be watched can still prove it.
	if by := s.byDevice(want); s.Wire == nil || by.outcome == Proved {
		return by
	}
	if t.oneNode() {
		return unknown("both sides are on node %s, so no packet of the trial leaves it, and no overlay carries it",
			t.Client.Node)
	}
	return unknown("the underlay was not watched: %s", s.Wire.Problem)
}

// watched says whether packets of the side were watched.
func (s one) watched() bool { return s.Wire != nil && s.Wire.Problem == "" }

// byDevice judges a side by the device of its path, where packets were not watched. Only a device that makes the tunnel
// proves something: below any other, a tunnel can be made by the other end of a veth, by hardware or by the provider.
func (s one) byDevice(want string) finding {
	on, d, why := s.device()
	if why != nil {
		return *why
	}
	if on.Kind != want || !slices.Contains(tunnels(), want) {
		return unknown("packets leave by %s (%s): what happens to them below it was not watched", on.Name, on.kind())
	}
	f := s.carried(d)
	f.evidence = fmt.Sprintf("%s is a %s device; %s", on.Name, on.Kind, f.evidence)
	if f.outcome == Refuted {
		f.outcome = Unknown // the trial went another way, which was not watched
	}
	return f
}

// carryWire is the share of the trial's bytes that must have been seen. It is lower than carrySufficient, because the
// bytes of packets beyond the first ones are estimated. Hardware that takes a connection over after its first packets
// leaves far less to see.
const carryWire = 0.5

// onWire judges a side by the packets that were seen on its underlay device.
func (s one) onWire(t Trial, want string) finding {
	w := s.Wire
	var all, good, other Carried
	var how, hidden []string
	for _, c := range w.Carried {
		if slices.Contains(encrypted(), c.Encapsulation) {
			hidden = append(hidden, c.words())
			continue
		}
		how = append(how, c.words())
		sum(&all, c)
		switch {
		case w.Veth && c.Encapsulation == PlainPackets:
		case c.Encapsulation == want:
			sum(&good, c)
		default:
			sum(&other, c)
		}
	}
	if all.Packets == 0 {
		return s.nothing(t, want, hidden)
	}
	text := fmt.Sprintf("of the trial's packets on %s: %s", w.Device, strings.Join(how, ", "))
	expected := s.received
	if !w.Arriving {
		expected.Bytes += s.Sent.Bytes
		expected.Packets += s.Sent.Packets
	}
	enough := func(c Carried, share float64) bool {
		return !below(c.Packets, share, expected.Packets) && !below(c.Bytes, min(share, carryWire), expected.Bytes)
	}
	known := s.Sent.Bytes > 0 || s.received.Bytes > 0
	switch {
	case float64(other.Packets) >= carryNone*float64(all.Packets) && enough(other, carryNone):
		return finding{outcome: Refuted, evidence: text}
	case !known:
		return unknown("%s; it is not known how much the trial sent", text)
	case !enough(all, carrySufficient):
		return unknown("%s, of at least %d bytes in %d packets: the rest was not seen, as where hardware forwards "+
			"them", text, expected.Bytes, expected.Packets)
	case below(good.Packets, carrySufficient, all.Packets):
		return unknown("%s", text)
	}
	return finding{outcome: Proved, evidence: text}
}

// oneNode says that both sides are pods on one node.
func (t Trial) oneNode() bool { return t.Client.Node != "" && t.Client.Node == t.Server.Node }

// nothing gives the finding if no packet was seen with the addresses of the trial.
func (s one) nothing(t Trial, want string, hidden []string) finding {
	switch {
	case t.oneNode() && len(hidden) == 0:
		f := unknown("no packet of the trial passed %s, because both sides are on node %s", s.Wire.Device,
			t.Client.Node)
		if want != PlainPackets {
			f.outcome = Refuted
		}
		return f
	case len(hidden) > 0:
		return unknown("no packet on %s shows the trial's addresses; between the two machines were %s, whose contents "+
			"are hidden", s.Wire.Device, strings.Join(hidden, ", "))
	}
	return unknown("no packet on %s shows the trial's addresses", s.Wire.Device)
}

func sum(into *Carried, c Carried) {
	into.Packets += c.Packets
	into.Bytes += c.Bytes
}

// words say how packets were carried: "1200 packets in vxlan 257 (port 4789, inner TTL 63)".
func (c Carried) words() string {
	text := fmt.Sprintf("%d packets (%d bytes) ", c.Packets, c.Bytes)
	if c.Encapsulation == PlainPackets {
		text += "in no tunnel"
	} else {
		text += "in " + c.Encapsulation
	}
	if c.ID != 0 {
		text += fmt.Sprintf(" %d", c.ID)
	}
	var more []string
	if c.Port != 0 {
		more = append(more, fmt.Sprintf("port %d", c.Port))
	}
	if c.TTL != 0 {
		more = append(more, fmt.Sprintf("TTL %d", c.TTL))
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}
