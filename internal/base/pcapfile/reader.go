package pcapfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A Reader reads a file from its beginning to its end.
type Reader struct {
	name  string
	r     *bufio.Reader
	at    int64 // bytes that were read
	order binary.ByteOrder
	next  func() (Packet, error)
	data  []byte        // of the packet
	value [maxText]byte // of an option
	end   error         // what every further call gives

	truncated string
	// of pcap
	only Interface
	// of pcapng
	section    int
	interfaces []*Interface
}

// kind is a format and the order of its bytes.
type kind struct {
	nano  bool
	ng    bool
	order binary.ByteOrder
}

// kindOf recognises the first four bytes of a file.
func kindOf(begin []byte) (kind, bool) {
	if len(begin) < 4 {
		return kind{}, false
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		switch order.Uint32(begin) {
		case 0xa1b2c3d4:
			return kind{order: order}, true
		case 0xa1b23c4d:
			return kind{order: order, nano: true}, true
		case blockSection: // the same in both orders
			return kind{ng: true, order: order}, true
		}
	}
	return kind{}, false
}

// NewReader reads the beginning of a file. The name is for messages.
func NewReader(name string, from io.Reader) (*Reader, error) {
	r := &Reader{name: name, r: bufio.NewReaderSize(from, 64<<10)}
	begin, err := r.r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	k, known := kindOf(begin)
	switch {
	case len(begin) == 0:
		return nil, r.wrong(0, "the file is empty")
	case !known && len(begin) >= 2 && begin[0] == 0x1f && begin[1] == 0x8b:
		return nil, r.wrong(0, "the file is compressed with gzip: unpack it first, with gunzip")
	case !known:
		return nil, r.wrong(0, "this is no capture: it begins neither as pcap nor as pcapng")
	}
	r.order = k.order
	if k.ng {
		r.next, r.section = r.nextBlock, -1
		return r, nil
	}
	r.next = r.nextRecord
	return r, r.readHeader(k.nano)
}

// Next gives the next packet, and io.EOF after the last one.
func (r *Reader) Next() (Packet, error) {
	if r.end != nil {
		return Packet{}, r.end
	}
	p, err := r.next()
	if err != nil {
		r.end = err
	}
	return p, err
}

// Truncated says, after the last packet, that the file ends inside a record, and where; empty if it does not.
func (r *Reader) Truncated() string { return r.truncated }

func (r *Reader) wrong(at int64, format string, args ...any) error {
	return &Error{File: r.name, Offset: at, Problem: fmt.Sprintf(format, args...)}
}

// fill reads all of b. An end of the file there ends the file: start is where the record began.
func (r *Reader) fill(b []byte, start int64) error {
	n, err := io.ReadFull(r.r, b)
	r.at += int64(n)
	return r.ended(err, start)
}

// skip reads n bytes and forgets them.
func (r *Reader) skip(n int64, start int64) error {
	for n > 0 {
		some, err := r.r.Discard(int(min(n, 1<<20)))
		r.at += int64(some)
		n -= int64(some)
		if err != nil {
			return r.ended(err, start)
		}
	}
	return nil
}

// ended makes io.EOF of the end of the file, and notes if it came inside a record.
func (r *Reader) ended(err error, start int64) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		if r.at > start {
			r.truncated = fmt.Sprintf("the file ends at byte %d, inside the record that begins at byte %d", r.at, start)
		}
		return io.EOF
	}
	return fmt.Errorf("%s: byte %d: %w", r.name, r.at, err)
}

// packetData reads the bytes of a packet into the reader's buffer.
func (r *Reader) packetData(n uint32, start int64) ([]byte, error) {
	if n > MaxPacket {
		return nil, r.wrong(start, "a packet of %d bytes; the most is %d", n, MaxPacket)
	}
	if int(n) > cap(r.data) {
		r.data = make([]byte, max(int(n), 2048))
	}
	data := r.data[:n]
	return data, r.fill(data, start)
}

const pcapHeader = 24

// readHeader reads the header of a pcap.
func (r *Reader) readHeader(nano bool) error {
	var b [pcapHeader]byte
	switch err := r.fill(b[:], 0); {
	case errors.Is(err, io.EOF):
		return r.wrong(r.at, "the file ends inside its header")
	case err != nil:
		return err
	}
	if major := r.order.Uint16(b[4:]); major != 2 {
		return r.wrong(4, "version %d of pcap is not known; 2 is", major)
	}
	r.only = Interface{Snaplen: r.order.Uint32(b[16:]), Resolution: 1e-6, units: units{exponent: 6}}
	if nano {
		r.only.Resolution, r.only.units.exponent = 1e-9, 9
	}
	// The upper bits say how long the check sequence behind frames is.
	r.only.Link = LinkType(r.order.Uint32(b[20:]))
	return nil
}

// nextRecord reads a packet of a pcap.
func (r *Reader) nextRecord() (Packet, error) {
	start := r.at
	var b [16]byte
	if err := r.fill(b[:], start); err != nil {
		return Packet{}, err
	}
	p := Packet{Interface: &r.only, TimeKnown: true, Offset: start}
	fraction := r.order.Uint32(b[4:])
	one := uint32(1e6)
	if r.only.units.exponent == 9 {
		one = 1e9
	}
	if fraction >= one {
		return Packet{}, r.wrong(start+4, "a fraction of a second of %d of %d: the file is damaged", fraction, one)
	}
	p.Time = int64(r.order.Uint32(b[:]))*1e9 + int64(fraction)*int64(1e9/one)
	kept, length := r.order.Uint32(b[8:]), r.order.Uint32(b[12:])
	if length > 1<<30 {
		return Packet{}, r.wrong(start+12, "a packet of %d bytes: the file is damaged", length)
	}
	p.Length = int(max(kept, length))
	var err error
	p.Data, err = r.packetData(kept, start)
	if err != nil {
		return Packet{}, err
	}
	return p, nil
}
