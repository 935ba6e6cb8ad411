// Package capture sees the packets of a trial at network devices.
//
// Begin says how they were carried at one device: plain, or in which tunnel. It reads headers only. A filter in the
// kernel lets through only packets between the trial's two addresses, plain or inside a tunnel, and cuts them behind
// the innermost IP header. See docs/check.md for all bounds.
//
// BeginFlow captures the beginnings of the first packets of one flow at the devices of several network namespaces, and
// Write makes a file of them. See docs/captures.md.
package capture

import (
	"encoding/binary"
	"net/netip"

	"nearfar/internal/declare/check"
)

// The tunnels, by the names that an experiment file uses.
const (
	VXLAN     = "vxlan"
	Geneve    = "geneve"
	IPIP      = "ipip" // an IP packet directly in an IP packet, whatever the two versions
	GRE       = "gre"
	GRETAP    = "gretap" // an Ethernet frame in GRE
	ESP       = "esp"
	WireGuard = "wireguard"
)

// Protocol numbers of the Internet (IANA).
const (
	ProtoICMP   = 1
	ProtoIPv4   = 4 // IPv4 directly in an IP packet
	ProtoTCP    = 6
	ProtoUDP    = 17
	ProtoIPv6   = 41 // IPv6 directly in an IP packet
	ProtoGRE    = 47
	ProtoICMPv6 = 58

	protoESP      = 50
	protoHopByHop = 0
	protoRouting  = 43
	protoFragment = 44
	protoOptions  = 60
)

// Types of Ethernet frames.
const (
	etherIPv4     = 0x0800
	etherIPv6     = 0x86dd
	etherVLAN     = 0x8100
	etherQinQ     = 0x88a8
	etherBridging = 0x6558 // an Ethernet frame in GRE or Geneve
)

// UDP ports of tunnels (IANA); Linux has a port of its own for VXLAN. Decode recognizes VXLAN and WireGuard on any
// port.
const (
	PortVXLAN      = 4789
	PortVXLANLinux = 8472
	PortGeneve     = 6081
)

// A Layer is one IP header of a packet.
type Layer struct {
	Source, Destination netip.Addr
	// TTL is the time to live, or the hop limit.
	TTL int
	// Protocol is the number of the protocol that follows, behind the extension headers of IPv6; -1 if these are cut.
	Protocol int
	// In is the tunnel in which the header was found; check.PlainPackets for the outermost one. ID and Port are as in
	// check.Carried.
	In   string
	ID   uint32
	Port int
	// Ident is the identification of an IPv4 packet. Part says that the packet is a part of a fragmented one.
	Ident uint16
	Part  bool
	// Payload is how many bytes follow the header, and the extension headers of IPv6, by the header's own words; -1 if
	// it does not say so.
	Payload int
}

// A Packet is what Inspect finds in one.
type Packet struct {
	// Layers and Hidden are as Decode gives them.
	Layers []Layer
	Hidden string
	// Payload is what follows the last header, as far as it was kept; nil if it is no payload: it is encrypted, or the
	// contents of a fragment other than the first.
	Payload []byte
	// Closed is the tunnel that begins behind the last header if it holds no IP packet that could be read: it is cut, or
	// carries something else.
	Closed string
}

// maxLayers bounds tunnels in tunnels.
const maxLayers = 4

// Decode reads the IP headers of a packet that begins with one, the outermost first. It stops where the packet is cut,
// where the contents are encrypted, and at the contents of fragments other than the first. It never fails: a packet
// that is no IP packet has no layers. hidden is ESP or WireGuard if an encrypted packet follows the last layer.
func Decode(b []byte) (layers []Layer, hidden string) {
	p := Inspect(b)
	return p.Layers, p.Hidden
}

// Inspect is Decode, and gives what follows the last header.
func Inspect(b []byte) (p Packet) {
	in := Layer{In: check.PlainPackets}
	for len(p.Layers) < maxLayers {
		payload, first, ok := in.readIP(b)
		if !ok {
			return p
		}
		p.Layers, p.Payload, p.Closed = append(p.Layers, in), nil, ""
		if !first {
			return p
		}
		if in.Payload >= 0 {
			payload = payload[:min(len(payload), in.Payload)] // what follows fills the frame
		}
		next, inner, carrier := open(in.Protocol, payload)
		if carrier.In == ESP || carrier.In == WireGuard {
			p.Hidden = carrier.In
			return p
		}
		p.Payload = payload
		if carrier.In != check.PlainPackets {
			p.Closed = carrier.In
		}
		if !next {
			return p
		}
		b, in = inner, carrier
	}
	return p
}

// ethernet is the IP packet in an Ethernet frame; false for other frames.
func ethernet(b []byte) ([]byte, bool) {
	const addresses = 12
	if len(b) < addresses+2 {
		return nil, false
	}
	return Tagged(binary.BigEndian.Uint16(b[addresses:]), b[addresses+2:])
}

// Tagged is the IP packet in the contents of a frame of a type of Ethernet, behind two VLAN tags at most; false for
// other contents.
func Tagged(kind uint16, b []byte) ([]byte, bool) {
	for range 3 {
		switch kind {
		case etherIPv4, etherIPv6:
			return b, startsIP(b, kind)
		case etherVLAN, etherQinQ:
			if len(b) < 4 {
				return nil, false
			}
			kind, b = binary.BigEndian.Uint16(b[2:]), b[4:]
		default:
			return nil, false
		}
	}
	return nil, false
}

// startsIP says whether a packet has the version of IP that its carrier announces.
func startsIP(b []byte, kind uint16) bool {
	return len(b) > 0 && (kind == etherIPv4 && b[0]>>4 == 4 || kind == etherIPv6 && b[0]>>4 == 6)
}

// readIP reads an IP header into the layer. first is false for fragments other than the first: they have no header of
// the next protocol.
func (l *Layer) readIP(b []byte) (payload []byte, first, ok bool) {
	if len(b) == 0 {
		return nil, false, false
	}
	switch b[0] >> 4 {
	case 4:
		return l.readIPv4(b)
	case 6:
		return l.readIPv6(b)
	}
	return nil, false, false
}

func (l *Layer) readIPv4(b []byte) (payload []byte, first, ok bool) {
	const least = 20
	if len(b) < least {
		return nil, false, false
	}
	length := int(b[0]&0xf) * 4
	if length < least {
		return nil, false, false
	}
	l.TTL, l.Protocol = int(b[8]), int(b[9])
	l.Source, l.Destination = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	const moreParts, place = 0x2000, 0x1fff
	part := binary.BigEndian.Uint16(b[6:]) & (moreParts | place)
	first = part&place == 0
	l.Ident, l.Part = binary.BigEndian.Uint16(b[4:]), part != 0
	l.Payload = int(binary.BigEndian.Uint16(b[2:])) - length // 0 in packets that are cut up later, by the device
	if l.Payload < 0 {
		l.Payload = -1
	}
	return b[min(length, len(b)):], first, true
}

func (l *Layer) readIPv6(b []byte) (payload []byte, first, ok bool) {
	const length = 40
	if len(b) < length {
		return nil, false, false
	}
	l.TTL, l.Protocol = int(b[7]), int(b[6])
	l.Source, l.Destination = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	first = true
	l.Payload = int(binary.BigEndian.Uint16(b[4:]))
	if l.Payload == 0 { // a jumbogram, or nothing
		l.Payload = -1
	}
	for b = b[length:]; ; {
		var size int
		switch l.Protocol {
		case protoHopByHop, protoRouting, protoOptions:
			if len(b) >= 2 {
				size = 8 + 8*int(b[1])
			}
		case protoFragment:
			size = 8
			if len(b) >= size {
				first = first && binary.BigEndian.Uint16(b[2:])&0xfff8 == 0
				l.Part = l.Part || binary.BigEndian.Uint16(b[2:])&0xfff9 != 0
			}
		default:
			return b, first, true
		}
		if size == 0 || len(b) < size {
			l.Protocol = -1
			return nil, first, true
		}
		l.Protocol = int(b[0])
		b = b[size:]
		if l.Payload >= 0 {
			l.Payload = max(0, l.Payload-size)
		}
	}
}

// open looks into the payload of an IP packet. If it finds an IP packet inside, inner is that packet, and carrier is
// the tunnel. If the contents are encrypted, carrier says so.
func open(protocol int, payload []byte) (next bool, inner []byte, carrier Layer) {
	switch protocol {
	case ProtoIPv4:
		return startsIP(payload, etherIPv4), payload, Layer{In: IPIP}
	case ProtoIPv6:
		return startsIP(payload, etherIPv6), payload, Layer{In: IPIP}
	case ProtoGRE:
		return openGRE(payload)
	case protoESP:
		return false, nil, Layer{In: ESP}
	case ProtoUDP:
		return openUDP(payload)
	}
	return false, nil, Layer{In: check.PlainPackets}
}

// openUDP recognizes VXLAN (RFC 7348) and WireGuard's packets of data on any port, and Geneve (RFC 8926) on its own.
func openUDP(b []byte) (next bool, inner []byte, carrier Layer) {
	const header = 8
	if len(b) < header {
		return false, nil, Layer{In: check.PlainPackets}
	}
	port := int(binary.BigEndian.Uint16(b[2:]))
	b = b[header:]
	if port == PortGeneve {
		return openGeneve(b, port)
	}
	if len(b) >= 4 && binary.BigEndian.Uint32(b) == wireGuardData {
		return false, nil, Layer{In: WireGuard, Port: port}
	}
	// The flag of a valid VNI and three reserved bytes, the VNI, and one reserved byte.
	if len(b) < header || binary.BigEndian.Uint32(b) != vxlanFlags || b[7] != 0 {
		return false, nil, Layer{In: check.PlainPackets}
	}
	inner, next = ethernet(b[header:])
	return next, inner, Layer{In: VXLAN, ID: binary.BigEndian.Uint32(b[4:]) >> 8, Port: port}
}

func openGeneve(b []byte, port int) (next bool, inner []byte, carrier Layer) {
	const header = 8
	if len(b) < header || b[0]>>6 != 0 {
		return false, nil, Layer{In: check.PlainPackets}
	}
	carrier = Layer{In: Geneve, ID: binary.BigEndian.Uint32(b[4:]) >> 8, Port: port}
	kind, length := binary.BigEndian.Uint16(b[2:]), header+4*int(b[0]&0x3f)
	if len(b) < length {
		return false, nil, carrier
	}
	inner, next = contents(kind, b[length:])
	return next, inner, carrier
}

// openGRE reads the header of RFC 2784 and RFC 2890.
func openGRE(b []byte) (next bool, inner []byte, carrier Layer) {
	const (
		header                       = 4
		checksum, key, sequence      = 0x8000, 0x2000, 0x1000
		routing, version        uint = 0x4000, 0x0007
	)
	if len(b) < header {
		return false, nil, Layer{In: check.PlainPackets}
	}
	flags, kind := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	carrier = Layer{In: GRE}
	if kind == etherBridging {
		carrier.In = GRETAP
	}
	if uint(flags)&(routing|version) != 0 {
		return false, nil, Layer{In: check.PlainPackets}
	}
	length := header
	if flags&checksum != 0 {
		length += 4
	}
	if flags&key != 0 {
		if len(b) >= length+4 {
			carrier.ID = binary.BigEndian.Uint32(b[length:])
		}
		length += 4
	}
	if flags&sequence != 0 {
		length += 4
	}
	if len(b) < length {
		return false, nil, carrier
	}
	inner, next = contents(kind, b[length:])
	return next, inner, carrier
}

// contents is the IP packet in a tunnel whose header says what it carries.
func contents(kind uint16, b []byte) ([]byte, bool) {
	if kind == etherBridging {
		return ethernet(b)
	}
	return b, startsIP(b, kind)
}
