package capture

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"golang.org/x/net/bpf"

	"nearfar/internal/declare/check"
)

// The addresses of the tests: of the trial, and of the machines between which tunnels are.
var (
	client4, server4 = netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.1.2")
	client6, server6 = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
	node4, other4    = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	node6, other6    = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
)

func ends() Ends {
	return Ends{Own: []netip.Addr{client4, client6}, Peer: []netip.Addr{server4, server6}}
}

// ip makes an IP packet.
func ip(from, to netip.Addr, protocol byte, payload []byte) []byte {
	if from.Is4() {
		b := make([]byte, 20, 20+len(payload))
		b[0], b[8], b[9] = 0x45, 63, protocol
		binary.BigEndian.PutUint16(b[2:], uint16(20+len(payload)))
		copy(b[12:], from.AsSlice())
		copy(b[16:], to.AsSlice())
		return append(b, payload...)
	}
	b := make([]byte, 40, 40+len(payload))
	b[0], b[6], b[7] = 0x60, protocol, 61
	binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
	copy(b[8:], from.AsSlice())
	copy(b[24:], to.AsSlice())
	return append(b, payload...)
}

func udp(port uint16, payload []byte) []byte {
	b := make([]byte, 8, 8+len(payload))
	binary.BigEndian.PutUint16(b, 40000)
	binary.BigEndian.PutUint16(b[2:], port)
	binary.BigEndian.PutUint16(b[4:], uint16(8+len(payload)))
	return append(b, payload...)
}

func tcp() []byte {
	return append([]byte{0x9c, 0x40, 0x13, 0x88, 15: 0, 12: 0x50, 19: 0}, "secret data"...)
}

// frame makes an Ethernet frame with VLAN tags.
func frame(packet []byte, tags ...uint16) []byte {
	b := make([]byte, 12)
	for _, tag := range tags {
		b = binary.BigEndian.AppendUint16(b, tag)
		b = append(b, 0, 7)
	}
	kind := uint16(etherIPv4)
	if packet[0]>>4 == 6 {
		kind = etherIPv6
	}
	return append(binary.BigEndian.AppendUint16(b, kind), packet...)
}

func vxlan(vni uint32, inner []byte) []byte {
	b := []byte{8, 0, 0, 0}
	return append(binary.BigEndian.AppendUint32(b, vni<<8), inner...)
}

func geneve(options int, kind uint16, inner []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{byte(options), 0}, kind)
	b = binary.BigEndian.AppendUint32(b, 77<<8)
	return append(append(b, make([]byte, 4*options)...), inner...)
}

func gre(flags, kind uint16, key uint32, inner []byte) []byte {
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, flags), kind)
	if flags&0x8000 != 0 {
		b = append(b, 0, 0, 0, 0)
	}
	if flags&0x2000 != 0 {
		b = binary.BigEndian.AppendUint32(b, key)
	}
	if flags&0x1000 != 0 {
		b = append(b, 0, 0, 0, 1)
	}
	return append(b, inner...)
}

func fragment(packet []byte, offset uint16) []byte {
	packet = bytes.Clone(packet)
	binary.BigEndian.PutUint16(packet[6:], offset)
	return packet
}

// sample is a packet, the class whose filter must let it through (-1 for none), and how it is carried.
type sample struct {
	name   string
	packet []byte
	class  int
	key    key
	ttl    int
}

func samples() []sample {
	inner4, inner6 := ip(client4, server4, protoTCP, tcp()), ip(server6, client6, protoTCP, tcp())
	foreign := ip(netip.MustParseAddr("10.9.9.9"), server4, protoTCP, tcp())
	outer := func(protocol byte, payload []byte) []byte { return ip(node4, other4, protocol, payload) }
	outer6 := func(protocol byte, payload []byte) []byte { return ip(other6, node6, protocol, payload) }
	none := key{encapsulation: check.PlainPackets}
	options := bytes.Clone(inner4[:20])
	options[0] = 0x46
	options = append(append(options, 0, 0, 0, 0), tcp()...)
	return []sample{
		{"plain", inner4, plain, none, 63},
		{"plain, back", ip(server4, client4, ProtoUDP, udp(5000, []byte("x"))), plain, none, 63},
		{"plain, IPv6", inner6, plain, none, 61},
		{"plain, with options", options, plain, none, 63},
		{"plain, ping", ip(client4, server4, 1, make([]byte, 64)), plain, none, 63},
		{"plain, later fragment", fragment(ip(client4, server4, ProtoUDP, make([]byte, 800)), 185), plain, none, 63},
		{"plain, empty datagram", ip(client4, server4, ProtoUDP, udp(5000, nil)), plain, none, 63},
		{"a datagram of zeros", ip(client4, server4, ProtoUDP, udp(5000, make([]byte, 900))), plain, none, 63},
		{"other addresses", foreign, -1, key{}, 0},
		{"one address only", ip(client4, node4, protoTCP, tcp()), -1, key{}, 0},
		{"to itself", ip(client4, client4, protoTCP, tcp()), -1, key{}, 0},
		{"ARP", []byte{0, 1, 8, 0, 6, 4, 0, 1}, -1, key{}, 0},
		{"nothing", nil, -1, key{}, 0},
		{"vxlan", outer(ProtoUDP, udp(4789, vxlan(257, frame(inner4)))), tunnel, key{VXLAN, 257, 4789}, 63},
		{"vxlan, Linux' old port", outer(ProtoUDP, udp(8472, vxlan(1, frame(inner6)))), tunnel, key{VXLAN, 1, 8472}, 61},
		{"vxlan over IPv6", outer6(ProtoUDP, udp(9999, vxlan(5, frame(inner4)))), tunnel, key{VXLAN, 5, 9999}, 63},
		{"vxlan, with tags", outer(ProtoUDP, udp(4789, vxlan(3, frame(inner4, etherQinQ, etherVLAN)))), tunnel,
			key{VXLAN, 3, 4789}, 63},
		{"vxlan of others", outer(ProtoUDP, udp(4789, vxlan(257, frame(foreign)))), -1, key{}, 0},
		{"vxlan of others between the trial's addresses",
			ip(client4, server4, ProtoUDP, udp(4789, vxlan(257, frame(foreign)))), -1, key{}, 0},
		{"vxlan with ARP", outer(ProtoUDP, udp(4789, vxlan(257, make([]byte, 60)))), -1, key{}, 0},
		{"vxlan, later fragment", fragment(outer(ProtoUDP, udp(4789, vxlan(257, frame(inner4)))), 100), -1, key{}, 0},
		{"vxlan between the trial's addresses",
			ip(client4, server4, ProtoUDP, udp(4789, vxlan(9, frame(inner4)))), tunnel, key{VXLAN, 9, 4789}, 63},
		{"geneve", outer(ProtoUDP, udp(6081, geneve(0, etherBridging, frame(inner4)))), tunnel, key{Geneve, 77, 6081}, 63},
		{"geneve with options", outer(ProtoUDP, udp(6081, geneve(6, etherBridging, frame(inner6)))), tunnel,
			key{Geneve, 77, 6081}, 61},
		{"geneve without Ethernet", outer6(ProtoUDP, udp(6081, geneve(2, etherIPv4, inner4))), tunnel,
			key{Geneve, 77, 6081}, 63},
		{"ipip", outer(ProtoIPv4, inner4), tunnel, key{encapsulation: IPIP}, 63},
		{"ipv6 in ipv4", outer(ProtoIPv6, inner6), tunnel, key{encapsulation: IPIP}, 61},
		{"ipip of others", outer(ProtoIPv4, foreign), -1, key{}, 0},
		{"ipip of others between the trial's addresses", ip(client4, server4, ProtoIPv4, foreign), -1, key{}, 0},
		{"gre", outer(ProtoGRE, gre(0, etherIPv4, 0, inner4)), tunnel, key{encapsulation: GRE}, 63},
		{"gre with all fields", outer(ProtoGRE, gre(0xb000, etherIPv4, 42, inner4)), tunnel, key{GRE, 42, 0}, 63},
		{"gre of frames", outer6(ProtoGRE, gre(0x2000, etherBridging, 7, frame(inner4))), tunnel, key{GRETAP, 7, 0}, 63},
		{"pptp", outer(ProtoGRE, gre(0x2001, etherIPv4, 7, inner4)), -1, key{}, 0},
		{"esp", outer(protoESP, make([]byte, 200)), hidden, key{encapsulation: ESP}, 0},
		{"esp over IPv6", outer6(protoESP, make([]byte, 200)), hidden, key{encapsulation: ESP}, 0},
		{"wireguard", outer(ProtoUDP, udp(51820, append([]byte{4, 0, 0, 0}, make([]byte, 60)...))), hidden,
			key{encapsulation: WireGuard}, 0},
		{"wireguard, handshake", outer(ProtoUDP, udp(51820, append([]byte{1, 0, 0, 0}, make([]byte, 144)...))), -1,
			key{}, 0},
		{"esp of others", ip(node4, client4, protoESP, make([]byte, 200)), -1, key{}, 0},
	}
}

func machines(t testing.TB) []*bpf.VM {
	t.Helper()
	outer := Ends{Own: []netip.Addr{node4, node6}, Peer: []netip.Addr{other4, other6}}
	var all []*bpf.VM
	for _, program := range [][]bpf.Instruction{plainFilter(ends()), tunnelFilter(ends()), hiddenFilter(outer)} {
		if _, err := bpf.Assemble(program); err != nil {
			t.Fatal(err)
		}
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, vm)
	}
	return all
}

// TestFilters: each packet passes the filter of its class and no other. The part of the packet that the filter keeps
// says how it is carried, and shows nothing of the payload.
func TestFilters(t *testing.T) {
	vms := machines(t)
	for _, s := range samples() {
		for kind, vm := range vms {
			n, err := vm.Run(s.packet)
			if err != nil {
				t.Fatal(err)
			}
			if (n > 0) != (kind == s.class) {
				t.Errorf("%s: filter %d lets %d bytes through", s.name, kind, n)
			}
			if n == 0 {
				continue
			}
			left := s.packet[:min(n, len(s.packet))]
			got, ttl, ok := class{kind: kind}.judge(seen{headers: left}, ends())
			if !ok || got != s.key || ttl != s.ttl {
				t.Errorf("%s: %+v, TTL %d, %v", s.name, got, ttl, ok)
			}
			if bytes.Contains(left, []byte("secret")) {
				t.Errorf("%s: the payload is visible", s.name)
			}
		}
	}
}

// protoTCP is the protocol number of TCP.
const protoTCP = 6

// decodeFrame is Decode for an Ethernet frame, with or without VLAN tags.
func decodeFrame(b []byte) (layers []Layer, hidden string) {
	packet, ok := ethernet(b)
	if !ok {
		return nil, ""
	}
	return Decode(packet)
}

// TestDecodeFrame reads frames with VLAN tags.
func TestDecodeFrame(t *testing.T) {
	packet := ip(client4, server4, protoTCP, tcp())
	for _, f := range [][]byte{frame(packet), frame(packet, etherVLAN), frame(packet, etherQinQ, etherVLAN)} {
		if layers, _ := decodeFrame(f); len(layers) != 1 || layers[0].Source != client4 || layers[0].TTL != 63 {
			t.Errorf("%+v", layers)
		}
	}
	if layers, _ := decodeFrame(frame(packet, etherVLAN, etherVLAN, etherVLAN)); layers != nil {
		t.Errorf("three tags: %+v", layers)
	}
}

// TestSum: packets that were counted and not looked at have the shares of those that were.
func TestSum(t *testing.T) {
	all := samples()
	looked := func(names ...string) (some []seen) {
		for _, name := range names {
			for _, s := range all {
				if s.name == name {
					some = append(some, seen{s.packet, 100})
				}
			}
		}
		return some
	}
	w := sum("up0", true, []class{
		{kind: plain, total: 1, first: looked("plain")},
		{kind: tunnel, total: 400, first: looked("vxlan", "vxlan", "vxlan", "ipip")},
	}, ends())
	want := []check.Carried{
		{Encapsulation: VXLAN, ID: 257, Port: 4789, Packets: 300, Bytes: 30000, TTL: 63},
		{Encapsulation: IPIP, Packets: 100, Bytes: 10000, TTL: 63},
		{Encapsulation: check.PlainPackets, Packets: 1, Bytes: 100, TTL: 63},
	}
	if len(w.Carried) != 3 || w.Carried[0] != want[0] || w.Carried[1] != want[1] || w.Carried[2] != want[2] ||
		w.Lost != 396 || w.Device != "up0" || !w.Arriving {
		t.Errorf("%+v", w)
	}
}

// FuzzDecode: no bytes make the decoder fail, and what it says fits the bytes. A packet that a filter lets through is
// one that the decoder understands in the same way, unless it is cut.
func FuzzDecode(f *testing.F) {
	for _, s := range samples() {
		f.Add(s.packet)
		f.Add(frame(append([]byte{0x45}, s.packet...)))
		for _, n := range []int{1, 19, 27, 40, 60} {
			f.Add(s.packet[:min(n, len(s.packet))])
		}
	}
	vms := machines(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		layers, hidden := Decode(b)
		if len(layers) > maxLayers || hidden != "" && len(layers) == 0 {
			t.Fatalf("%+v %s", layers, hidden)
		}
		for i, l := range layers {
			if !l.Source.IsValid() || l.TTL < 0 || l.TTL > 255 || l.Protocol > 255 ||
				(l.In == check.PlainPackets) != (i == 0) {
				t.Fatalf("layer %d: %+v", i, l)
			}
		}
		decodeFrame(b)
		for kind, vm := range vms {
			n, err := vm.Run(b)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 || len(layers) == 0 { // a header that is too short
				continue
			}
			k, _, ok := class{kind: kind}.judge(seen{headers: b[:min(n, len(b))]}, ends())
			if kind == plain && !ok || ok && (k.encapsulation == check.PlainPackets) != (kind == plain) {
				t.Fatalf("filter %d let %x through: %+v %v", kind, b, k, ok)
			}
		}
	})
}

// TestInspect: what follows the last header is given without what fills the frame, and the header's own words about it.
func TestInspect(t *testing.T) {
	datagram := udp(5000, []byte("x"))
	padded := append(ip(client4, server4, ProtoUDP, datagram), 0, 0, 0)
	binary.BigEndian.PutUint16(padded[4:], 77)
	p := Inspect(padded)
	if l := p.Layers[0]; !bytes.Equal(p.Payload, datagram) || l.Ident != 77 || l.Part || l.Payload != len(datagram) {
		t.Errorf("%+v", p)
	}
	p = Inspect(ip(node6, other6, ProtoUDP, udp(4789, vxlan(257, frame(padded)))))
	if l := p.Layers[1]; !bytes.Equal(p.Payload, datagram) || l.Ident != 77 || l.ID != 257 || p.Closed != "" {
		t.Errorf("%+v", p)
	}
	whole := ip(node4, other4, ProtoUDP, udp(4789, vxlan(257, frame(padded))))
	for kept := len(whole) - len(padded); kept < len(whole)-len(padded)+20; kept++ { // the inner header is cut
		if p := Inspect(whole[:kept]); len(p.Layers) != 1 || p.Closed != VXLAN {
			t.Errorf("%d bytes: %+v", kept, p)
		}
	}
	for offset, first := range map[uint16]bool{0x2000: true, 100: false} {
		if p := Inspect(fragment(padded, offset)); !p.Layers[0].Part || (p.Payload != nil) != first {
			t.Errorf("%+v", p)
		}
	}
	hidden := ip(node4, other4, protoESP, make([]byte, 40))
	if p := Inspect(hidden); p.Hidden != ESP || p.Payload != nil {
		t.Errorf("%+v", p)
	}
	large := bytes.Clone(padded)
	binary.BigEndian.PutUint16(large[2:], 0) // a packet of more than 64 KiB, which the device cuts up
	if p := Inspect(large); p.Layers[0].Payload != -1 || len(p.Payload) != len(datagram)+3 {
		t.Errorf("%+v", p)
	}
}
