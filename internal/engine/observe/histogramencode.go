package observe

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// The cookies of HdrHistogram's V2 encoding and of its compressed form, with the word size that readers ignore.
const (
	encodingCookie   = 0x1c849303 | 0x10
	compressedCookie = 0x1c849304 | 0x10
)

// A encoder encodes histograms one after the other, as the encodeIntoCompressedByteBuffer of HdrHistogram for Java
// does: a header, the counts as zigzag variable-length integers, in which a negative one stands for so many zeros, all of it
// compressed by zlib. It keeps its memory: with the collector off, what each took would add up.
type encoder struct {
	plain, encoded []byte
	compressed     bytes.Buffer
	zlib           *zlib.Writer
}

// encode gives the encoding in base64. It is valid until the next call.
func (e *encoder) encode(h *Histogram) ([]byte, error) {
	const header = 40
	b := append(e.plain[:0], make([]byte, header)...)
	for i, last := 0, int(indexOf(h.max)); h.count > 0 && i <= last; {
		zeros := i
		for i <= last && h.counts[i] == 0 {
			i++
		}
		if zeros = i - zeros; zeros > 0 {
			b = binary.AppendVarint(b, -int64(zeros))
			continue
		}
		b = binary.AppendVarint(b, h.counts[i])
		i++
	}
	e.plain = b
	binary.BigEndian.PutUint32(b, encodingCookie)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-header))
	binary.BigEndian.PutUint32(b[8:], 0) // the counts begin at index 0
	binary.BigEndian.PutUint32(b[12:], histogramDigits)
	binary.BigEndian.PutUint64(b[16:], histogramLowest)
	binary.BigEndian.PutUint64(b[24:], histogramHighest)
	binary.BigEndian.PutUint64(b[32:], math.Float64bits(1)) // what a double is multiplied with
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
	binary.BigEndian.PutUint32(c, compressedCookie)
	binary.BigEndian.PutUint32(c[4:], uint32(len(c)-8))
	e.encoded = base64.StdEncoding.AppendEncode(e.encoded[:0], c)
	return e.encoded, nil
}
