package engine

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// Request/response over TCP: one connection, one transaction in flight, one write and one read for each.

// A transactor carries out transactions one after the other on the hot thread.
type transactor interface {
	// run carries out transactions until the clock passes the given time, and returns the clock after the last one;
	// false when the connection failed. It records each into h, or nothing where h is nil.
	run(h *Histogram, until int64) (end int64, ok bool)
	// err is why run returned false.
	err() error
}

// A finisher has something to do when the window is over; false when that shows that the session failed.
type finisher interface{ finish() bool }

// rrClient is the client's side.
type rrClient struct {
	socket            *socket
	request, response []byte
	clock             clock
	loop              requester
	ends              moments
	extra             bool // the server sent more than the responses
}

// errSurplus is of rr and crr over TCP.
var errSurplus = errors.New("the server sent more than the responses that were asked for: the round trips are not what they seem")

func newRRClient(s *socket, request, response int) *rrClient {
	c := &rrClient{socket: s, request: newBuffer(request), response: newBuffer(response), clock: newClock()}
	c.loop = newRequester(s, c.request, c.response, &c.ends.ticks)
	return c
}

// run is the hot loop. The end of one transaction is the start of the next, so that one reading of the clock for each is
// enough; what the loop itself does between them, some nanoseconds, is part of the next round trip. While the ends that were
// noted are recorded, no transaction is under way.
//
//go:nosplit
func (c *rrClient) run(h *Histogram, until int64) (start int64, ok bool) {
	leaveScheduler()
	for end := false; !end; {
		start = c.clock.start()
		ok, end = c.exchange(c.clock.tick(until))
		start = c.ends.record(h, &c.clock, start)
	}
	rejoinScheduler()
	return start, ok
}

// exchange carries out transactions and notes their ends, until the clock reads last or there is no room for more; end says
// that it was the first. ok is false when the connection failed.
//
//go:nosplit
func (c *rrClient) exchange(last uint64) (ok, end bool) {
	for {
		o, n := c.straight(last)
		if o == passed || o == full {
			return true, o == passed
		}
		n = c.socket.settle(o, n, c.request, c.response)
		if o == sending {
			if n != len(c.request) && !writeRest(c.socket, c.request, n) {
				return false, true
			}
			n = c.socket.read(c.response)
		}
		if n != len(c.response) && !readRest(c.socket, c.response, n) {
			return false, true
		}
		now := c.clock.read()
		room := c.ends.add(now)
		if now >= last {
			return true, true
		}
		if !room {
			return true, false
		}
	}
}

// outcome is how far a side has come by itself (straight) when something is out of the ordinary.
type outcome int

const (
	// passed: the clock has read the last time. full: there is no room for another reading of it.
	passed outcome = iota
	full
	// sending and receiving: so much of a message has been sent, or received.
	sending
	receiving
)

// finish looks whether the server has sent more than the responses: what is left over would have been taken for the next
// response, before it came.
func (c *rrClient) finish() bool {
	c.extra = c.socket.pending() > 0
	return !c.extra
}

func (c *rrClient) err() error {
	if c.extra {
		return errSurplus
	}
	return connectionError(c.socket)
}

// rrServer answers each request with a response until the connection ends.
type rrServer struct {
	socket            *socket
	request, response []byte
	stalling          stalling
	loop              answerer
	answered          int64
	// transactions is what was answered, for other threads to read; the hot thread writes it at the end.
	transactions atomic.Int64
}

func newRRServer(s *socket, request, response int) *rrServer {
	r := &rrServer{socket: s, request: newBuffer(request), response: newBuffer(response)}
	r.loop = newAnswerer(s, r.request, r.response)
	return r
}

//go:nosplit
func (s *rrServer) run() {
	s.stalling.start = nanotime()
	leaveScheduler()
	for {
		o, n := s.straight()
		n = s.socket.settle(o, n, s.response, s.request)
		if o == receiving {
			if n != len(s.request) && !readRest(s.socket, s.request, n) {
				break
			}
			s.stalling.pass()
			n = s.socket.write(s.response)
		}
		if n != len(s.response) && !writeRest(s.socket, s.response, n) {
			break
		}
		s.answered++
	}
	rejoinScheduler()
	s.transactions.Store(s.answered)
}

// writeRest completes the writing of b of which n bytes have gone; n < 0 when the write failed.
//
//go:nosplit
func writeRest(s *socket, b []byte, n int) bool {
	for n >= 0 {
		b = b[n:]
		if len(b) == 0 {
			return true
		}
		n = s.write(b)
	}
	return false
}

// readRest completes the reading of b of which n bytes have come; n <= 0 when the connection ended or failed.
//
//go:nosplit
func readRest(s *socket, b []byte, n int) bool {
	for n > 0 {
		b = b[n:]
		if len(b) == 0 {
			return true
		}
		n = s.read(b)
	}
	if n == 0 {
		s.setEnded()
	}
	return false
}

// connectionError says why a data connection failed.
func connectionError(s *socket) error {
	err := s.err()
	if errors.Is(err, io.EOF) {
		return errors.New("the server closed the data connection")
	}
	return fmt.Errorf("data connection: %w", err)
}
