package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Stream: bulk data over N connections each way that is asked for, each with a thread on both sides. What counts is what
// the receiving side's application has received, on that side's clock.

// The directions of a stream, as the client sees them.
const (
	Upload   = "upload"
	Download = "download"
	Both     = "both"
)

// direction is the direction, never empty.
func (p Params) direction() string {
	if p.Direction == "" {
		return Upload
	}
	return p.Direction
}

// dataConnections is how many TCP connections, or UDP sockets, the session has.
func (p Params) dataConnections() int {
	if p.Mode == ModeStream && p.Direction == Both {
		return 2 * p.Connections
	}
	return p.Connections
}

// validateStream says what of a stream's parameters cannot be.
func (p Params) validateStream() error {
	switch {
	case p.Mode != ModeStream && (p.Direction != "" || p.ZeroCopy):
		return fmt.Errorf("direction and zero-copy are of %s, not of %s", ModeStream, p.Mode)
	case p.Direction != "" && p.Direction != Upload && p.Direction != Download && p.Direction != Both:
		return fmt.Errorf("direction %q: the engine has %s, %s and %s", p.Direction, Upload, Download, Both)
	case p.dataConnections() > maxConnections:
		return fmt.Errorf("%d connections each way: must be at most %d in all", p.Connections, maxConnections)
	}
	return nil
}

// flows are the connections of one side of a stream.
type flows struct {
	senders   []*streamSender
	receivers []*streamReceiver
}

// newFlows divides the connections: the first carry the upload, the others the download.
func newFlows(sockets []*socket, p Params, isClient bool) (f flows, err error) {
	uploads := len(sockets)
	switch p.direction() {
	case Download:
		uploads = 0
	case Both:
		uploads = p.Connections
	}
	var message []byte // one for all: what is sent never changes, and takes the room of one in the caches
	for i, s := range sockets {
		if i < uploads != isClient {
			f.receivers = append(f.receivers, newStreamReceiver(s))
			continue
		}
		if message == nil {
			message = newBuffer(p.Message)
		}
		sender := newStreamSender(s, message)
		if p.ZeroCopy {
			if sender.zero, err = newZeroCopy(s); err != nil {
				return f, err
			}
		}
		f.senders = append(f.senders, sender)
	}
	return f, nil
}

// end says that the end of connections is no failure from here on.
func (f flows) end() {
	for _, r := range f.receivers {
		r.ending.Store(true)
	}
}

// stop ends the senders.
func (f flows) stop() {
	for _, s := range f.senders {
		s.stop()
	}
}

// received is how many bytes have come so far.
func (f flows) received() (bytes int64) {
	for _, r := range f.receivers {
		bytes += r.received.Load()
	}
	return bytes
}

// sample gives the senders' TCP_INFO: retransmits as a sum, window and smoothed round trip as means of the connections.
func (f flows) sample() (sum tcpSample, ok bool) {
	for _, s := range f.senders {
		one, ok := s.socket.sample()
		if !ok {
			return tcpSample{}, false
		}
		sum.retransmits += one.retransmits
		sum.window += one.window
		sum.smoothed += one.smoothed
	}
	if n := len(f.senders); n > 0 {
		sum.window /= int64(n)
		sum.smoothed /= time.Duration(n)
	}
	return sum, len(f.senders) > 0
}

// err says which connection failed before its time. It is called when the threads have ended.
func (f flows) err() error {
	for i, s := range f.senders {
		if s.failed {
			return fmt.Errorf("connection %d of %d failed within the measurement: %w", i+1, len(f.senders), connectionError(s.socket))
		}
	}
	for i, r := range f.receivers {
		if r.failed {
			return fmt.Errorf("connection %d of %d failed within the measurement: %w", i+1, len(f.receivers), connectionError(r.socket))
		}
	}
	return nil
}

// zeroCopyFacts sums what the kernel notified of the zero-copy sends; false where there were none.
func (f flows) zeroCopyFacts() (sends, completed, copied int64, ok bool) {
	for _, s := range f.senders {
		if s.zero == nil {
			continue
		}
		sends += s.zero.sends.Load()
		completed += s.zero.completed.Load()
		copied += s.zero.copied.Load()
		ok = true
	}
	return sends, completed, copied, ok
}

// streamSender writes until its socket is interrupted.
type streamSender struct {
	socket  *socket
	message []byte
	zero    *zeroCopy // nil where sends copy
	stopped atomic.Bool
	failed  bool // before it was stopped
}

func newStreamSender(s *socket, message []byte) *streamSender {
	return &streamSender{socket: s, message: message}
}

//go:nosplit
func (s *streamSender) run() {
	for !s.stopped.Load() {
		if !s.send() {
			s.failed = !s.stopped.Load()
			break
		}
	}
	if s.zero != nil {
		s.zero.finish()
	}
}

// send writes one message, or as much of it as the kernel takes: what counts is what arrives.
//
//go:nosplit
func (s *streamSender) send() bool {
	if s.zero != nil {
		return s.zero.send(s.message) >= 0
	}
	return s.socket.write(s.message) >= 0
}

// stop ends run: also where it is blocked.
func (s *streamSender) stop() {
	s.stopped.Store(true)
	s.socket.interrupt()
}

// receiveBuffer is the size of a receiver's reads.
const receiveBuffer = 128 << 10

// streamReceiver reads until the stream ends.
type streamReceiver struct {
	socket *socket
	failed bool // ended before its time
	// received is the number of bytes so far, written by the hot thread alone. It has a cache line of its own.
	_        [64]byte
	received atomic.Int64
	_        [56]byte
	// ending says that the stream may end.
	ending atomic.Bool
}

func newStreamReceiver(s *socket) *streamReceiver {
	return &streamReceiver{socket: s}
}

//go:nosplit
func (r *streamReceiver) run() {
	buffer := newBuffer(receiveBuffer)
	for r.took(r.socket.read(buffer)) {
	}
}

// took counts what a read returned, and says whether the stream goes on.
//
//go:nosplit
func (r *streamReceiver) took(n int) bool {
	if n > 0 {
		r.received.Store(r.received.Load() + int64(n))
		return true
	}
	if n == 0 {
		r.socket.setEnded()
	}
	r.failed = !r.ending.Load()
	return false
}

var errNothingReceived = errors.New("nothing was received within the window")
