package pcapfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A Writer writes pcapng with time stamps in nanoseconds. Each block is one call of Write, so that a writer that is
// killed leaves whole blocks, and at most one cut one.
type Writer struct {
	w          io.Writer
	interfaces int
	buffer     []byte
}

// NewWriter writes the beginning of a file. The comment is about the whole file, and may be empty.
func NewWriter(w io.Writer, application, comment string) (*Writer, error) {
	out := &Writer{w: w}
	b := out.begin(blockSection)
	b = binary.LittleEndian.AppendUint32(b, byteOrderMagic)
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint64(b, math.MaxUint64) // the section's length, which is not known
	const optionApplication = 4
	b = appendOption(b, optionComment, comment)
	b = appendOption(b, optionApplication, application)
	return out, out.finish(b)
}

// AddInterface describes an interface: its name, link type and snaplen. It gives the number for Write. libpcap reads
// files whose interfaces all have one link type, and libpcap 1.10 does not if there are two of type Raw.
func (w *Writer) AddInterface(i Interface) (int, error) {
	if w.interfaces == MaxInterfaces {
		return 0, fmt.Errorf("more than %d interfaces", MaxInterfaces)
	}
	b := w.begin(blockInterface)
	b = binary.LittleEndian.AppendUint16(b, uint16(i.Link))
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, i.Snaplen)
	b = appendOption(b, optionName, i.Name)
	b = appendOption(b, optionResolution, string([]byte{9}))
	if err := w.finish(b); err != nil {
		return 0, err
	}
	w.interfaces++
	return w.interfaces - 1, nil
}

// Write writes a packet of an interface: its time in nanoseconds since 1970, how long it was, the bytes that were kept,
// and a comment, which may be empty.
func (w *Writer) Write(index int, nanoseconds int64, length int, data []byte, comment string) error {
	switch {
	case index < 0 || index >= w.interfaces:
		return fmt.Errorf("there is no interface %d", index)
	case len(data) > MaxPacket || length < len(data) || length > 1<<30:
		return fmt.Errorf("a packet of %d bytes of which %d were kept", length, len(data))
	case nanoseconds < 0:
		return errors.New("a time before 1970")
	}
	b := w.begin(blockEnhanced)
	b = binary.LittleEndian.AppendUint32(b, uint32(index))
	b = binary.LittleEndian.AppendUint32(b, uint32(nanoseconds>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(nanoseconds))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	b = fill(append(b, data...))
	return w.finish(appendOption(b, optionComment, comment))
}

// Counts writes what was counted at an interface until a time: how many packets it had for the capture, and how many of
// them were dropped for want of room.
func (w *Writer) Counts(index int, nanoseconds int64, received, dropped uint64) error {
	if index < 0 || index >= w.interfaces {
		return fmt.Errorf("there is no interface %d", index)
	}
	b := w.begin(blockCounts)
	b = binary.LittleEndian.AppendUint32(b, uint32(index))
	b = binary.LittleEndian.AppendUint32(b, uint32(nanoseconds>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(nanoseconds))
	b = appendOption(b, optionReceived, string(binary.LittleEndian.AppendUint64(nil, received)))
	b = appendOption(b, optionDropped, string(binary.LittleEndian.AppendUint64(nil, dropped)))
	return w.finish(b)
}

func (w *Writer) begin(kind uint32) []byte {
	b := binary.LittleEndian.AppendUint32(w.buffer[:0], kind)
	return binary.LittleEndian.AppendUint32(b, 0) // the length: see finish
}

// finish writes the block: the end of its options, and its length at both ends.
func (w *Writer) finish(b []byte) error {
	b = binary.LittleEndian.AppendUint32(b, optionEnd)
	total := uint32(len(b) + 4)
	binary.LittleEndian.PutUint32(b[4:], total)
	w.buffer = binary.LittleEndian.AppendUint32(b, total)
	_, err := w.w.Write(w.buffer)
	return err
}

// appendOption appends an option; none if it is empty. Longer texts than are read are cut.
func appendOption(b []byte, code uint16, value string) []byte {
	if value == "" {
		return b
	}
	value = bound(value)
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return fill(append(b, value...))
}

// fill appends zeros up to a multiple of four.
func fill(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
