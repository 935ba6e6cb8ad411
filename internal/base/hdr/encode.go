package hdr

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// The layout of the histograms that are written: 1 ns to 100 s with 3 significant digits. HdrHistogram calls that a
// unit magnitude of 0, 2048 sub-buckets and 27 buckets.
const (
	// Lowest and Highest bound the values, in nanoseconds; Digits are the significant digits.
	Lowest  = 1
	Highest = 100_000_000_000
	Digits  = 3
	// Slots is how many counts there are.
	Slots = 28 << writtenHalf

	writtenHalf = 10
	writtenMask = 1<<(writtenHalf+1) - 1
)

// SlotOf gives the slot of a value from 0 to Highest: HdrHistogram's countsArrayIndex for the written layout.
//
//go:nosplit
func SlotOf(value int64) uint {
	bucket := uint(bits.Len64(uint64(value)|writtenMask)) - (writtenHalf + 1)
	return bucket<<writtenHalf + uint(uint64(value)>>bucket)
}

// HighestIn gives the largest value that falls into a slot of the written layout.
func HighestIn(slot int) int64 { return geometry{half: writtenHalf}.highest(slot) }

// An Encoder encodes histograms one after the other, as encodeIntoCompressedByteBuffer of HdrHistogram for Java does: a
// header, then the counts as zigzag variable-length integers, in which -n stands for n empty slots, all compressed by
// zlib. It keeps its memory for the next histogram, because the engine measures with the garbage collector off.
type Encoder struct {
	plain, encoded []byte
	compressed     bytes.Buffer
	zlib           *zlib.Writer
}

// Encode gives the counts of the slots from 0 on, at most Slots of them, in HdrHistogram's compressed V2 encoding and
// base64. Slots behind the counts are empty. The result is valid until the next call.
func (e *Encoder) Encode(counts []int64) ([]byte, error) {
	b := append(e.plain[:0], make([]byte, headerLength)...)
	for len(counts) > 0 {
		empty := 0
		for empty < len(counts) && counts[empty] == 0 {
			empty++
		}
		if empty > 0 {
			b = binary.AppendVarint(b, -int64(empty))
			counts = counts[empty:]
			continue
		}
		b = binary.AppendVarint(b, counts[0])
		counts = counts[1:]
	}
	e.plain = b
	binary.BigEndian.PutUint32(b, encodingCookie|wordSize)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-headerLength))
	binary.BigEndian.PutUint32(b[8:], 0) // the counts begin at index 0
	binary.BigEndian.PutUint32(b[12:], Digits)
	binary.BigEndian.PutUint64(b[16:], Lowest)
	binary.BigEndian.PutUint64(b[24:], Highest)
	binary.BigEndian.PutUint64(b[32:], math.Float64bits(1)) // the factor of values that are not whole numbers
	e.compressed.Reset()
	e.compressed.Write(make([]byte, 8))
	if e.zlib == nil {
		e.zlib = zlib.NewWriter(&e.compressed)
	} else {
		e.zlib.Reset(&e.compressed)
	}
	if _, err := e.zlib.Write(b); err != nil {
		return nil, fmt.Errorf("encoding the histogram: %w", err)
	}
	if err := e.zlib.Close(); err != nil {
		return nil, fmt.Errorf("encoding the histogram: %w", err)
	}
	c := e.compressed.Bytes()
	binary.BigEndian.PutUint32(c, compressedCookie|wordSize)
	binary.BigEndian.PutUint32(c[4:], uint32(len(c)-8))
	e.encoded = base64.StdEncoding.AppendEncode(e.encoded[:0], c)
	return e.encoded, nil
}
