// Package hdr reads and writes histograms in HdrHistogram's compressed V2 encoding. A file of some kilobytes can
// describe gigabytes of counts. So only filled slots take memory, and every size is checked against a limit before it
// is used.
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

// The cookies of HdrHistogram's V2 encoding and of its compressed form. Readers ignore the word size in the bits of
// wordMask.
const (
	encodingCookie   = 0x1c849303
	compressedCookie = 0x1c849304
	wordMask         = 0xf0
	wordSize         = 0x10 // what Java writes there
	headerLength     = 40
)

// MaxFile is the largest size of a histogram's file, in bytes of base64.
const MaxFile = 1 << 20

// The other limits for a histogram. The engine's histograms have 28,672 slots.
const (
	maxPlain        = 2 << 20 // bytes, decompressed
	maxSlots        = 1 << 22 // with five digits, these reach to 2^49 ns
	maxFilled       = 1 << 18 // filled slots
	maxPooled       = 1 << 20 // filled slots of a pool
	maxObservations = 1 << 53
)

// geometry is how HdrHistogram maps values to slots.
type geometry struct {
	// unit is the logarithm (base 2) of the smallest difference between two slots, half that of half the number of
	// slots in a bucket.
	unit, half uint
}

// highest is the largest value of a slot.
func (g geometry) highest(slot int) int64 {
	bucket := slot>>g.half - 1
	sub := int64(slot&(1<<g.half-1) + 1<<g.half)
	if bucket < 0 {
		bucket, sub = 0, int64(slot)
	}
	return (sub+1)<<(uint(bucket)+g.unit) - 1
}

// slot is the slot of a value.
func (g geometry) slot(value int64) int {
	mask := uint64(1)<<(g.half+1+g.unit) - 1
	bucket := uint(bits.Len64(uint64(value)|mask)) - (g.half + 1 + g.unit)
	return int(bucket<<g.half + uint(uint64(value)>>(bucket+g.unit)))
}

// lowest is the smallest value of a slot.
func (g geometry) lowest(slot int) int64 {
	if slot == 0 {
		return 0
	}
	return g.highest(slot-1) + 1
}

// Histogram has the filled slots of a histogram, in order, and the number of values in each.
type Histogram struct {
	geometry
	at     []int32
	counts []int64
	total  int64
}

// Total is how many values the histogram holds.
func (h *Histogram) Total() int64 { return h.total }

// Quantile is the value that the given percentage of the values do not exceed, by the engine's rule; 0 for an empty
// histogram.
func (h *Histogram) Quantile(percentile float64) int64 { return h.Quantiles([]float64{percentile})[0] }

// Rank is the rank of the value at a percentile among this many values, from 1 in ascending order, as in HdrHistogram
// for Java.
func Rank(percentile float64, values int64) int64 {
	// 1e-9 keeps binary fractions such as 99.9/100*1000 from asking for one more.
	return max(int64(math.Ceil(percentile/100*float64(values)-1e-9)), 1)
}

// Quantiles gives the values that the given percentages of the values do not exceed. The percentages must ascend.
func (h *Histogram) Quantiles(percentiles []float64) []int64 {
	values := make([]int64, len(percentiles))
	var seen int64
	i := -1
	for k, percentile := range percentiles {
		rank := Rank(percentile, h.total)
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

// Bucket is a filled slot: the number of values, and the smallest and the largest value of the slot, both included.
type Bucket struct{ From, To, Count int64 }

// Buckets gives the filled slots, from the smallest values on.
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

// Decoder reads histograms one after the other, and reuses its memory.
type Decoder struct {
	packed, plain []byte
	zlib          io.ReadCloser
}

// Decode reads HdrHistogram's compressed V2 encoding in base64 into h, and reuses the memory of h. Files may be
// untrusted: anything out of bounds is an error.
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

// read reads the counts: zigzag variable-length integers. A negative one is the number of empty slots.
func (h *Histogram) read(b []byte) error {
	h.at, h.counts, h.total = h.at[:0], h.counts[:0], 0
	// The largest value of the last slot must fit into an int64.
	last := min(maxSlots, int64(63-h.unit-h.half)<<h.half)
	for slot := int64(0); len(b) > 0; {
		v, n := binary.Varint(b)
		if n <= 0 || n > 8 { // a ninth byte has another encoding, and is never needed
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
