package pcapfile

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// Types of blocks of pcapng.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 2 // obsolete: what an enhanced packet block is now
	blockSimple    = 3
	blockCounts    = 5 // what was counted at an interface
	blockEnhanced  = 6
)

// byteOrderMagic is in a section header, in the order of the section's bytes.
const byteOrderMagic = 0x1a2b3c4d

// Codes of options.
const (
	optionEnd        = 0
	optionComment    = 1
	optionName       = 2
	optionResolution = 9
	optionOffset     = 14
)

// Codes of options of counts, which have numbers of their own.
const (
	optionReceived = 4
	optionDropped  = 5
)

// A block is the one that is read. left is how many bytes of its body are still to be read.
type block struct {
	start int64
	kind  uint32
	total uint32
	left  uint32
}

// nextBlock reads blocks up to the next packet.
func (r *Reader) nextBlock() (Packet, error) {
	for {
		b, err := r.blockHeader()
		if err != nil {
			return Packet{}, err
		}
		var p Packet
		found := false
		switch b.kind {
		case blockSection:
			err = r.sectionHeader(b)
		case blockInterface:
			err = r.interfaceDescription(b)
		case blockCounts:
			err = r.counts(b)
		case blockPacket, blockEnhanced:
			p, err = r.enhanced(b)
			found = true
		case blockSimple:
			p, err = r.simple(b)
			found = true
		}
		if err == nil {
			err = r.blockEnd(b)
		}
		if err != nil || found {
			if err != nil {
				p = Packet{}
			}
			return p, err
		}
	}
}

// blockHeader reads the type and length of a block, and of a section header the order of bytes, on which its length
// depends.
func (r *Reader) blockHeader() (*block, error) {
	b := &block{start: r.at}
	var head [8]byte
	if err := r.fill(head[:], b.start); err != nil {
		return nil, err
	}
	b.kind = r.order.Uint32(head[:])
	least := uint32(12)
	if b.kind == blockSection {
		least = 28
		var magic [4]byte
		if err := r.fill(magic[:], b.start); err != nil {
			return nil, err
		}
		switch uint32(byteOrderMagic) {
		case binary.LittleEndian.Uint32(magic[:]):
			r.order = binary.LittleEndian
		case binary.BigEndian.Uint32(magic[:]):
			r.order = binary.BigEndian
		default:
			return nil, r.wrong(b.start+8, "a section header without the mark of its byte order")
		}
	}
	b.total = r.order.Uint32(head[4:])
	if b.total < least || b.total%4 != 0 {
		return nil, r.wrong(b.start+4, "a block of %d bytes: the file is damaged", b.total)
	}
	b.left = b.total - 12
	if b.kind == blockSection {
		b.left -= 4
	}
	return b, nil
}

// blockEnd reads what is left of a block, and its length, which stands at both ends.
func (r *Reader) blockEnd(b *block) error {
	if err := r.skip(int64(b.left), b.start); err != nil {
		return err
	}
	var again [4]byte
	if err := r.fill(again[:], b.start); err != nil {
		return err
	}
	if n := r.order.Uint32(again[:]); n != b.total {
		return r.wrong(r.at-4, "the block that begins at byte %d has %d bytes, and ends as one of %d: "+
			"the file is damaged", b.start, b.total, n)
	}
	return nil
}

// body reads bytes of the block's body.
func (r *Reader) body(b *block, into []byte) error {
	if uint64(len(into)) > uint64(b.left) {
		return r.wrong(b.start, "a block of %d bytes is too short for what it should hold", b.total)
	}
	b.left -= uint32(len(into))
	return r.fill(into, b.start)
}

func (r *Reader) sectionHeader(b *block) error {
	var head [12]byte
	if err := r.body(b, head[:]); err != nil {
		return err
	}
	if major := r.order.Uint16(head[:]); major != 1 {
		return r.wrong(b.start+12, "version %d of pcapng is not known; 1 is", major)
	}
	r.section++
	r.interfaces = nil
	return nil
}

func (r *Reader) interfaceDescription(b *block) error {
	if len(r.interfaces) == MaxInterfaces {
		return r.wrong(b.start, "more than %d interfaces in one section", MaxInterfaces)
	}
	var head [8]byte
	if err := r.body(b, head[:]); err != nil {
		return err
	}
	i := &Interface{
		Section: r.section, Index: len(r.interfaces), units: units{exponent: 6},
		Link: LinkType(r.order.Uint16(head[:])), Snaplen: r.order.Uint32(head[4:]),
	}
	err := r.options(b, func(code uint16, value []byte) error {
		switch {
		case code == optionName && i.Name == "":
			i.Name = text(value)
		case code == optionResolution && len(value) == 1:
			i.units = units{binary: value[0]&0x80 != 0, exponent: value[0] & 0x7f}
			if i.units.exponent > maxDecimal && (!i.units.binary || i.units.exponent > maxBinary) {
				return r.wrong(b.start, "an interface whose time stamps have a resolution that is not known: %#x", value[0])
			}
		case code == optionOffset && len(value) == 8:
			i.offset = int64(r.order.Uint64(value))
		}
		return nil
	})
	if err != nil {
		return err
	}
	i.Resolution = i.units.seconds()
	r.interfaces = append(r.interfaces, i)
	return nil
}

// counts reads what was counted at an interface. Counts of an interface that was not described say nothing.
func (r *Reader) counts(b *block) error {
	var head [12]byte
	if err := r.body(b, head[:]); err != nil {
		return err
	}
	index := r.order.Uint32(head[:])
	if uint64(index) >= uint64(len(r.interfaces)) {
		return nil
	}
	i := r.interfaces[index]
	return r.options(b, func(code uint16, value []byte) error {
		switch {
		case len(value) != 8:
		case code == optionReceived:
			i.Received = r.order.Uint64(value)
		case code == optionDropped:
			i.Dropped = r.order.Uint64(value)
		}
		return nil
	})
}

// enhanced reads an enhanced packet block, or the obsolete packet block, whose first word is different.
func (r *Reader) enhanced(b *block) (Packet, error) {
	var head [20]byte
	if err := r.body(b, head[:]); err != nil {
		return Packet{}, err
	}
	index := r.order.Uint32(head[:])
	if b.kind == blockPacket {
		index = uint32(r.order.Uint16(head[:]))
	}
	i, err := r.interfaceOf(b, index)
	if err != nil {
		return Packet{}, err
	}
	p := Packet{Interface: i, TimeKnown: true, Offset: b.start}
	stamp := uint64(r.order.Uint32(head[4:]))<<32 | uint64(r.order.Uint32(head[8:]))
	var inRange bool
	if p.Time, inRange = i.units.nanoseconds(stamp, i.offset); !inRange {
		return Packet{}, r.wrong(b.start+12, "a time beyond the year 2262: the file is damaged")
	}
	kept, length := r.order.Uint32(head[12:]), r.order.Uint32(head[16:])
	if err := r.ngData(b, &p, kept, length); err != nil {
		return Packet{}, err
	}
	err = r.options(b, func(code uint16, value []byte) error {
		if code == optionComment && p.Comment == "" {
			p.Comment = text(value)
		}
		return nil
	})
	return p, err
}

// simple reads a packet of the first interface, without a time.
func (r *Reader) simple(b *block) (Packet, error) {
	var head [4]byte
	if err := r.body(b, head[:]); err != nil {
		return Packet{}, err
	}
	i, err := r.interfaceOf(b, 0)
	if err != nil {
		return Packet{}, err
	}
	length := r.order.Uint32(head[:])
	kept := min(length, b.left)
	if i.Snaplen > 0 {
		kept = min(kept, i.Snaplen)
	}
	p := Packet{Interface: i, Offset: b.start}
	return p, r.ngData(b, &p, kept, length)
}

func (r *Reader) interfaceOf(b *block, index uint32) (*Interface, error) {
	if uint64(index) >= uint64(len(r.interfaces)) {
		return nil, r.wrong(b.start, "a packet of interface %d, and the section has described %d", index,
			len(r.interfaces))
	}
	return r.interfaces[index], nil
}

// ngData reads the bytes of a packet, and those that fill them up to a multiple of four.
func (r *Reader) ngData(b *block, p *Packet, kept, length uint32) error {
	if kept > b.left {
		return r.wrong(b.start, "a packet of %d bytes in a block of %d: the file is damaged", kept, b.total)
	}
	if length > 1<<30 {
		return r.wrong(b.start, "a packet of %d bytes: the file is damaged", length)
	}
	p.Length = int(max(kept, length))
	var err error
	if p.Data, err = r.packetData(kept, b.start); err != nil {
		return err
	}
	b.left -= kept
	fill := min(-kept&3, b.left)
	b.left -= fill
	return r.skip(int64(fill), b.start)
}

// options calls use for each option of a block, with at most maxText bytes of its value.
func (r *Reader) options(b *block, use func(code uint16, value []byte) error) error {
	for b.left >= 4 {
		var head [4]byte
		if err := r.body(b, head[:]); err != nil {
			return err
		}
		code, length := r.order.Uint16(head[:]), uint32(r.order.Uint16(head[2:]))
		if code == optionEnd {
			return nil
		}
		filled := length + -length&3
		if filled > b.left {
			return r.wrong(r.at-4, "an option of %d bytes, and the block has %d left: the file is damaged", length, b.left)
		}
		some := r.value[:min(length, maxText)]
		if err := r.body(b, some); err != nil {
			return err
		}
		rest := filled - uint32(len(some))
		b.left -= rest
		if err := r.skip(int64(rest), b.start); err != nil {
			return err
		}
		if err := use(code, some); err != nil {
			return err
		}
	}
	return nil
}

// text is the value of an option that is a text.
func text(value []byte) string {
	return bound(strings.ToValidUTF8(strings.TrimRight(string(value), "\x00"), "\ufffd"))
}

// bound cuts a text at maxText bytes, between two characters.
func bound(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// All reads all packets, and hands each over to use, which may not keep its bytes. It says whether the file is
// truncated.
func All(name string, from io.Reader, use func(Packet) error) (truncated string, err error) {
	r, err := NewReader(name, from)
	if err != nil {
		return "", err
	}
	for {
		p, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return r.Truncated(), nil
		case err != nil:
			return "", err
		}
		if err := use(p); err != nil {
			return "", err
		}
	}
}
