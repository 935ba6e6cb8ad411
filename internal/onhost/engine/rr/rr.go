// Package rr measures one transaction at a time: requests and responses over one connection (rr, over TCP and UDP), or
// over a new connection each (crr). With kernel timestamps it divides the round trips into parts.
package rr

import (
	"errors"
	"sync/atomic"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

var errStopped = errors.New("the measurement was ended before its window was over")

// Request/response over TCP: one connection, one transaction at a time, one write and one read for each.

// A transactor carries out transactions one after the other on the hot thread.
type transactor interface {
	// run carries out transactions until the clock passes the given time, and returns the clock after the last one;
	// false if the connection failed. It records each in h, unless h is nil.
	run(h *observe.Histogram, until int64) (end int64, ok bool)
	// err is why run returned false.
	err() error
}

// A finisher has work to do after the window; false if that shows that the session failed.
type finisher interface{ finish() bool }

// tcpClient is the client's side.
type tcpClient struct {
	socket            *sys.Socket
	request, response []byte
	clock             timing.Clock
	// assembly says that the loop in assembly runs: both sides agreed on it, and the clock reads the processor's
	// counter.
	assembly bool
	loop     requester
	ends     observe.Moments
	extra    bool // the server sent more than the responses
}

// errSurplus is for rr and crr over TCP.
var errSurplus = errors.New("the server sent more than the responses that were asked for: the round trips are not " +
	"what they seem")

// newTCPClient prepares a client on a data connection, for the loop that both sides agreed on.
func newTCPClient(s *sys.Socket, request, response int, loop string) *tcpClient {
	c := &tcpClient{socket: s, request: sys.NewBuffer(request), response: sys.NewBuffer(response),
		clock: timing.NewClock()}
	c.assembly = sys.AssemblyLoop && loop == wire.LoopAssembly && c.clock.Counting()
	c.loop = newRequester(s, c.request, c.response, &c.ends.Ticks)
	return c
}

// run is the hot loop. The end of one transaction is the start of the next, so one reading of the clock for each is
// enough. The nanoseconds that the loop itself takes between two transactions are part of the next round trip. No
// transaction is under way while the ends are recorded.
//
//go:nosplit
func (c *tcpClient) run(h *observe.Histogram, until int64) (start int64, ok bool) {
	leaveScheduler()
	for end := false; !end; {
		start = c.clock.Start()
		ok, end = c.exchange(c.clock.Ticks(until))
		start = c.ends.Record(h, &c.clock, start)
	}
	rejoinScheduler()
	return start, ok
}

// exchange carries out transactions and notes their ends until the clock reads last or there is no room for more
// ends. end is false only if there is no room. ok is false if the connection failed.
//
//go:nosplit
func (c *tcpClient) exchange(last uint64) (ok, end bool) {
	for {
		o, n := c.straight(last)
		if o == passed || o == full {
			return true, o == passed
		}
		n = settle(c.socket, o, n, c.request, c.response)
		if o == sending {
			if n != len(c.request) && !sys.WriteRest(c.socket, c.request, n) {
				return false, true
			}
			n = c.socket.Read(c.response)
		}
		if n != len(c.response) && !sys.ReadRest(c.socket, c.response, n) {
			return false, true
		}
		now := c.clock.Read()
		room := c.ends.Add(now)
		if now >= last {
			return true, true
		}
		if !room {
			return true, false
		}
	}
}

// loopName names the loop that runs, for the facts.
func loopName(assembly bool) string {
	if assembly {
		return wire.LoopAssembly
	}
	return wire.LoopGo
}

// outcome says why straight ended.
type outcome int

const (
	// passed: the clock has read the last time. full: there is no room for another reading.
	passed outcome = iota
	full
	// sending and receiving: a message was sent, or received, only in part.
	sending
	receiving
)

// finish checks whether the server has sent more than the responses. Surplus data would have been taken for later
// responses before they came.
func (c *tcpClient) finish() bool {
	c.extra = c.socket.Pending() > 0
	return !c.extra
}

func (c *tcpClient) err() error {
	if c.extra {
		return errSurplus
	}
	return sys.ConnectionError(c.socket)
}

// tcpServer answers each request with a response until the connection ends.
type tcpServer struct {
	socket            *sys.Socket
	request, response []byte
	stalling          timing.Stalling
	// assembly says that both sides agreed on that loop.
	assembly bool
	loop     answerer
	answered int64
	// transactions is how many requests were answered, for other threads. The hot thread writes it at the end.
	transactions atomic.Int64
}

// newTCPServer prepares a server on a data connection, for the loop that both sides agreed on.
func newTCPServer(s *sys.Socket, request, response int, loop string) *tcpServer {
	r := &tcpServer{socket: s, request: sys.NewBuffer(request), response: sys.NewBuffer(response)}
	r.assembly = sys.AssemblyLoop && loop == wire.LoopAssembly
	r.loop = newAnswerer(s, r.request, r.response)
	return r
}

//go:nosplit
func (s *tcpServer) run() {
	s.stalling.Start = timing.Now()
	leaveScheduler()
	for {
		o, n := s.straight()
		n = settle(s.socket, o, n, s.response, s.request)
		if o == receiving {
			if n != len(s.request) && !sys.ReadRest(s.socket, s.request, n) {
				break
			}
			s.stalling.Pass()
			n = s.socket.Write(s.response)
		}
		if n != len(s.response) && !sys.WriteRest(s.socket, s.response, n) {
			break
		}
		s.answered++
	}
	rejoinScheduler()
	s.transactions.Store(s.answered)
}
