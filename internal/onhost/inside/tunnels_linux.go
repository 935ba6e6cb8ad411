package inside

import (
	"github.com/cilium/ebpf/asm"

	"nearfar/internal/onhost/capture"
)

// Lengths of headers.
const (
	udpHeader = 8
	ethernet  = 14
)

// learnTunnel records the network that the packet's outer header names, by the packet's device, whose key is on the
// stack. A packet without such a header ends the program.
func (a *assembler) learnTunnel(g *generator, way int32) {
	named := a.fresh("named")
	a.toHeader(way)
	a.readPacket()
	for _, version := range []int{4, 6} {
		a.networkOf(headerOf(version), named)
	}
	a.do(asm.Ja.Label(out))
	a.mark(named) // the number is in R1, its name in R2
	const key, value = onDevice, onDevice + 16
	a.do(
		asm.StoreMem(asm.RFP, value+tunnelNumber, asm.R1, asm.Word),
		asm.StoreMem(asm.RFP, value+tunnelNaming, asm.R2, asm.Word),
		asm.LoadMem(asm.R1, asm.RFP, onName, asm.DWord),
		asm.StoreMem(asm.RFP, key, asm.R1, asm.DWord),
		asm.StoreImm(asm.RFP, key+tunnelWay, int64(way), asm.Word),
		asm.LoadMapPtr(asm.R1, g.tunnels),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, key),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, value),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(),
	)
}

// networkOf jumps to named if the copied packet is of a tunnel that names its network, with the number in R1 and what
// it is called in R2.
func (a *assembler) networkOf(h header, named string) {
	no, vni, gre, withoutSum := a.fresh("no"), a.fresh("vni"), a.fresh("gre"), a.fresh("noSum")
	a.packetAt(asm.R1, 0, asm.Byte)
	a.do(asm.And.Imm(asm.R1, int32(h.versionMask)), asm.JNE.Imm(asm.R1, int32(h.version), no))
	a.packetAt(asm.R1, h.protocol, asm.Byte)
	a.do(asm.JEq.Imm(asm.R1, capture.ProtoGRE, gre), asm.JNE.Imm(asm.R1, capture.ProtoUDP, no))
	a.packetAt(asm.R2, h.payload+2, asm.Half)
	a.do(
		asm.JEq.Imm(asm.R2, networkOrder(capture.PortVXLAN), vni),
		asm.JEq.Imm(asm.R2, networkOrder(capture.PortVXLANLinux), vni),
		asm.JNE.Imm(asm.R2, networkOrder(capture.PortGeneve), no),
	)
	a.mark(vni) // both have it in the upper three bytes of their second word
	a.packetAt(asm.R1, h.payload+udpHeader+4, asm.Word)
	a.do(
		asm.HostTo(asm.BE, asm.R1, asm.Word), asm.RSh.Imm(asm.R1, 8),
		asm.Mov.Imm(asm.R2, namedVNI), asm.Ja.Label(named),
	)
	a.mark(gre)
	a.packetAt(asm.R2, h.payload, asm.Half)
	a.packetAt(asm.R1, h.payload+4, asm.Word)
	a.do(
		asm.Mov.Reg(asm.R3, asm.R2),
		asm.And.Imm(asm.R3, networkOrder(greKey)), asm.JEq.Imm(asm.R3, 0, no),
		asm.And.Imm(asm.R2, networkOrder(greSum)), asm.JEq.Imm(asm.R2, 0, withoutSum),
	)
	a.packetAt(asm.R1, h.payload+8, asm.Word)
	a.mark(withoutSum)
	a.do(
		asm.HostTo(asm.BE, asm.R1, asm.Word),
		asm.Mov.Imm(asm.R2, namedKey), asm.Ja.Label(named),
	)
	a.mark(no)
}

// The flags of a GRE header that say what else it has (RFC 2890).
const (
	greSum      = 0x8000
	greKey      = 0x2000
	greSequence = 0x1000
	greOthers   = 0x4007 // routing, and other versions
)
