package wire

import (
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// The frames of the control connection. Every size that comes from the other side is checked before it is used.

// ProtocolVersion is the version of the session protocol.
const ProtocolVersion = 2

// Kind is the kind of a frame.
type Kind byte

// The kinds of frames, with who sends them and their payload.
const (
	KindSetup    Kind = iota + 1 // client: Params
	KindReady                    // server: ready
	KindStart                    // client: all data connections stand
	KindBegin                    // server: the window begins (stream)
	KindInterval                 // server: streamInterval (stream)
	KindEnd                      // server: the window has ended (stream)
	KindStop                     // client: no more is sent
	KindReport                   // server: report
	KindFailure                  // either: failure
)

// A Conn reads and writes frames after the handshake. One goroutine may read while another one writes.
type Conn struct {
	rw                  io.ReadWriter
	writeKey, readKey   []byte
	written, readFrames uint64
	// ahead is a frame that is being read before anyone asks for it.
	ahead *aheadFrame
}

// An aheadFrame is the result of reading ahead. It is valid once done is closed.
type aheadFrame struct {
	done    chan struct{}
	kind    Kind
	payload []byte
	err     error
}

func newConn(rw io.ReadWriter, secret []byte, client, server nonce, isClient bool) *Conn {
	clientKey := mac(secret, labelClientKey, client[:], server[:])
	serverKey := mac(secret, labelServerKey, client[:], server[:])
	if isClient {
		return &Conn{rw: rw, writeKey: clientKey, readKey: serverKey}
	}
	return &Conn{rw: rw, writeKey: serverKey, readKey: clientKey}
}

// frameTag authenticates a frame and its position among the frames of its direction.
func frameTag(key []byte, number uint64, kind Kind, payload []byte) []byte {
	var head [9]byte
	binary.BigEndian.PutUint64(head[:], number)
	head[8] = byte(kind)
	return mac(key, "frame", head[:], payload)[:frameTagLen]
}

// Write sends one frame. v is its payload; nil for none.
func (c *Conn) Write(kind Kind, v any) error {
	var payload []byte
	if v != nil {
		var err error
		if payload, err = json.Marshal(v); err != nil {
			return err
		}
	}
	if len(payload) > maxPayload {
		return fmt.Errorf("frame of %d bytes is larger than %d", len(payload), maxPayload)
	}
	b := make([]byte, 0, frameHeader+len(payload)+frameTagLen)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = append(b, byte(kind))
	b = append(b, payload...)
	b = append(b, frameTag(c.writeKey, c.written, kind, payload)...)
	c.written++
	_, err := c.rw.Write(b)
	return err
}

// ReadAhead begins to read the frame that the next Read returns. It calls failed if there will be none, so that the
// end of the connection is noticed at once even if nobody waits for a frame.
func (c *Conn) ReadAhead(failed func()) {
	a := &aheadFrame{done: make(chan struct{})}
	c.ahead = a
	go func() {
		a.kind, a.payload, a.err = c.readFrame()
		close(a.done)
		if a.err != nil {
			failed()
		}
	}()
}

// Read receives one frame.
func (c *Conn) Read() (Kind, []byte, error) {
	if a := c.ahead; a != nil {
		c.ahead = nil
		<-a.done
		return a.kind, a.payload, a.err
	}
	return c.readFrame()
}

func (c *Conn) readFrame() (Kind, []byte, error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(c.rw, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n > maxPayload {
		return 0, nil, fmt.Errorf("frame of %d bytes is larger than %d", n, maxPayload)
	}
	body := make([]byte, int(n)+frameTagLen)
	if _, err := io.ReadFull(c.rw, body); err != nil {
		return 0, nil, err
	}
	kind, payload, tag := Kind(head[4]), body[:n], body[n:]
	if subtle.ConstantTimeCompare(tag, frameTag(c.readKey, c.readFrames, kind, payload)) != 1 {
		return 0, nil, errNotAuthentic
	}
	c.readFrames++
	return kind, payload, nil
}

// Expect receives a frame of the given kind into v (nil for a frame without payload). If the other side reports a
// failure, the error is a *PeerError.
func (c *Conn) Expect(kind Kind, v any) error {
	got, payload, err := c.Read()
	if err != nil {
		return err
	}
	if got == KindFailure {
		return DecodeFailure(payload)
	}
	if got != kind {
		return fmt.Errorf("frame of kind %d came where %d belongs", got, kind)
	}
	if v == nil {
		return nil
	}
	return DecodePayload(payload, v)
}
