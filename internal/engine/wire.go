package engine

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"nearfar/internal/clean"
)

// The messages on the wire, as docs/wire-protocol.md describes them. Everything that comes from the other side is
// bounded before it is read.

// ProtocolVersion is that of the session protocol.
const ProtocolVersion = 1

const (
	nonceSize  = 32
	cookieSize = 16
	// datagramHeader is what every datagram starts with: cookie, sequence number, flags, and 7 bytes kept for later.
	datagramHeader = cookieSize + 8 + 8

	helloSize     = 4 + 2 + 2 + nonceSize + sha256.Size
	challengeSize = helloSize
	proofSize     = sha256.Size

	maxPayload  = 64 << 10
	frameTagLen = 16
	frameHeader = 4 + 1
)

// What the HMACs are for; each purpose has its own label so that none can stand in for another.
const (
	labelHello     = "nearfar hello"
	labelChallenge = "nearfar challenge"
	labelProof     = "nearfar proof"
	labelClientKey = "nearfar client frames"
	labelServerKey = "nearfar server frames"
)

type nonce [nonceSize]byte

type cookie [cookieSize]byte

func newNonce() (n nonce) {
	_, _ = rand.Read(n[:]) // never fails
	return n
}

func newCookie() (c cookie) {
	_, _ = rand.Read(c[:]) // never fails
	return c
}

// mac authenticates parts under the secret for one purpose.
func mac(secret []byte, label string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(label))
	h.Write([]byte{0})
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

var errNotAuthentic = errors.New("not authentic")

// A greeting is the hello of the client or the challenge of the server: magic, version, two zero bytes, nonce, HMAC.
type greeting struct {
	version uint16
	nonce   nonce
}

// magic starts both greetings.
const magic = "NFAR"

// encode writes the greeting. bound is what the HMAC covers beside the greeting itself: the client's nonce, in the
// server's challenge.
func (g greeting) encode(secret []byte, label string, bound []byte) []byte {
	b := make([]byte, 0, helloSize)
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint16(b, g.version)
	b = append(b, 0, 0)
	b = append(b, g.nonce[:]...)
	return append(b, mac(secret, label, b, bound)...)
}

// decodeGreeting reads a greeting. Where the HMAC holds but the version is another, it returns the greeting, and the
// caller decides.
func decodeGreeting(b, secret []byte, label string, bound []byte) (greeting, error) {
	var g greeting
	if len(b) != helloSize {
		return g, fmt.Errorf("greeting of %d bytes, not %d", len(b), helloSize)
	}
	signed, tag := b[:helloSize-sha256.Size], b[helloSize-sha256.Size:]
	if string(b[:4]) != magic {
		return g, errors.New("no nearfar engine")
	}
	if !hmac.Equal(tag, mac(secret, label, signed, bound)) {
		return g, errNotAuthentic
	}
	g.version = binary.BigEndian.Uint16(b[4:6])
	copy(g.nonce[:], b[8:])
	return g, nil
}

// The kinds of frames.
type frameKind byte

const (
	frameSetup    frameKind = iota + 1 // client: Params
	frameReady                         // server: ready
	frameStart                         // client: all data connections stand
	frameBegin                         // server: the window begins (stream)
	frameInterval                      // server: streamInterval (stream)
	frameEnd                           // server: the window has ended (stream)
	frameStop                          // client: no more is sent
	frameReport                        // server: report
	frameFailure                       // either: failure
)

// ready says where the data goes.
type ready struct {
	// Port is the data port, TCP or UDP.
	Port int `json:"port"`
	// Cookie starts every TCP data connection of rr and stream, and every datagram.
	Cookie []byte `json:"cookie"`
	// CPUs are those that the server may run on, and Machine names its kernel: a client that shares both must not take the
	// CPU from the server. Empty where they are not known.
	CPUs    string `json:"cpus,omitempty"`
	Machine string `json:"machine,omitempty"`
}

// streamInterval is what the server received from the start to the end of one interval, on its own clock since the
// beginning of the window.
type streamInterval struct {
	Start time.Duration `json:"start"`
	End   time.Duration `json:"end"`
	Bytes int64         `json:"bytes"`
	// Messages is how many one-way messages came (messages).
	Messages int64 `json:"messages,omitempty"`
	// Retransmits counts since the beginning of the window, Window (bytes) and Smoothed are the means of the connections;
	// of the server's senders (stream).
	Retransmits int64         `json:"retransmits,omitempty"`
	Window      int64         `json:"congestion_window,omitempty"`
	Smoothed    time.Duration `json:"smoothed_rtt,omitempty"`
}

// sound bounds what a server can make a client believe.
func (i streamInterval) sound() bool {
	return i.Start >= 0 && i.End > i.Start && i.Bytes >= 0 && i.Messages >= 0 && i.Retransmits >= 0 && i.Window >= 0 && i.Smoothed >= 0
}

// report is what the server saw.
type report struct {
	Version string `json:"version"`
	// Transactions that were answered, warm-up included (rr, crr).
	Transactions int64 `json:"transactions"`
	// Bytes received within the window, which was Window long on the server's clock (stream, messages).
	Bytes  int64         `json:"bytes"`
	Window time.Duration `json:"window"`
	// Retransmits of the server's senders within the window, where they could be Sampled (stream).
	Retransmits int64 `json:"retransmits,omitempty"`
	Sampled     bool  `json:"sampled,omitempty"`
	// Messages are what came of one-way messages within the window (messages).
	Messages messageTally `json:"messages,omitzero"`
	// Requests are what came of the requests of the window (rr over UDP).
	Requests datagramReport `json:"requests,omitzero"`
	// CPU time of the process over Elapsed; Elapsed is 0 where it is not known.
	CPU     time.Duration `json:"cpu"`
	Elapsed time.Duration `json:"elapsed"`
	// Waited is how long the process's threads could have run and waited for a CPU since its start; 0 where it is not known.
	Waited time.Duration     `json:"waited,omitempty"`
	Facts  map[string]string `json:"facts"`
}

// check bounds what a server can make a client believe.
func (r report) check() error {
	const mostFacts = 50
	if r.Transactions < 0 || r.Bytes < 0 || r.Window < 0 || r.CPU < 0 || r.Elapsed < 0 || r.Waited < 0 || !r.Requests.possible() || len(r.Facts) > mostFacts ||
		r.Retransmits < 0 || !r.Messages.sound() {
		return errors.New("the server's report makes no sense")
	}
	return nil
}

// failure says why a side gives up.
type failure struct {
	Message string `json:"message"`
}

// A frameConn reads and writes the frames after the handshake. Reading and writing may go on side by side, but not
// several readings or writings.
type frameConn struct {
	rw                  io.ReadWriter
	writeKey, readKey   []byte
	written, readFrames uint64
	// ahead is a frame that is being read before anyone asks for it.
	ahead *aheadFrame
}

// An aheadFrame is what reading ahead found; it is there once done is closed.
type aheadFrame struct {
	done    chan struct{}
	kind    frameKind
	payload []byte
	err     error
}

func newFrameConn(rw io.ReadWriter, secret []byte, client, server nonce, isClient bool) *frameConn {
	clientKey := mac(secret, labelClientKey, client[:], server[:])
	serverKey := mac(secret, labelServerKey, client[:], server[:])
	if isClient {
		return &frameConn{rw: rw, writeKey: clientKey, readKey: serverKey}
	}
	return &frameConn{rw: rw, writeKey: serverKey, readKey: clientKey}
}

// frameTag authenticates a frame in its place in the order of its direction.
func frameTag(key []byte, number uint64, kind frameKind, payload []byte) []byte {
	var head [9]byte
	binary.BigEndian.PutUint64(head[:], number)
	head[8] = byte(kind)
	return mac(key, "frame", head[:], payload)[:frameTagLen]
}

// write sends one frame; v is its payload, nil for none.
func (c *frameConn) write(kind frameKind, v any) error {
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

// readAhead begins to read the frame that the next read returns, and calls failed when none will come: so the end of the
// connection is noticed at once, also while nobody waits for a frame.
func (c *frameConn) readAhead(failed func()) {
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

// read receives one frame.
func (c *frameConn) read() (frameKind, []byte, error) {
	if a := c.ahead; a != nil {
		c.ahead = nil
		<-a.done
		return a.kind, a.payload, a.err
	}
	return c.readFrame()
}

func (c *frameConn) readFrame() (frameKind, []byte, error) {
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
	kind, payload, tag := frameKind(head[4]), body[:n], body[n:]
	if subtle.ConstantTimeCompare(tag, frameTag(c.readKey, c.readFrames, kind, payload)) != 1 {
		return 0, nil, errNotAuthentic
	}
	c.readFrames++
	return kind, payload, nil
}

// expect receives a frame of the given kind into v (nil for a frame without payload). A failure of the other side is
// returned as a *peerError.
func (c *frameConn) expect(kind frameKind, v any) error {
	got, payload, err := c.read()
	if err != nil {
		return err
	}
	if got == frameFailure {
		return decodeFailure(payload)
	}
	if got != kind {
		return fmt.Errorf("frame of kind %d came where %d belongs", got, kind)
	}
	if v == nil {
		return nil
	}
	return decodePayload(payload, v)
}

// decodePayload reads a payload strictly: a parameter that this version does not know must not be ignored silently.
func decodePayload(payload []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("reading a frame: %w", err)
	}
	if d.InputOffset() != int64(len(bytes.TrimRight(payload, " \t\r\n"))) {
		return errors.New("reading a frame: something follows the value")
	}
	return nil
}

// peerError is a failure that the other side reports.
type peerError struct{ message string }

func (e *peerError) Error() string { return e.message }

func decodeFailure(payload []byte) error {
	var f failure
	if err := decodePayload(payload, &f); err != nil {
		return err
	}
	return &peerError{message: printable(f.Message)}
}

// printable is a text of the other side as one line of a message, bounded.
func printable(s string) string {
	const most = 500 // characters
	return clean.Line(clean.Cut(s, most))
}
