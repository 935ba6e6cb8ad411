// Package hdr reads histograms in HdrHistogram's compressed V2 encoding. A file of some kilobytes can ask for gigabytes
// of counts: only the slots that hold something take memory here, and all that is read is bounded before it is.
package hdr

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/bits"
)

// The cookies of HdrHistogram's V2 encoding and of its compressed form. The bits of wordMask hold a word size that
// readers ignore.
const (
	encodingCookie   = 0x1c849303
	compressedCookie = 0x1c849304
	wordMask         = 0xf0
	headerLength     = 40
)

// MaxFile bounds the file of a histogram, in bytes of base64.
const MaxFile = 1 << 20

// The other bounds of a histogram that is read. The engine's have 28,672 slots.
const (
	maxPlain        = 2 << 20 // bytes, decompressed
	maxSlots        = 1 << 22 // with five digits, these reach to 2^49 ns
	maxFilled       = 1 << 18 // slots that hold something
	maxPooled       = 1 << 20 // slots that hold something in any of the histograms of a pool
	maxObservations = 1 << 53
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

// lowest is the smallest value in a slot.
func (g geometry) lowest(slot int) int64 {
	if slot == 0 {
		return 0
	}
	return g.highest(slot-1) + 1
}

// Histogram is one that was read: its filled slots, in order, and how many values each holds.
type Histogram struct {
	geometry
	at     []int32
	counts []int64
	total  int64
}

// Total is how many values the histogram holds.
func (h *Histogram) Total() int64 { return h.total }

// Quantile is the value that the given percentage of the values do not exceed, as the engine has it; 0 where there are
// none.
func (h *Histogram) Quantile(percentile float64) int64 { return h.Quantiles([]float64{percentile})[0] }

// Quantiles gives the values that the given percentages of the values do not exceed. The percentages ascend.
func (h *Histogram) Quantiles(percentiles []float64) []int64 {
	values := make([]int64, len(percentiles))
	var seen int64
	i := -1
	for k, percentile := range percentiles {
		// 1e-9 keeps binary fractions from asking for one more.
		rank := max(int64(math.Ceil(percentile/100*float64(h.total)-1e-9)), 1)
		for seen < rank && i+1 < len(h.counts) {
			i++
			seen += h.counts[i]
		}
		if i >= 0 {
			values[k] = h.highest(int(h.at[i]))
		}
	}
	return values
}

// Bucket is a slot that holds something: how many values, from the smallest to the largest that it takes, both
// included.
type Bucket struct{ From, To, Count int64 }

// Buckets gives the slots that hold something, from the smallest values on.
func (h *Histogram) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		for i, slot := range h.at {
			if !yield(Bucket{h.lowest(int(slot)), h.highest(int(slot)), h.counts[i]}) {
				return
			}
		}
	}
}

// Decode reads one histogram.
func Decode(encoded []byte) (*Histogram, error) {
	var d Decoder
	h := &Histogram{}
	if err := d.Decode(encoded, h); err != nil {
		return nil, err
	}
	return h, nil
}

// Decoder reads histograms one after the other, and keeps its memory.
type Decoder struct {
	packed, plain []byte
	zlib          io.ReadCloser
}

// Decode reads HdrHistogram's compressed V2 encoding in base64 into h, whose memory it uses again. Files are anybody's:
// what is out of bounds is an error.
func (d *Decoder) Decode(encoded []byte, h *Histogram) error {
	if encoded = bytes.TrimSpace(encoded); len(encoded) > MaxFile {
		return fmt.Errorf("the histogram has %d bytes; at most %d are read", len(encoded), MaxFile)
	}
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
	h.unit = uint(bits.Len64(uint64(lowest))) - 1
	h.half = uint(bits.Len64(uint64(2*math.Pow10(int(digits)))-1)) - 1
	return h.read(b[headerLength : headerLength+int(length)])
}

func (d *Decoder) inflate(packed []byte) error {
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
	n, err := into.ReadFrom(io.LimitReader(d.zlib, maxPlain+1))
	d.plain = into.Bytes()
	if err != nil {
		return fmt.Errorf("the histogram cannot be unpacked: %w", err)
	}
	if n > maxPlain {
		return fmt.Errorf("the histogram has more than %d bytes", maxPlain)
	}
	return nil
}

// read takes the counts: zigzag variable-length integers, in which a negative one stands for so many empty slots.
func (h *Histogram) read(b []byte) error {
	h.at, h.counts, h.total = h.at[:0], h.counts[:0], 0
	// The largest value of the last slot must be a number.
	last := min(maxSlots, int64(63-h.unit-h.half)<<h.half)
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
		case v < 0 || slot >= last || v > maxObservations-h.total:
			return errors.New("the histogram's counts are out of bounds")
		case v > 0 && len(h.at) == maxFilled:
			return fmt.Errorf("the histogram holds values in more than %d slots", maxFilled)
		case v > 0:
			h.at, h.counts, h.total = append(h.at, int32(slot)), append(h.counts, v), h.total+v
		}
		slot++
	}
	return nil
}
