package capture

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/bpf"
)

// The filters run in the kernel on every packet of the device. They get packets from the IP header on. Packets that
// pass are cut behind the header with the trial's addresses; plain packets keep 8 bytes more, which include the ports.

// A filter is a classic BPF program whose jumps have names as targets.
type filter struct {
	code   []bpf.Instruction
	labels map[string]int
	jumps  map[int]string // by the index of the jump
}

func newFilter() *filter { return &filter{labels: map[string]int{}, jumps: map[int]string{}} }

func (f *filter) add(all ...bpf.Instruction) { f.code = append(f.code, all...) }

func (f *filter) label(name string) { f.labels[name] = len(f.code) }

// jump jumps in any case, when jumps if A has one of the values, and unless if A does not have the value. All are jumps
// of any length: those with a condition reach no further than 255 instructions in BPF.
func (f *filter) jump(to string) {
	f.jumps[len(f.code)] = to
	f.add(bpf.Jump{})
}

func (f *filter) when(to string, values ...uint32) {
	for _, v := range values {
		f.add(bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: 1})
		f.jump(to)
	}
}

func (f *filter) unless(value uint32, to string) {
	f.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: 1})
	f.jump(to)
}

// instructions are the program with its jumps.
func (f *filter) instructions() []bpf.Instruction {
	for at, to := range f.jumps {
		f.code[at] = bpf.Jump{Skip: uint32(f.labels[to] - at - 1)}
	}
	return f.code
}

// reject is the place where the program lets nothing through.
const reject = "reject"

// load loads from the packet, behind X.
func load(offset uint32, size int) bpf.Instruction { return bpf.LoadIndirect{Off: offset, Size: size} }

func and(v uint32) bpf.Instruction  { return bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: v} }
func plus(v uint32) bpf.Instruction { return bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: v} }
func plusX() bpf.Instruction        { return bpf.ALUOpX{Op: bpf.ALUOpAdd} }
func right(n uint32) bpf.Instruction {
	return bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: n}
}

// moveX adds to X.
func (f *filter) moveX(n uint32) { f.add(bpf.TXA{}, plus(n), bpf.TAX{}) }

// version jumps by the version of the IP header at X.
func (f *filter) version(v4, v6 string) {
	f.add(load(0, 1), right(4))
	f.when(v4, 4)
	f.when(v6, 6)
	f.jump(reject)
}

// match jumps to found if the IP header at X has the addresses, in either direction. name makes the labels unique.
func (f *filter) match(name string, e Ends, v4 bool, found string) {
	source, destination := uint32(8), uint32(24)
	if v4 {
		source, destination = 12, 16
	}
	own, peer := of(e.Own, v4), of(e.Peer, v4)
	f.oneOf(name+".own", source, own, name+".from-own")
	f.oneOf(name+".peer", source, peer, name+".from-peer")
	f.jump(reject)
	f.label(name + ".from-own")
	f.oneOf(name+".to-peer", destination, peer, found)
	f.jump(reject)
	f.label(name + ".from-peer")
	f.oneOf(name+".to-own", destination, own, found)
	f.jump(reject)
}

// between jumps to found4 or found6 if the IP header at X has the addresses, in either direction. name makes the labels
// unique.
func (f *filter) between(name string, e Ends, found4, found6 string) {
	f.version(name+"4", name+"6")
	f.label(name + "4")
	f.match(name+"4", e, true, found4)
	f.label(name + "6")
	f.match(name+"6", e, false, found6)
}

// oneOf jumps if the address at an offset is one of several.
func (f *filter) oneOf(name string, offset uint32, all []netip.Addr, found string) {
	for i, a := range all {
		next := name + string(rune('0'+i))
		b := a.AsSlice()
		for at := 0; at < len(b); at += 4 {
			f.add(load(offset+uint32(at), 4))
			f.unless(binary.BigEndian.Uint32(b[at:]), next)
		}
		f.jump(found)
		f.label(next)
	}
}

// end ends the program.
func (f *filter) end() []bpf.Instruction {
	f.label(reject)
	f.add(bpf.RetConstant{})
	return f.instructions()
}

// plainFilter lets through the trial's packets that are in no tunnel. If the trial's addresses are also the ends of
// tunnels, it leaves out the packets of these tunnels.
func plainFilter(e Ends) []bpf.Instruction {
	f := newFilter()
	f.add(bpf.LoadConstant{Dst: bpf.RegX})
	f.between("v", e, "is4", "is6")
	f.label("is4")
	f.add(bpf.LoadAbsolute{Off: 9, Size: 1})
	f.when(reject, ProtoIPv4, ProtoIPv6, ProtoGRE, protoESP)
	f.add(bpf.LoadMemShift{}) // X is the length of the header
	f.unless(ProtoUDP, "accept")
	f.add(bpf.LoadAbsolute{Off: 6, Size: 2}, and(0x1fff))
	f.unless(0, "accept") // a later fragment
	f.jump("udp")
	f.label("is6")
	f.add(bpf.LoadAbsolute{Off: 6, Size: 1})
	f.when(reject, ProtoIPv4, ProtoIPv6, ProtoGRE, protoESP)
	f.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 40})
	f.unless(ProtoUDP, "accept")
	f.label("udp")
	f.tunnelled("accept")
	f.label("accept")
	f.add(bpf.TXA{}, plus(8), bpf.RetA{})
	return f.end()
}

// tunnelled rejects the UDP datagram at offset X if a tunnel carries it, and otherwise jumps to the label. A load
// beyond the end of a packet rejects the packet, so the length is checked first.
func (f *filter) tunnelled(otherwise string) {
	f.add(load(2, 2))
	f.when(reject, PortGeneve)
	const vxlan = 8 + 8 + 14 // UDP, VXLAN, Ethernet
	f.add(bpf.LoadExtension{Num: bpf.ExtLen}, bpf.ALUOpX{Op: bpf.ALUOpSub})
	f.add(bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: vxlan, SkipTrue: 1})
	f.jump(otherwise)
	f.add(load(8, 4))
	f.when(reject, wireGuardData)
	f.unless(vxlanFlags, otherwise)
	f.add(load(15, 1))
	f.unless(0, otherwise)
	f.add(load(28, 2))
	f.when(reject, etherIPv4, etherIPv6, etherVLAN, etherQinQ)
	f.jump(otherwise)
}

const (
	// vxlanFlags is the first word of VXLAN's header, wireGuardData the first word of WireGuard's packets of data, both
	// in the byte order of the network.
	vxlanFlags    = 0x08000000
	wireGuardData = 0x04000000
)

// tunnelFilter lets through packets of VXLAN, Geneve, GRE, and IP in IP that have a packet of the trial in them.
func tunnelFilter(e Ends) []bpf.Instruction {
	f := newFilter()
	f.carried("inner")
	f.label("inner")
	f.between("inner", e, "accept4", "accept6")
	f.label("accept4")
	f.add(bpf.TXA{}, plus(20), bpf.RetA{})
	f.label("accept6")
	f.add(bpf.TXA{}, plus(40), bpf.RetA{})
	return f.end()
}

// carried moves X to the IP header that a packet of VXLAN, Geneve, GRE, or IP in IP carries, and jumps to the label,
// which is to follow directly. It rejects all other packets.
func (f *filter) carried(inner string) {
	f.add(bpf.LoadConstant{Dst: bpf.RegX})
	f.version("v4", "v6")
	f.label("v4")
	f.add(bpf.LoadAbsolute{Off: 6, Size: 2}, and(0x1fff))
	f.unless(0, reject) // a later fragment has no header of the tunnel
	f.add(bpf.LoadMemShift{}, bpf.LoadAbsolute{Off: 9, Size: 1})
	f.jump("protocol")
	f.label("v6")
	f.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 40}, bpf.LoadAbsolute{Off: 6, Size: 1})
	f.label("protocol")
	f.when("udp", ProtoUDP)
	f.when(inner, ProtoIPv4, ProtoIPv6)
	f.when("gre", ProtoGRE)
	f.jump(reject)
	f.label("udp")
	f.add(load(2, 2))
	f.when("geneve", PortGeneve)
	f.add(load(8, 4))
	f.unless(vxlanFlags, reject)
	f.add(load(15, 1))
	f.unless(0, reject)
	f.moveX(16)
	f.jump("ethernet")
	f.label("geneve")
	f.add(load(10, 2), bpf.StoreScratch{Src: bpf.RegA, N: 0})
	f.add(load(8, 1), and(0x3f), bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2}, plusX(), plus(16), bpf.TAX{})
	f.jump("kind")
	f.label("gre")
	f.gre()
	f.label("kind")
	f.add(bpf.LoadScratch{Dst: bpf.RegA, N: 0})
	f.when("ethernet", etherBridging)
	f.when(inner, etherIPv4, etherIPv6)
	f.jump(reject)
	f.label("ethernet")
	for range 2 {
		f.add(load(12, 2))
		f.when("packet", etherIPv4, etherIPv6)
		f.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: etherVLAN, SkipTrue: 2})
		f.unless(etherQinQ, reject)
		f.moveX(4)
	}
	f.add(load(12, 2))
	f.when("packet", etherIPv4, etherIPv6)
	f.jump(reject)
	f.label("packet")
	f.moveX(14)
}

// gre moves X behind the header of GRE, and keeps the type of the next header.
func (f *filter) gre() {
	f.add(load(2, 2), bpf.StoreScratch{Src: bpf.RegA, N: 0})
	f.add(load(0, 2), bpf.StoreScratch{Src: bpf.RegA, N: 1}, and(0x4007))
	f.unless(0, reject)
	f.moveX(4)
	// Checksum, key and sequence number have 4 bytes each.
	for _, flag := range []struct{ bit, shift uint32 }{{0x8000, 13}, {0x2000, 11}, {0x1000, 10}} {
		f.add(bpf.LoadScratch{Dst: bpf.RegA, N: 1}, and(flag.bit), right(flag.shift), plusX(), bpf.TAX{})
	}
}

// hiddenFilter lets through encrypted packets between two machines: ESP, and WireGuard's packets of data on any port.
func hiddenFilter(outer Ends) []bpf.Instruction {
	f := newFilter()
	f.add(bpf.LoadConstant{Dst: bpf.RegX})
	f.between("v", outer, "is4", "is6")
	f.label("is4")
	f.add(bpf.LoadAbsolute{Off: 6, Size: 2}, and(0x1fff))
	f.unless(0, reject)
	f.add(bpf.LoadMemShift{}, bpf.LoadAbsolute{Off: 9, Size: 1})
	f.jump("protocol")
	f.label("is6")
	f.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 40}, bpf.LoadAbsolute{Off: 6, Size: 1})
	f.label("protocol")
	f.when("accept", protoESP)
	f.unless(ProtoUDP, reject)
	f.add(load(8, 4))
	f.unless(wireGuardData, reject)
	f.label("accept")
	// The type of a packet of WireGuard, or the numbers of ESP.
	f.add(bpf.TXA{}, plus(12), bpf.RetA{})
	return f.end()
}
