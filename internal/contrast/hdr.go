package contrast

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// The cookies of HdrHistogram's V2 encoding and of its compressed form. The bits of wordMask hold a word size that readers
// ignore.
const (
	encodingCookie   = 0x1c849303
	compressedCookie = 0x1c849304
	wordMask         = 0xf0
	headerLength     = 40
)

// The bounds of a histogram that is read. The engine's have 28,672 slots.
const (
	maxHistogramFile  = 1 << 20 // bytes of base64
	maxHistogramPlain = 4 << 20 // bytes, decompressed
	maxSlots          = 1 << 20
	maxObservations   = 1 << 53
)

// geometry is how HdrHistogram lays values out in slots.
type geometry struct {
	// unit is the power of two of the smallest distinction, half that of half the slots of a bucket.
	unit, half uint
}

// highest is the largest value in a slot.
func (g geometry) highest(slot int) int64 {
	bucket := slot>>g.half - 1
	sub := int64(slot&(1<<g.half-1) + 1<<g.half)
	if bucket < 0 {
		bucket, sub = 0, int64(slot)
	}
	return (sub+1)<<(uint(bucket)+g.unit) - 1
}

// slot is where a value belongs.
func (g geometry) slot(value int64) int {
	mask := uint64(1)<<(g.half+1+g.unit) - 1
	bucket := uint(bits.Len64(uint64(value)|mask)) - (g.half + 1 + g.unit)
	return int(bucket<<g.half + uint(uint64(value)>>(bucket+g.unit)))
}

// slots are the filled ones of a histogram, in order, and how many values each holds.
type slots struct {
	geometry
	at     []int32
	counts []int64
	total  int64
}

// quantile is the value that the given percentage of the values do not exceed.
func (s *slots) quantile(percentile float64) int64 {
	// As the engine does: 1e-9 keeps binary fractions from asking for one more.
	rank := max(int64(math.Ceil(percentile/100*float64(s.total)-1e-9)), 1)
	var seen int64
	for i, n := range s.counts {
		if seen += n; seen >= rank {
			return s.highest(int(s.at[i]))
		}
	}
	return 0
}

// decoder reads histograms one after the other, and keeps its memory.
type decoder struct {
	packed, plain []byte
	zlib          io.ReadCloser
}

// decode reads HdrHistogram's compressed V2 encoding in base64 into s. Files are anybody's: what is out of bounds is an error.
func (d *decoder) decode(encoded []byte, s *slots) error {
	encoded = bytes.TrimSpace(encoded)
	if n := base64.StdEncoding.DecodedLen(len(encoded)); cap(d.packed) < n {
		d.packed = make([]byte, n)
	}
	n, err := base64.StdEncoding.Decode(d.packed[:cap(d.packed)], encoded)
	if err != nil {
		return fmt.Errorf("the histogram is no base64: %w", err)
	}
	if err := d.inflate(d.packed[:n]); err != nil {
		return err
	}
	b := d.plain
	if len(b) < headerLength || binary.BigEndian.Uint32(b)&^wordMask != encodingCookie {
		return errors.New("the histogram is not in HdrHistogram's V2 encoding")
	}
	length, offset := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	digits, lowest := binary.BigEndian.Uint32(b[12:]), int64(binary.BigEndian.Uint64(b[16:]))
	if uint64(length) > uint64(len(b)-headerLength) || offset != 0 || digits > 5 || lowest < 1 || lowest > 1<<40 {
		return errors.New("the histogram's header is out of bounds")
	}
	s.unit = uint(bits.Len64(uint64(lowest))) - 1
	s.half = uint(bits.Len64(uint64(2*math.Pow10(int(digits)))-1)) - 1
	return s.read(b[headerLength : headerLength+int(length)])
}

func (d *decoder) inflate(packed []byte) error {
	if len(packed) < 8 || binary.BigEndian.Uint32(packed)&^wordMask != compressedCookie {
		return errors.New("the histogram is not in HdrHistogram's compressed V2 encoding")
	}
	source := bytes.NewReader(packed[8:])
	var err error
	if d.zlib == nil {
		d.zlib, err = zlib.NewReader(source)
	} else {
		err = d.zlib.(zlib.Resetter).Reset(source, nil)
	}
	if err != nil {
		d.zlib = nil
		return fmt.Errorf("the histogram cannot be unpacked: %w", err)
	}
	into := bytes.NewBuffer(d.plain[:0])
	n, err := into.ReadFrom(io.LimitReader(d.zlib, maxHistogramPlain+1))
	d.plain = into.Bytes()
	if err != nil {
		return fmt.Errorf("the histogram cannot be unpacked: %w", err)
	}
	if n > maxHistogramPlain {
		return fmt.Errorf("the histogram has more than %d bytes", maxHistogramPlain)
	}
	return nil
}

// read takes the counts: zigzag variable-length integers, in which a negative one stands for so many empty slots.
func (s *slots) read(b []byte) error {
	s.at, s.counts, s.total = s.at[:0], s.counts[:0], 0
	// The largest value of the last slot must be a number.
	last := min(maxSlots, int64(63-s.unit-s.half)<<s.half)
	for slot := int64(0); len(b) > 0; {
		v, n := binary.Varint(b)
		if n <= 0 || n > 8 { // a ninth byte is encoded in another way, and never needed
			return errors.New("the histogram's counts are cut off or out of bounds")
		}
		b = b[n:]
		switch {
		case v < 0 && -v <= last-slot:
			slot += -v
			continue
		case v < 0 || slot >= last || v > maxObservations-s.total:
			return errors.New("the histogram's counts are out of bounds")
		case v > 0:
			s.at, s.counts, s.total = append(s.at, int32(slot)), append(s.counts, v), s.total+v
		}
		slot++
	}
	return nil
}

// pool adds histograms up.
type pool struct {
	geometry
	begun  bool
	counts []int64
	total  int64
}

func (p *pool) add(s *slots) {
	if !p.begun {
		p.begun, p.geometry = true, s.geometry
	}
	for i, n := range s.counts {
		slot := int(s.at[i])
		if p.geometry != s.geometry {
			slot = p.slot(s.highest(slot))
		}
		if slot >= len(p.counts) {
			p.counts = append(p.counts, make([]int64, slot+1-len(p.counts))...)
		}
		p.counts[slot] += n
	}
	p.total += s.total
}

// slots gives the filled ones.
func (p *pool) slots() *slots {
	s := &slots{geometry: p.geometry, total: p.total}
	for slot, n := range p.counts {
		if n > 0 {
			s.at, s.counts = append(s.at, int32(slot)), append(s.counts, n)
		}
	}
	return s
}

// farthest is where the cumulative distributions of two lie farthest apart: at which value, and by how much the share of arm
// that is at most this exceeds that of baseline.
func farthest(arm, baseline *slots) (share float64, at int64) {
	var i, j int
	var a, b int64
	for i < len(arm.at) || j < len(baseline.at) {
		next := int64(math.MaxInt64)
		if i < len(arm.at) {
			next = arm.highest(int(arm.at[i]))
		}
		if j < len(baseline.at) {
			next = min(next, baseline.highest(int(baseline.at[j])))
		}
		for ; i < len(arm.at) && arm.highest(int(arm.at[i])) <= next; i++ {
			a += arm.counts[i]
		}
		for ; j < len(baseline.at) && baseline.highest(int(baseline.at[j])) <= next; j++ {
			b += baseline.counts[j]
		}
		if d := float64(a)/float64(arm.total) - float64(b)/float64(baseline.total); math.Abs(d) > math.Abs(share) {
			share, at = d, next
		}
	}
	return share, at
}
