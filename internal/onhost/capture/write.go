package capture

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"

	"nearfar/internal/base/pcapfile"
	"nearfar/internal/declare/packets"
)

// A Point is what was captured at a device.
type Point struct {
	Name string
	// Passed is how many packets of the flow were there, Dropped how many of them were not kept, for want of room. Those
	// that are neither kept nor dropped have no time of their own at the device.
	Passed, Dropped uint64
	// First is the stamp of the first packet, also if that has no time of its own.
	First int64
	Kept  []Kept
}

// Kept is a packet that was kept.
type Kept struct {
	// Time is in nanoseconds since 1970.
	Time int64
	// Length is how long the packet was, Data its first bytes, both from the IP header on.
	Length int
	Data   []byte
	link   link
}

// A link is what the kernel says of the link by which a packet came or went.
type link struct {
	kind     uint8  // 0: it came; 4: it went (packet(7))
	hardware uint16 // the kind of the device (ARPHRD)
	protocol uint16 // the type of the frame
	address  [8]byte
	length   uint8 // of the address of the frame's sender
}

// cookedSize is how many bytes Linux' cooked header has.
const cookedSize = 16

// cooked puts Linux' cooked header before a packet. All devices of a path have it alike, whatever they are, so that
// programs read the file which want one kind of link for all interfaces of a file.
func (k Kept) cooked(into []byte) []byte {
	into = binary.BigEndian.AppendUint16(into, uint16(k.link.kind))
	into = binary.BigEndian.AppendUint16(into, k.link.hardware)
	into = binary.BigEndian.AppendUint16(into, uint16(k.link.length))
	into = append(into, k.link.address[:]...)
	into = binary.BigEndian.AppendUint16(into, k.link.protocol)
	return append(into, k.Data...)
}

// Write writes what was captured at the points of a machine as pcapng: all packets in the order of their times, and
// what was counted. Points at which nothing passed are left out. The others are in the order in which the first packet
// passed them, which is that of the path.
func Write(to io.Writer, application, comment string, points []Point, ended int64) error {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return len(p.Kept) == 0 })
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.First, b.First) })
	w, err := pcapfile.NewWriter(to, application, comment)
	if err != nil {
		return err
	}
	type place struct{ point, packet int }
	var all []place
	for i, p := range points {
		_, err := w.AddInterface(pcapfile.Interface{
			Name: p.Name, Link: pcapfile.CookedV1, Snaplen: cookedSize + packets.Kept,
		})
		if err != nil {
			return err
		}
		for j := range p.Kept {
			all = append(all, place{i, j})
		}
	}
	slices.SortStableFunc(all, func(a, b place) int {
		return cmp.Compare(points[a.point].Kept[a.packet].Time, points[b.point].Kept[b.packet].Time)
	})
	var buffer []byte
	for _, at := range all {
		k := points[at.point].Kept[at.packet]
		buffer = k.cooked(buffer[:0])
		if err := w.Write(at.point, k.Time, cookedSize+max(k.Length, len(k.Data)), buffer, ""); err != nil {
			return err
		}
	}
	for i, p := range points {
		if err := w.Counts(i, ended, p.Passed, p.Dropped); err != nil {
			return err
		}
	}
	return nil
}
