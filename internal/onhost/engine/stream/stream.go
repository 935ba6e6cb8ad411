// Package stream measures data in one direction: bulk data over TCP connections (stream), and one-way messages over
// TCP or UDP (messages). In both modes the server keeps the time of the window, and the receiving side counts.
package stream

import (
	"fmt"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

// Stream: bulk data over N connections in each direction. The result is what the receiving side's application
// received, on that side's clock.

// flows are the connections of one side of a stream.
type flows struct {
	senders   []*sender
	receivers []*receiver
}

// newFlows divides the connections: the first ones are for the upload, the others for the download.
func newFlows(sockets []*sys.Socket, p wire.Params, isClient bool) (f flows, err error) {
	uploads := len(sockets)
	switch p.DirectionOrDefault() {
	case wire.Download:
		uploads = 0
	case wire.Both:
		uploads = p.Connections
	}
	var message []byte // one for all: what is sent never changes, and takes the room of one in the caches
	for i, s := range sockets {
		if i < uploads != isClient {
			f.receivers = append(f.receivers, &receiver{socket: s})
			continue
		}
		if message == nil {
			message = sys.NewBuffer(p.Message)
		}
		sender := &sender{socket: s, message: message}
		if p.ZeroCopy {
			if sender.zero, err = sys.NewZeroCopy(s); err != nil {
				return f, err
			}
		}
		f.senders = append(f.senders, sender)
	}
	return f, nil
}

// end says that from now on the end of a connection is no failure.
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

// sent is how many bytes the kernel took from the senders. The threads must have ended.
func (f flows) sent() (bytes int64) {
	for _, s := range f.senders {
		bytes += s.sent
	}
	return bytes
}

// sample gives TCP_INFO of the senders: retransmits as a sum, window and smoothed round trip as means over the
// connections.
func (f flows) sample() (sum sys.TCPSample, ok bool) {
	for _, s := range f.senders {
		one, ok := s.socket.Sample()
		if !ok {
			return sys.TCPSample{}, false
		}
		sum.Retransmits += one.Retransmits
		sum.Window += one.Window
		sum.Smoothed += one.Smoothed
	}
	if n := len(f.senders); n > 0 {
		sum.Window /= int64(n)
		sum.Smoothed /= time.Duration(n)
	}
	return sum, len(f.senders) > 0
}

// err says which connection failed within the window. The threads must have ended.
func (f flows) err() error {
	for i, s := range f.senders {
		if s.failed {
			return fmt.Errorf("connection %d of %d failed within the measurement: %w", i+1, len(f.senders),
				sys.ConnectionError(s.socket))
		}
	}
	for i, r := range f.receivers {
		if r.failed {
			return fmt.Errorf("connection %d of %d failed within the measurement: %w", i+1, len(f.receivers),
				sys.ConnectionError(r.socket))
		}
	}
	return nil
}

// zeroCopyFacts adds up the notifications of the zero-copy sends; false if there were none.
func (f flows) zeroCopyFacts() (sends, completed, copied int64, ok bool) {
	for _, s := range f.senders {
		if s.zero == nil {
			continue
		}
		a, b, c := s.zero.Counts()
		sends, completed, copied, ok = sends+a, completed+b, copied+c, true
	}
	return sends, completed, copied, ok
}

// sender writes until its socket is interrupted.
type sender struct {
	socket  *sys.Socket
	message []byte
	zero    *sys.ZeroCopy // nil where sends copy
	stopped atomic.Bool
	failed  bool // before it was stopped
	// sent is how many bytes the kernel took. The hot thread owns it until it has ended.
	sent int64
}

//go:nosplit
func (s *sender) run() {
	for !s.stopped.Load() {
		if !s.send() {
			s.failed = !s.stopped.Load()
			break
		}
	}
	if s.zero != nil {
		s.zero.Finish()
	}
}

// send writes one message, or as much of it as the kernel takes. The receiver counts what arrives.
//
//go:nosplit
func (s *sender) send() bool {
	var n int
	if s.zero != nil {
		n = s.zero.Send(s.message)
	} else {
		n = s.socket.Write(s.message)
	}
	if n < 0 {
		return false
	}
	s.sent += int64(n)
	return true
}

// stop ends run, even if it is blocked.
func (s *sender) stop() {
	s.stopped.Store(true)
	s.socket.Interrupt()
}

// receiver reads until the stream ends.
type receiver struct {
	socket *sys.Socket
	failed bool // ended before its time
	// received is the number of bytes so far. Only the hot thread writes it. It has a cache line of its own.
	_        [64]byte
	received atomic.Int64
	_        [56]byte
	// ending says that the stream may end.
	ending atomic.Bool
}

//go:nosplit
func (r *receiver) run() {
	buffer := sys.NewBuffer(sys.ReadSize)
	for r.took(r.socket.Read(buffer)) {
	}
}

// took counts the result of a read, and says whether the stream continues.
//
//go:nosplit
func (r *receiver) took(n int) bool {
	if n > 0 {
		r.received.Store(r.received.Load() + int64(n))
		return true
	}
	if n == 0 {
		r.socket.SetEnded()
	}
	r.failed = !r.ending.Load()
	return false
}
