// Package samples is the file of all observations that the native engine writes with --samples (docs/samples.md): for
// each request its intended time, the time when it left, and the time of its reply.
package samples

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// magic starts the file. Its last digit is the version of the format.
const magic = "NFSAMP1\n"

// Limits of a file that is written or read.
const (
	maxHeader = 1 << 16
	// BlockSize is how many observations a block holds at most.
	BlockSize = 4096
	// maxObservation is how many bytes one observation takes at most: three variable-length integers.
	maxObservation = 3 * binary.MaxVarintLen64
)

// A Sample is one observation. Times are in nanoseconds since the start of the window, on the client's clock.
type Sample struct {
	// Intended is when the request was due, Actual when it left. Without intended times (rr, crr) they are equal.
	Intended, Actual int64
	// Reply is when the reply had come.
	Reply int64
	// Answered is false if no reply came; Reply is then not set. Sent is false if the request never left.
	Answered, Sent bool
}

// A Header describes the measurement.
type Header struct {
	// Version is the program's version.
	Version  string `json:"version"`
	Mode     string `json:"mode"`
	Protocol string `json:"protocol"`
	// Request and Response are in bytes.
	Request     int `json:"request"`
	Response    int `json:"response"`
	Connections int `json:"connections"`
	// Schedule is the offered load (load).
	Schedule string `json:"schedule,omitempty"`
	// Started is the time when the session began, in nanoseconds since 1970, by the client's wall clock.
	Started int64 `json:"started_unix_ns"`
}

// A Writer writes a file.
type Writer struct {
	w       *bufio.Writer
	payload []byte
	count   int
	last    int64 // intended
}

// NewWriter writes the header to w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("writing the samples: %w", err)
	}
	if len(b) > maxHeader {
		return nil, fmt.Errorf("writing the samples: a header of %d bytes, at most %d", len(b), maxHeader)
	}
	out := &Writer{w: bufio.NewWriterSize(w, 1<<16), payload: make([]byte, 0, BlockSize*maxObservation)}
	if _, err := out.w.WriteString(magic); err != nil {
		return nil, err
	}
	_, err = out.w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return out, err
}

// The flags in the low bits of an observation's last integer.
const (
	flagAnswered = 1
	flagSent     = 2
	flagBits     = 2
)

// Write adds one observation.
func (w *Writer) Write(s Sample) error {
	w.payload = binary.AppendVarint(w.payload, s.Intended-w.last)
	w.last = s.Intended
	var flags, wait, delay int64
	if s.Sent {
		flags, delay = flagSent, s.Actual-s.Intended
	}
	if s.Answered {
		flags, wait = flags|flagAnswered, s.Reply-s.Actual
	}
	w.payload = binary.AppendVarint(w.payload, delay)
	w.payload = binary.AppendVarint(w.payload, wait<<flagBits|flags)
	if w.count++; w.count == BlockSize {
		return w.block()
	}
	return nil
}

// block writes the gathered observations: their number, the payload's length, the payload, its CRC-32C.
func (w *Writer) block() error {
	if w.count == 0 {
		return nil
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(w.count))
	head = binary.BigEndian.AppendUint32(head, uint32(len(w.payload)))
	sum := crc32.Checksum(w.payload, crc32.MakeTable(crc32.Castagnoli))
	for _, b := range [][]byte{head, w.payload, binary.BigEndian.AppendUint32(nil, sum)} {
		if _, err := w.w.Write(b); err != nil {
			return err
		}
	}
	w.payload, w.count, w.last = w.payload[:0], 0, 0
	return nil
}

// Close writes the end of the file: a block without observations, and how many were dropped because writing was too
// slow.
func (w *Writer) Close(dropped int64) error {
	if err := w.block(); err != nil {
		return err
	}
	end := binary.BigEndian.AppendUint32(nil, 0)
	if _, err := w.w.Write(binary.BigEndian.AppendUint64(end, uint64(dropped))); err != nil {
		return err
	}
	return w.w.Flush()
}

// ErrCut says that a file ends too early.
var ErrCut = errors.New("the file of samples is cut short")

// Read reads a file, and calls each for every observation. It returns the header and how many observations were
// dropped when the file was written. If the file ends too early, each has been called for the complete observations.
func Read(r io.Reader, each func(Sample) error) (Header, int64, error) {
	var h Header
	in := bufio.NewReaderSize(r, 1<<16)
	var start [len(magic) + 4]byte
	if _, err := io.ReadFull(in, start[:]); err != nil || string(start[:len(magic)]) != magic {
		return h, 0, errors.New("this is no file of samples, or one of another version")
	}
	size := binary.BigEndian.Uint32(start[len(magic):])
	if size > maxHeader {
		return h, 0, fmt.Errorf("the file of samples: a header of %d bytes, at most %d", size, maxHeader)
	}
	header := make([]byte, size)
	if _, err := io.ReadFull(in, header); err != nil {
		return h, 0, ErrCut
	}
	if err := json.Unmarshal(header, &h); err != nil {
		return h, 0, fmt.Errorf("the file of samples: its header: %w", err)
	}
	payload := make([]byte, BlockSize*maxObservation+4)
	for number := 1; ; number++ {
		count, dropped, err := readBlock(in, payload, each)
		if err != nil {
			return h, 0, fmt.Errorf("block %d: %w", number, err)
		}
		if count == 0 {
			if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
				return h, 0, errors.New("the file of samples goes on after its end")
			}
			return h, dropped, nil
		}
	}
}

// readBlock reads one block; the last has no observations and says how many were dropped.
func readBlock(in io.Reader, payload []byte, each func(Sample) error) (count uint32, dropped int64, err error) {
	var head [8]byte
	if _, err := io.ReadFull(in, head[:4]); err != nil {
		return 0, 0, ErrCut
	}
	count = binary.BigEndian.Uint32(head[:4])
	if count == 0 {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return 0, 0, ErrCut
		}
		n := binary.BigEndian.Uint64(head[:])
		if n > math.MaxInt64 {
			return 0, 0, errors.New("it says that more were dropped than there can be")
		}
		return 0, int64(n), nil
	}
	if _, err := io.ReadFull(in, head[4:]); err != nil {
		return 0, 0, ErrCut
	}
	size := binary.BigEndian.Uint32(head[4:])
	if count > BlockSize || uint64(size) > uint64(count)*maxObservation {
		return 0, 0, fmt.Errorf("%d observations in %d bytes: at most %d, of %d each", count, size, BlockSize,
			maxObservation)
	}
	payload = payload[:size+4]
	if _, err := io.ReadFull(in, payload); err != nil {
		return 0, 0, ErrCut
	}
	body := payload[:size]
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(payload[size:]) {
		return 0, 0, errors.New("its check sum is wrong")
	}
	var last int64
	for range count {
		var s Sample
		if s, body, err = decode(body, last); err != nil {
			return 0, 0, err
		}
		last = s.Intended
		if err := each(s); err != nil {
			return 0, 0, err
		}
	}
	if len(body) > 0 {
		return 0, 0, errors.New("something follows its observations")
	}
	return count, 0, nil
}

// decode reads one observation, and returns the rest.
func decode(b []byte, last int64) (Sample, []byte, error) {
	var v [3]int64
	for i := range v {
		n := 0
		if v[i], n = binary.Varint(b); n <= 0 {
			return Sample{}, nil, errors.New("an observation that is not whole")
		}
		b = b[n:]
	}
	s := Sample{Intended: last + v[0], Answered: v[2]&flagAnswered != 0, Sent: v[2]&flagSent != 0}
	if s.Sent {
		s.Actual = s.Intended + v[1]
	}
	if s.Answered {
		if !s.Sent {
			return Sample{}, nil, errors.New("an observation that was answered and never sent")
		}
		s.Reply = s.Actual + v[2]>>flagBits
	}
	return s, b, nil
}

// WriteCSV reads a file and writes it as CSV: times in nanoseconds since the start of the window, empty if there is
// none. It returns how many observations were dropped when the file was written.
func WriteCSV(out io.Writer, r io.Reader) (int64, error) {
	w := bufio.NewWriter(out)
	if _, err := w.WriteString("intended_ns,actual_ns,reply_ns\n"); err != nil {
		return 0, err
	}
	_, dropped, err := Read(r, func(s Sample) error {
		actual, reply := "", ""
		if s.Sent {
			actual = fmt.Sprint(s.Actual)
		}
		if s.Answered {
			reply = fmt.Sprint(s.Reply)
		}
		_, err := fmt.Fprintf(w, "%d,%s,%s\n", s.Intended, actual, reply)
		return err
	})
	return dropped, errors.Join(err, w.Flush())
}
