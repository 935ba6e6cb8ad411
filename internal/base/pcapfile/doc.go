// Package pcapfile reads files of captured packets, pcap and pcapng, and writes pcapng.
//
// Files come from elsewhere and may be damaged or made to do harm: whatever they say, the reader holds one packet and a
// bounded list of interfaces. A file that ends too early is no mistake; its last, incomplete record is left out, and
// Reader.Truncated says so. Any other damage is an Error with the file's name and the byte.
package pcapfile

import "fmt"

// LinkType says what the bytes of a packet begin with (the registry of tcpdump.org).
type LinkType uint16

// The link types that have a name here.
const (
	Ethernet LinkType = 1
	// Raw is an IP header, of either version. Raw12 and Raw14 are how some systems write it.
	Raw   LinkType = 101
	Raw12 LinkType = 12
	Raw14 LinkType = 14
	// CookedV1 and CookedV2 are what Linux writes for its device "any" (SLL, SLL2).
	CookedV1 LinkType = 113
	CookedV2 LinkType = 276
	// IPv4 and IPv6 are an IP header of that version.
	IPv4 LinkType = 228
	IPv6 LinkType = 229
)

// Limits of what a file may make the reader hold.
const (
	// MaxPacket is the most bytes of one packet. It is what libpcap takes at most.
	MaxPacket = 256 << 10
	// MaxInterfaces is the most interfaces of one section.
	MaxInterfaces = 1024
	// maxText is the most bytes of a name or comment that are kept.
	maxText = 1024
)

// An Interface is where packets were captured. A file of the kind pcap has one, without a name.
type Interface struct {
	// Section counts sections of the file from 0, and Index the interfaces of the section.
	Section, Index int
	Name           string
	Link           LinkType
	// Snaplen is how many bytes of each packet were kept at most; 0 for all.
	Snaplen uint32
	// Resolution is the unit of the time stamps in seconds.
	Resolution float64
	// Received is how many packets the interface had for the capture, and Dropped how many of them it has not, for want
	// of room; both 0 if the file does not say. Counts usually stand behind the packets.
	Received, Dropped uint64
	// What a time stamp is: units since 1970 plus offset seconds.
	units  units
	offset int64
}

// A Packet is one captured packet.
type Packet struct {
	Interface *Interface
	// Time is in nanoseconds since 1970; unknown, and 0, in a simple packet block.
	Time      int64
	TimeKnown bool
	// Data are the bytes that were kept. They are valid until the next packet is read. Length is how many there were.
	Data   []byte
	Length int
	// Comment is the first comment of the packet, if there is one.
	Comment string
	// Offset is where the packet's record begins in the file.
	Offset int64
}

// An Error says what is wrong with a file, and at which byte.
type Error struct {
	File    string
	Offset  int64
	Problem string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: byte %d: %s", e.File, e.Offset, e.Problem) }

// Is says whether a file that begins with these bytes is one of packets.
func Is(begin []byte) bool {
	_, known := kindOf(begin)
	return known
}
