package captures

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"
	"strconv"

	"nearfar/internal/base/pcapfile"
	"nearfar/internal/onhost/capture"
)

// A reason says why a packet or an exchange is not used.
type reason string

// The reasons of packets.
const (
	// Cut: not enough of the packet was kept.
	Cut reason = "cut"
	// Fragment: a part of a fragmented packet.
	Fragment reason = "fragment"
	// Encrypted: in WireGuard or ESP.
	Encrypted reason = "encrypted"
	// NoTime: the file has no time for the packet.
	NoTime reason = "no-time"
	// other packets are no TCP, no UDP and no echo of ICMP.
	other reason = "other"
)

// prefix is how many bytes of a datagram's contents tell it from others. sockperf's number of a message is in the first
// 8, that of nearfar's own engine in the last 8.
const prefix = 24

// A packet is what matters of one.
type packet struct {
	time             int64
	from, to         netip.Addr
	protocol         int
	fromPort, toPort uint16 // both are the identifier of an echo of ICMP
	length           int    // of the contents
	ident            uint16 // of the IP header, 0 if it has none
	// of TCP
	seq, ack uint32
	syn      bool
	// of datagrams: the first bytes of the contents as numbers, and a hash of all that tells the datagram from others
	marks         [3]uint64
	contents, key uint64 // contents is without the identification of IP
	// of ICMP
	request bool
	// carried says in what the packet was found.
	carried string
}

// ipPacket is the IP packet behind the header of a link, and the number of the device, if the header has it.
func ipPacket(link pcapfile.LinkType, b []byte) (ip []byte, device string, ok bool) {
	const (
		ethernet, cookedV1, cookedV2 = 14, 16, 20
	)
	kindAt, header := 0, 0
	switch link {
	case pcapfile.Raw, pcapfile.Raw12, pcapfile.Raw14, pcapfile.IPv4, pcapfile.IPv6:
		return b, "", true
	case pcapfile.Ethernet:
		kindAt, header = 12, ethernet
	case pcapfile.CookedV1:
		kindAt, header = 14, cookedV1
	case pcapfile.CookedV2:
		kindAt, header = 0, cookedV2
	default:
		return nil, "", false
	}
	if len(b) < header {
		return nil, "", false
	}
	if link == pcapfile.CookedV2 {
		device = strconv.Itoa(int(binary.BigEndian.Uint32(b[4:])))
	}
	ip, ok = capture.Tagged(binary.BigEndian.Uint16(b[kindAt:]), b[header:])
	return ip, device, ok
}

// known says whether packets of a link can be read.
func known(link pcapfile.LinkType) bool {
	switch link {
	case pcapfile.Ethernet, pcapfile.Raw, pcapfile.Raw12, pcapfile.Raw14, pcapfile.IPv4, pcapfile.IPv6, pcapfile.CookedV1,
		pcapfile.CookedV2:
		return true
	}
	return false
}

// decode reads a packet. It is empty if there is a reason why not. whole says that all bytes of the packet were kept.
func decode(ip []byte, whole bool) (packet, reason) {
	found := capture.Inspect(ip)
	unread := func() (packet, reason) {
		if whole {
			return packet{}, other
		}
		return packet{}, Cut
	}
	switch {
	case len(found.Layers) == 0:
		return unread()
	case found.Hidden != "":
		return packet{}, Encrypted
	case found.Closed != "":
		return unread()
	}
	l := found.Layers[len(found.Layers)-1]
	if l.Part {
		return packet{}, Fragment
	}
	p := packet{from: l.Source, to: l.Destination, protocol: l.Protocol, ident: l.Ident, carried: carried(found.Layers)}
	read := false
	switch l.Protocol {
	case capture.ProtoTCP:
		read = p.readTCP(found.Payload, l.Payload)
	case capture.ProtoUDP:
		read = p.readUDP(found.Payload)
	case capture.ProtoICMP, capture.ProtoICMPv6:
		if len(found.Payload) > 0 && !isEcho(l.Protocol, found.Payload[0]) {
			return packet{}, other
		}
		read = p.readEcho(found.Payload, l.Payload)
	}
	if !read {
		return unread()
	}
	return p, ""
}

// carried names the tunnels around the innermost header.
func carried(layers []capture.Layer) string {
	name := ""
	for _, l := range layers[1:] {
		if name != "" {
			name += " in "
		}
		name += l.In
		if l.ID != 0 {
			name = fmt.Sprintf("%s %d", name, l.ID)
		}
	}
	if name == "" {
		return "plain"
	}
	return name
}

func (p *packet) readTCP(b []byte, length int) bool {
	const least = 14
	if len(b) < least || length < 0 {
		return false
	}
	p.fromPort, p.toPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	p.seq, p.ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	const syn = 2
	p.syn = b[13]&syn != 0
	p.length = length - int(b[12]>>4)*4
	return p.length >= 0
}

func (p *packet) readUDP(b []byte) bool {
	const header = 8
	if len(b) < header {
		return false
	}
	p.fromPort, p.toPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	p.length = int(binary.BigEndian.Uint16(b[4:])) - header
	return p.length >= 0 && !tunnelCut(p.toPort, len(b)-header) && p.identify(b[header:])
}

// tunnelCut says that a datagram to a tunnel's well-known port is cut before the end of the tunnel's header.
func tunnelCut(port uint16, kept int) bool {
	const header = 8
	switch port {
	case capture.PortVXLAN, capture.PortVXLANLinux, capture.PortGeneve:
		return kept < header
	}
	return false
}

// isEcho says whether a type of ICMP is that of an echo or its reply.
func isEcho(protocol int, kind byte) bool {
	if protocol == capture.ProtoICMP {
		return kind == 8 || kind == 0
	}
	return kind == 128 || kind == 129
}

func (p *packet) readEcho(b []byte, length int) bool {
	const header = 8
	if len(b) < header || length < header {
		return false
	}
	p.request = b[0] == 8 || b[0] == 128
	p.fromPort = binary.BigEndian.Uint16(b[4:])
	p.toPort = p.fromPort
	p.length = length - header
	if !p.identify(b[header:]) {
		return false
	}
	sequence := uint64(binary.BigEndian.Uint16(b[6:]))
	p.marks = [3]uint64{sequence, sequence, sequence}
	number := (sequence + 1) * 0x9e3779b97f4a7c15
	p.contents, p.key = p.contents^number, p.key^number
	return true
}

// identify makes the marks and the key of a datagram's contents; false if too few of them were kept.
func (p *packet) identify(contents []byte) bool {
	contents = contents[:min(len(contents), p.length, prefix)]
	if len(contents) < min(p.length, prefix) {
		return false
	}
	var whole [prefix + 4]byte
	copy(whole[:], contents)
	p.marks = [3]uint64{
		binary.BigEndian.Uint64(whole[:]), binary.BigEndian.Uint64(whole[8:]), binary.BigEndian.Uint64(whole[16:]),
	}
	binary.BigEndian.PutUint16(whole[prefix:], uint16(p.length))
	hash := fnv.New64a()
	hash.Write(whole[:prefix+2])
	p.contents = hash.Sum64()
	binary.BigEndian.PutUint16(whole[prefix+2:], p.ident)
	hash.Write(whole[prefix+2:])
	p.key = hash.Sum64()
	return true
}
