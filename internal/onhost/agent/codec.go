package agent

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Both sides exchange frames: the length of the contents in four bytes, in network byte order, and then the contents. A
// message is a frame with JSON. Bytes of files and of output follow a message as chunks: frames that are not empty, and
// an empty frame at the end.
const (
	maxMessage  = 1 << 20
	maxGreeting = 4 << 10 // of a message from someone who has not shown the secret yet
	maxChunk    = 32 << 10
)

// errProtocol says that the other side sent something that this side cannot understand.
var errProtocol = errors.New("it does not follow the agent's protocol")

// errTooLong says that a message cannot be sent.
var errTooLong = errors.New("the command line and the environment are too long")

// writeMessage sends a message.
func writeMessage(w io.Writer, message any) error {
	b := make([]byte, 4, 512)
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(body) > maxMessage {
		return fmt.Errorf("%w: it has %d bytes, and at most %d are possible", errTooLong, len(body), maxMessage)
	}
	binary.BigEndian.PutUint32(b, uint32(len(body)))
	_, err = w.Write(append(b, body...))
	return err
}

// readMessage receives a message of at most limit bytes, and reads nothing beyond the message. It allocates memory as
// bytes arrive, and does not trust the announced length.
func readMessage(r io.Reader, limit int64, message any) error {
	n, err := readLength(r, limit)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, n); err != nil {
		return cut(err)
	}
	if err := json.Unmarshal(b.Bytes(), message); err != nil {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	return nil
}

func readLength(r io.Reader, limit int64) (int64, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, cut(err)
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > limit {
		return 0, fmt.Errorf("%w: a frame of %d bytes, at most %d are possible", errProtocol, n, limit)
	}
	return n, nil
}

// cut makes an unexpected end of any end of the stream. What a transport says of the end stays.
func cut(err error) error {
	switch {
	case err == io.EOF: //nolint:errorlint // a wrapped one says more
		return io.ErrUnexpectedEOF
	case errors.Is(err, io.EOF):
		return &cutError{err.Error()}
	}
	return err
}

// cutError is an unexpected end of the stream with what a transport says of it.
type cutError struct{ message string }

func (e *cutError) Error() string { return e.message }
func (e *cutError) Unwrap() error { return io.ErrUnexpectedEOF }

// A chunkWriter sends the written bytes as chunks. Close sends the empty chunk.
type chunkWriter struct {
	w io.Writer
	b []byte
}

func (c *chunkWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n := min(len(p), maxChunk)
		c.b = binary.BigEndian.AppendUint32(c.b[:0], uint32(n))
		if _, err := c.w.Write(append(c.b, p[:n]...)); err != nil {
			return written, err
		}
		written += n
		p = p[n:]
	}
	return written, nil
}

// Close sends the empty chunk, which says that there are no more.
func (c *chunkWriter) Close() error {
	_, err := c.w.Write(make([]byte, 4))
	return err
}

// A chunkReader reads chunks, and returns io.EOF after the empty one. The end of the stream before that is
// io.ErrUnexpectedEOF.
type chunkReader struct {
	r    io.Reader
	left int64
	done bool
}

func (c *chunkReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.left == 0 && !c.done {
		n, err := readLength(c.r, maxChunk)
		if err != nil {
			return 0, err
		}
		c.left, c.done = n, n == 0
	}
	if c.done {
		return 0, io.EOF
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if n > 0 {
		return n, nil
	}
	return 0, cut(err)
}
