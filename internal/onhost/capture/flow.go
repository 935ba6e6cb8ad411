package capture

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/net/bpf"
)

// A Flow is a conversation of a trial.
type Flow struct {
	// Protocol is udp, tcp or icmp.
	Protocol string
	// Servers are the addresses of the server, and Port its port; 0 for icmp.
	Servers []netip.Addr
	Port    uint16
	// Clients are the addresses of the client; none for any client.
	Clients []netip.Addr
}

// tidy drops invalid addresses and duplicates.
func (f Flow) tidy() (Flow, error) {
	f.Servers, f.Clients = tidy(f.Servers), tidy(f.Clients)
	switch _, _, known := f.protocols(); {
	case !known:
		return f, fmt.Errorf("unknown protocol %.40q", f.Protocol)
	case len(f.Servers) == 0:
		return f, errors.New("the addresses of the server are not known")
	case len(f.Servers) > maxAddresses || len(f.Clients) > maxAddresses:
		return f, errors.New("the trial has too many addresses")
	}
	return f, nil
}

// protocols are the protocol's numbers over IPv4 and IPv6.
func (f Flow) protocols() (v4, v6 uint32, known bool) {
	switch f.Protocol {
	case "udp":
		return ProtoUDP, ProtoUDP, true
	case "tcp":
		return ProtoTCP, ProtoTCP, true
	case "icmp":
		return ProtoICMP, ProtoICMPv6, true
	}
	return 0, 0, false
}

// flowFilter lets through the first bytes of a flow's packets, as many as are to be kept: of plain ones, and of those
// that VXLAN, Geneve, GRE or IP in IP carries. Fragments behind the first have no ports, and do not pass.
func flowFilter(flow Flow, keep uint32) []bpf.Instruction {
	f := newFilter()
	f.add(bpf.LoadConstant{Dst: bpf.RegX})
	f.own("plain", flow, "tunnel")
	f.label("tunnel")
	f.carried("inner")
	f.label("inner")
	f.own("inner", flow, reject)
	f.label("accept")
	f.add(bpf.RetConstant{Val: keep})
	return f.end()
}

// headerAt is the place where the program keeps the offset of an IP header.
const headerAt = 2

// own jumps to accept if the packet whose IP header is at X is one of the flow, and else to the label otherwise. name
// makes the labels unique.
func (f *filter) own(name string, flow Flow, otherwise string) {
	f.add(bpf.StoreScratch{Src: bpf.RegX, N: headerAt})
	f.add(load(0, 1), right(4))
	f.when(name+"4", 4)
	f.when(name+"6", 6)
	f.jump(otherwise)
	v4, v6, _ := flow.protocols()
	f.label(name + "4")
	f.add(load(9, 1))
	f.unless(v4, otherwise)
	f.add(load(6, 2), and(0x1fff))
	f.unless(0, otherwise)
	f.ways(name+"4", flow, true, otherwise)
	f.label(name + "6")
	f.add(load(6, 1))
	f.unless(v6, otherwise)
	f.ways(name+"6", flow, false, otherwise)
}

// ways looks at the addresses and ports of a packet, in both directions.
func (f *filter) ways(name string, flow Flow, v4 bool, otherwise string) {
	source, destination := uint32(8), uint32(24)
	if v4 {
		source, destination = 12, 16
	}
	f.way(name+".to", flow, v4, destination, source, 2, name+".back")
	f.label(name + ".back")
	f.way(name+".from", flow, v4, source, destination, 0, otherwise)
}

// way looks at one direction: the addresses of server and client, and the server's port, are at these offsets.
func (f *filter) way(name string, flow Flow, v4 bool, server, client, port uint32, otherwise string) {
	f.oneOf(name+".server", server, of(flow.Servers, v4), name+".served")
	f.jump(otherwise)
	f.label(name + ".served")
	if len(flow.Clients) > 0 {
		f.oneOf(name+".client", client, of(flow.Clients, v4), name+".between")
		f.jump(otherwise)
		f.label(name + ".between")
	}
	if v4 {
		f.add(load(0, 1), and(0x0f), bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2}, plusX(), bpf.TAX{})
	} else {
		f.moveX(40)
	}
	switch {
	case flow.Protocol != "icmp":
		f.add(load(port, 2))
		f.when("accept", uint32(flow.Port))
	case v4:
		f.add(load(0, 1))
		f.when("accept", 8, 0) // an echo request or reply
	default:
		f.add(load(0, 1))
		f.when("accept", 128, 129)
	}
	f.add(bpf.LoadScratch{Dst: bpf.RegX, N: headerAt})
	f.jump(otherwise)
}
