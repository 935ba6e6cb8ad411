package engine

import (
	"errors"
	"sync/atomic"
	"time"
)

// silentConnection is how long the server waits for the request on a new connection.
const silentConnection = 2 * time.Second

// deferral is how long the server's kernel keeps a connection on which no request has come: longer than it repeats its side
// of the handshake, so that it drops such a connection (tcp(7), TCP_DEFER_ACCEPT).
const deferral = 10 * time.Minute

// Connect/request/response: a new connection for each transaction. As in netperf's TCP_CRR the server closes first and
// the client waits for that before it closes, so that the client's ports are free again at once and TIME_WAIT stays
// with the server, which accepts a new connection over it.

var errStopped = errors.New("the measurement was ended before its window was over")

// crrClient is the client's side.
type crrClient struct {
	connector         *connector
	request, response []byte
	// connects records the time from socket to connected, of the transactions that are recorded.
	connects *Histogram
	socket   socket
	clock    clock
	// connected and ends are when a transaction was connected and when it ended.
	connected, ends moments
	failed          bool // to connect
	extra           bool // the server sent more than the response
	// stopped tells the hot loop to begin no other transaction, and noticed says that it begins none, for whatever reason.
	stopped, noticed atomic.Bool
}

func newCRRClient(c *connector, request, response int) *crrClient {
	return &crrClient{connector: c, request: newBuffer(request), response: newBuffer(response), connects: NewHistogram(), socket: unopened(), clock: newClock()}
}

// run is the hot loop, as rrClient's. A transaction is: socket, socket options, connect, request, response, the server's
// close, close.
//
//go:nosplit
func (c *crrClient) run(h *Histogram, until int64) (start int64, ok bool) {
	leaveScheduler()
	for end := false; !end; {
		start = c.clock.start()
		ok, end = c.transactions(c.clock.tick(until))
		start = c.record(h, start)
	}
	rejoinScheduler()
	return start, ok
}

// transactions carries out transactions and notes their times, until the clock reads last or there is no room for more; end
// says that it was not for the room. ok is false when one failed.
//
//go:nosplit
func (c *crrClient) transactions(last uint64) (ok, end bool) {
	for {
		if c.stopped.Load() {
			c.noticed.Store(true)
			return false, true
		}
		if !c.connector.connect(&c.socket) {
			c.failed = true
			c.noticed.Store(true)
			return false, true
		}
		connected := c.clock.read()
		ok = c.exchange()
		c.socket.discard()
		if !ok {
			c.noticed.Store(true)
			return false, true
		}
		now := c.clock.read()
		c.connected.add(connected)
		room := c.ends.add(now)
		if now >= last {
			return true, true
		}
		if !room {
			return true, false
		}
	}
}

// record records the times of the transactions that were noted, the first counted from start, and returns the end of the
// last one.
//
//go:nosplit
func (c *crrClient) record(h *Histogram, start int64) int64 {
	if h != nil {
		from := start
		for i := range c.ends.n {
			c.connects.Record(c.clock.at(c.connected.ticks[i]) - from)
			from = c.clock.at(c.ends.ticks[i])
		}
	}
	c.connected.n = 0
	return c.ends.record(h, &c.clock, start)
}

// exchange sends the request and reads the response and the end of the stream.
//
//go:nosplit
func (c *crrClient) exchange() bool {
	n := c.socket.write(c.request)
	if n != len(c.request) && !writeRest(&c.socket, c.request, n) {
		return false
	}
	n = c.socket.read(c.response)
	if n != len(c.response) && !readRest(&c.socket, c.response, n) {
		return false
	}
	n = c.socket.read(c.response)
	c.extra = n > 0
	return n == 0
}

// stopTries and stopPause bound how long stop interrupts what the hot loop waits for.
const (
	stopTries = 200
	stopPause = 10 * time.Millisecond
)

// stop ends the hot loop, from another thread. An interrupt ends only the connection at hand, which looks like the server's
// close, and the loop may be about to open another one: it is interrupted until the loop has noticed.
func (c *crrClient) stop() {
	c.stopped.Store(true)
	c.socket.interrupt()
	go func() {
		for try := 0; try < stopTries && !c.noticed.Load(); try++ {
			time.Sleep(stopPause)
			c.socket.interrupt()
		}
	}()
}

func (c *crrClient) err() error {
	if c.stopped.Load() {
		return errStopped
	}
	if c.failed {
		return c.connector.err()
	}
	if c.extra {
		return errSurplus
	}
	return connectionError(&c.socket)
}

// crrServer accepts, reads the request, sends the response and closes, until it is interrupted.
type crrServer struct {
	acceptor          *acceptor
	request, response []byte
	current           socket
	// transactions is written by the hot thread alone.
	transactions atomic.Int64
}

func newCRRServer(a *acceptor, request, response int) *crrServer {
	return &crrServer{acceptor: a, request: newBuffer(request), response: newBuffer(response)}
}

//go:nosplit
func (s *crrServer) run() {
	var answered int64
	leaveScheduler()
	for s.acceptor.accept(&s.current) {
		n := s.current.read(s.request)
		if n == len(s.request) || readRest(&s.current, s.request, n) {
			n = s.current.write(s.response)
			if n == len(s.response) || writeRest(&s.current, s.response, n) {
				answered++
			}
		}
		s.current.close()
	}
	rejoinScheduler()
	s.transactions.Store(answered)
}
