package rr

import (
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
)

// Connect/request/response: a new connection for each transaction. As in netperf's TCP_CRR, the server closes first,
// and the client waits for that before it closes. So the client's ports are free again at once. TIME_WAIT stays with
// the server, which accepts new connections over it.

// crrClient is the client's side.
type crrClient struct {
	connector         *sys.Connector
	request, response []byte
	// connects records the time from socket to connected, of the recorded transactions.
	connects *observe.Histogram
	socket   sys.Socket
	clock    timing.Clock
	// connected and ends are when each transaction was connected and when it ended.
	connected, ends observe.Moments
	failed          bool // to connect
	extra           bool // the server sent more than the response
	// stopped tells the hot loop to begin no further transaction. noticed says that the loop begins none, for any
	// reason.
	stopped, noticed atomic.Bool
}

func newCRRClient(c *sys.Connector, request, response int) *crrClient {
	return &crrClient{connector: c, request: sys.NewBuffer(request), response: sys.NewBuffer(response),
		connects: observe.NewHistogram(), socket: sys.Unopened(), clock: timing.NewClock()}
}

// run is the hot loop, like tcpClient's. A transaction is: socket, socket options, connect, request, response, the
// server's close, close.
//
//go:nosplit
func (c *crrClient) run(h *observe.Histogram, until int64) (start int64, ok bool) {
	leaveScheduler()
	for end := false; !end; {
		start = c.clock.Start()
		ok, end = c.transactions(c.clock.Ticks(until))
		start = c.record(h, start)
	}
	rejoinScheduler()
	return start, ok
}

// transactions carries out transactions and notes their times until the clock reads last or there is no room for more
// times. end is false only if there is no room. ok is false if a transaction failed.
//
//go:nosplit
func (c *crrClient) transactions(last uint64) (ok, end bool) {
	for {
		if c.stopped.Load() {
			c.noticed.Store(true)
			return false, true
		}
		if !c.connector.Connect(&c.socket) {
			c.failed = true
			c.noticed.Store(true)
			return false, true
		}
		connected := c.clock.Read()
		ok = c.exchange()
		c.socket.Discard()
		if !ok {
			c.noticed.Store(true)
			return false, true
		}
		now := c.clock.Read()
		c.connected.Add(connected)
		room := c.ends.Add(now)
		if now >= last {
			return true, true
		}
		if !room {
			return true, false
		}
	}
}

// record records the times that were noted, the first transaction from start, and returns the end of the last one.
//
//go:nosplit
func (c *crrClient) record(h *observe.Histogram, start int64) int64 {
	connects := c.connects
	if h == nil {
		connects = nil
	}
	c.connected.RecordAfter(&c.ends, connects, &c.clock, start)
	return c.ends.Record(h, &c.clock, start)
}

// exchange sends the request and reads the response and the end of the stream.
//
//go:nosplit
func (c *crrClient) exchange() bool {
	n := c.socket.Write(c.request)
	if n != len(c.request) && !sys.WriteRest(&c.socket, c.request, n) {
		return false
	}
	n = c.socket.Read(c.response)
	if n != len(c.response) && !sys.ReadRest(&c.socket, c.response, n) {
		return false
	}
	n = c.socket.Read(c.response)
	c.extra = n > 0
	return n == 0
}

// stopTries and stopPause limit how long stop interrupts the hot loop.
const (
	stopTries = 200
	stopPause = 10 * time.Millisecond
)

// stop ends the hot loop from another thread. An interrupt ends only the current connection, which looks like the
// server's close, and the loop may be about to open another one. So stop repeats the interrupt until the loop has
// noticed.
func (c *crrClient) stop() {
	c.stopped.Store(true)
	c.socket.Interrupt()
	go func() {
		for try := 0; try < stopTries && !c.noticed.Load(); try++ {
			time.Sleep(stopPause)
			c.socket.Interrupt()
		}
	}()
}

func (c *crrClient) err() error {
	if c.stopped.Load() {
		return errStopped
	}
	if c.failed {
		return c.connector.Err()
	}
	if c.extra {
		return errSurplus
	}
	return sys.ConnectionError(&c.socket)
}

// crrServer accepts, reads the request, sends the response and closes, until it is interrupted.
type crrServer struct {
	acceptor          *sys.Acceptor
	request, response []byte
	current           sys.Socket
	// Only the hot thread writes transactions.
	transactions atomic.Int64
}

func newCRRServer(a *sys.Acceptor, request, response int) *crrServer {
	return &crrServer{acceptor: a, request: sys.NewBuffer(request), response: sys.NewBuffer(response)}
}

//go:nosplit
func (s *crrServer) run() {
	var answered int64
	leaveScheduler()
	for s.acceptor.Accept(&s.current) {
		n := s.current.Read(s.request)
		if n == len(s.request) || sys.ReadRest(&s.current, s.request, n) {
			n = s.current.Write(s.response)
			if n == len(s.response) || sys.WriteRest(&s.current, s.response, n) {
				answered++
			}
		}
		s.current.Close()
	}
	rejoinScheduler()
	s.transactions.Store(answered)
}
