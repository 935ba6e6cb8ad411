package inside

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/capture"
)

// A header is where things are in a packet of one version of IP, from its network header.
type header struct {
	protocol, source, destination, payload int16 // payload: behind the header
	length                                 int16 // of an address
	version, versionMask                   int64 // of the first byte
}

// headerOf is the header of a version without options: rare packets with options are not followed.
func headerOf(version int) header {
	if version == 6 {
		return header{protocol: 6, source: 8, destination: 24, payload: 40, length: 16, version: 0x60, versionMask: 0xf0}
	}
	return header{protocol: 9, source: 12, destination: 16, payload: 20, length: 4, version: 0x45, versionMask: 0xff}
}

// match finds out whether the packet (R6) is one of the flow's, plain or inside a tunnel. R8 is then phaseRequest or
// phaseReply, and the number that the packets of a trip share is on the stack; else the program ends. Packets of TCP
// without data are not matched.
func (a *assembler) match(f flow, way int32) {
	matched := a.fresh("matched")
	inner := a.fresh("inner")
	tunnel := a.fresh("tunnel")
	a.toHeader(way)
	a.readPacket()
	a.plain(f, matched, tunnel)
	a.mark(tunnel)
	for _, version := range []int{4, 6} {
		a.tunnel(headerOf(version), inner)
	}
	a.do(asm.Ja.Label(out))
	a.mark(inner) // the distance from the outer network header to the inner one is in R1
	a.do(
		asm.LoadMem(asm.R2, asm.RFP, onAddress, asm.DWord),
		asm.Add.Reg(asm.R2, asm.R1),
		asm.StoreMem(asm.RFP, onAddress, asm.R2, asm.DWord),
	)
	a.readPacket()
	a.plain(f, matched, out)
	a.mark(matched)
}

// toHeader puts onto the stack where the packet's outermost IP header is. A packet that is sent knows its network
// header. One that arrives begins with it: the stack notes it as the network header only behind the tracepoint, and
// drivers note none, or that of the packet inside a tunnel.
func (a *assembler) toHeader(way int32) {
	if way == wayReceived {
		a.do(asm.LoadMem(asm.R2, asm.R6, a.data, asm.DWord))
	} else {
		a.do(
			asm.LoadMem(asm.R1, asm.R6, a.networkHeader, asm.Half),
			asm.LoadMem(asm.R2, asm.R6, a.head, asm.DWord),
			asm.Add.Reg(asm.R2, asm.R1),
		)
	}
	a.do(asm.StoreMem(asm.RFP, onAddress, asm.R2, asm.DWord))
}

// readPacket copies the packet from the network header on.
func (a *assembler) readPacket() {
	a.do(
		asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, onPacket),
		asm.Mov.Imm(asm.R2, packetRead),
		asm.LoadMem(asm.R3, asm.RFP, onAddress, asm.DWord),
		asm.FnProbeReadKernel.Call(),
		asm.JNE.Imm(asm.R0, 0, out),
	)
}

// packetAt reads a number of the copied packet as it stands there.
func (a *assembler) packetAt(to asm.Register, offset int16, size asm.Size) {
	a.do(asm.LoadMem(to, asm.RFP, onPacket+offset, size))
}

// plain compares the copied packet with the flow, and jumps.
func (a *assembler) plain(f flow, matched, other string) {
	h := headerOf(f.version)
	a.packetAt(asm.R1, 0, asm.Byte)
	a.do(asm.And.Imm(asm.R1, int32(h.versionMask)), asm.JNE.Imm(asm.R1, int32(h.version), other))
	a.packetAt(asm.R1, h.protocol, asm.Byte)
	a.do(asm.JNE.Imm(asm.R1, int32(f.protocol), other))
	reply := a.fresh("reply")
	payload := a.fresh("payload")
	switch f.protocol {
	case capture.ProtoICMP, capture.ProtoICMPv6:
		request, answer := int32(8), int32(0)
		if f.protocol == capture.ProtoICMPv6 {
			request, answer = 128, 129
		}
		a.packetAt(asm.R1, h.payload, asm.Byte)
		a.do(asm.JEq.Imm(asm.R1, answer, reply), asm.JNE.Imm(asm.R1, request, other))
		a.toServer(f, h.destination, h.length, other)
		a.do(asm.Mov.Imm(asm.R8, phaseRequest), asm.Ja.Label(payload))
		a.mark(reply)
		a.toServer(f, h.source, h.length, other)
		a.do(asm.Mov.Imm(asm.R8, phaseReply))
		a.mark(payload)
		a.packetAt(asm.R1, h.payload+6, asm.Half) // the echo's number; its sender is the flow's namespace
	default:
		a.packetAt(asm.R1, h.payload+2, asm.Half)
		a.do(asm.JNE.Imm(asm.R1, networkOrder(f.port), reply))
		a.toServer(f, h.destination, h.length, reply)
		a.packetAt(asm.R3, h.payload, asm.Half)
		a.do(asm.Mov.Imm(asm.R8, phaseRequest), asm.Ja.Label(payload))
		a.mark(reply)
		a.packetAt(asm.R1, h.payload, asm.Half)
		a.do(asm.JNE.Imm(asm.R1, networkOrder(f.port), other))
		a.toServer(f, h.source, h.length, other)
		a.packetAt(asm.R3, h.payload+2, asm.Half)
		a.do(asm.Mov.Imm(asm.R8, phaseReply))
		a.mark(payload)
		a.do(asm.Mov.Reg(asm.R1, asm.R3)) // the client's port: UDP has no numbers
		if f.protocol == capture.ProtoTCP {
			a.hasData(f.version, h)
			a.packetAt(asm.R1, h.payload+4, asm.Word)
		}
	}
	a.do(asm.StoreMem(asm.RFP, onSequence, asm.R1, asm.Word), asm.Ja.Label(matched))
}

// hasData ends the program at a segment of TCP without data.
func (a *assembler) hasData(version int, h header) {
	lengthAt, behind := int16(2), int32(h.payload) // the length of IPv4 covers its header
	if version == 6 {
		lengthAt, behind = 4, 0
	}
	a.packetAt(asm.R1, lengthAt, asm.Half)
	a.packetAt(asm.R2, h.payload+12, asm.Byte) // its upper half is the length of TCP's header in words
	a.do(
		asm.HostTo(asm.BE, asm.R1, asm.Half),
		asm.RSh.Imm(asm.R2, 4), asm.LSh.Imm(asm.R2, 2),
		asm.Add.Imm(asm.R2, behind),
		asm.JLE.Reg(asm.R1, asm.R2, out),
	)
}

// toServer jumps if an address is none of the server's.
func (a *assembler) toServer(f flow, at, length int16, other string) {
	is := a.fresh("server")
	for _, server := range f.servers {
		b := server.AsSlice()
		if len(b) != int(length) {
			continue
		}
		next := a.fresh("address")
		for i := int16(0); i < length; i += 4 {
			a.packetAt(asm.R1, at+i, asm.Word)
			a.do(asm.Mov.Imm32(asm.R2, int32(binary.NativeEndian.Uint32(b[i:]))), asm.JNE.Reg(asm.R1, asm.R2, next))
		}
		a.do(asm.Ja.Label(is))
		a.mark(next)
	}
	a.do(asm.Ja.Label(other))
	a.mark(is)
}

// tunnel jumps to inner if the copied packet is a tunnel's, with the distance to the network header inside in R1.
func (a *assembler) tunnel(h header, inner string) {
	const vxlan, geneve = 8, 8
	no, directly, withUDP, isVXLAN, gre := a.fresh("no"), a.fresh("ip"), a.fresh("udp"), a.fresh("vxlan"), a.fresh("gre")
	a.packetAt(asm.R1, 0, asm.Byte)
	a.do(asm.And.Imm(asm.R1, int32(h.versionMask)), asm.JNE.Imm(asm.R1, int32(h.version), no))
	a.packetAt(asm.R1, h.protocol, asm.Byte)
	a.do(
		asm.JEq.Imm(asm.R1, capture.ProtoUDP, withUDP),
		asm.JEq.Imm(asm.R1, capture.ProtoGRE, gre),
		asm.JEq.Imm(asm.R1, capture.ProtoIPv6, directly),
		asm.JNE.Imm(asm.R1, capture.ProtoIPv4, no),
	)
	a.mark(directly)
	a.do(asm.Mov.Imm(asm.R1, int32(h.payload)), asm.Ja.Label(inner))
	a.mark(withUDP)
	a.packetAt(asm.R2, h.payload+2, asm.Half)
	a.do(
		asm.JEq.Imm(asm.R2, networkOrder(capture.PortVXLAN), isVXLAN),
		asm.JEq.Imm(asm.R2, networkOrder(capture.PortVXLANLinux), isVXLAN),
		asm.JNE.Imm(asm.R2, networkOrder(capture.PortGeneve), no),
	)
	a.packetAt(asm.R1, h.payload+udpHeader, asm.Byte) // its lower six bits are the length of the options in words
	a.do(
		asm.And.Imm(asm.R1, 0x3f), asm.LSh.Imm(asm.R1, 2),
		asm.Add.Imm(asm.R1, int32(h.payload)+udpHeader+geneve+ethernet), asm.Ja.Label(inner),
	)
	a.mark(isVXLAN)
	a.do(asm.Mov.Imm(asm.R1, int32(h.payload)+udpHeader+vxlan+ethernet), asm.Ja.Label(inner))
	a.mark(gre)
	a.insideGRE(h, inner, no)
	a.mark(no)
}

// insideGRE jumps to inner with the distance to the network header behind a header of GRE in R1, or to other.
func (a *assembler) insideGRE(h header, inner, other string) {
	a.packetAt(asm.R2, h.payload, asm.Half)
	a.do(
		asm.Mov.Reg(asm.R3, asm.R2),
		asm.And.Imm(asm.R3, networkOrder(greOthers)), asm.JNE.Imm(asm.R3, 0, other),
		asm.Mov.Imm(asm.R1, int32(h.payload)+4),
	)
	for _, optional := range []uint16{greSum, greKey, greSequence} {
		next := a.fresh("optional")
		a.do(
			asm.Mov.Reg(asm.R3, asm.R2),
			asm.And.Imm(asm.R3, networkOrder(optional)), asm.JEq.Imm(asm.R3, 0, next),
			asm.Add.Imm(asm.R1, 4),
		)
		a.mark(next)
	}
	a.packetAt(asm.R2, h.payload+2, asm.Half)
	a.do(
		asm.JEq.Imm(asm.R2, networkOrder(unix.ETH_P_IP), inner),
		asm.JEq.Imm(asm.R2, networkOrder(unix.ETH_P_IPV6), inner),
		asm.JNE.Imm(asm.R2, networkOrder(unix.ETH_P_TEB), other), // an Ethernet frame
		asm.Add.Imm(asm.R1, ethernet), asm.Ja.Label(inner),
	)
}

// networkOrder is a number as this machine reads the bytes of the network.
func networkOrder(n uint16) int32 {
	return int32(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n)))
}
