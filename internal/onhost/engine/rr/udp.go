package rr

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// Request/response over UDP: one datagram in each direction, one transaction at a time. Every datagram starts with
// the session's cookie and a sequence number. The reply has those of its request.

// The limits of how long a client waits for a reply before it counts it as lost.
const (
	leastReplyTimeout = 100 * time.Millisecond
	mostReplyTimeout  = 2 * time.Second
)

// replyTimeout is ten times the round trip of the session's setup, within the limits.
func replyTimeout(roundTrip time.Duration) time.Duration {
	return min(max(10*roundTrip, leastReplyTimeout), mostReplyTimeout)
}

// timerSlack allows for the kernel's timer, which can end a wait up to one tick (10 ms) too early.
const timerSlack = 10 * time.Millisecond

// givenUpSize is how many of the requests that were given up are remembered, to tell late replies from duplicates.
const givenUpSize = 1024

// udpClient is the client's side.
type udpClient struct {
	socket            *sys.Socket
	request, response []byte
	timeout           int64
	stopped           atomic.Bool
	// stamped is the socket with its timestamps, or nil.
	stamped *sys.StampedSocket
	// opened says that a reply has come.
	opened   bool
	sequence uint64
	// highest is the largest sequence number that a reply has had.
	highest uint64
	givenUp [givenUpSize]uint64
	counts  observe.DatagramCounts
}

// newUDPClient prepares a client on a connected socket whose reads time out after the given time.
func newUDPClient(s *sys.Socket, c wire.Cookie, request, response int, timeout time.Duration) *udpClient {
	u := &udpClient{socket: s, request: sys.NewBuffer(request), response: sys.NewBuffer(response + 1),
		timeout: int64(timeout)}
	copy(u.request, c[:])
	clear(u.request[wire.CookieSize:wire.DatagramHeader])
	return u
}

// run is the hot loop. A lost datagram costs the timeout, and its transaction is not recorded. It returns false if it
// is interrupted (stopped).
//
//go:nosplit
func (u *udpClient) run(h *observe.Histogram, until int64) (int64, bool) {
	u.request[wire.FlagsOffset] = 0
	if h != nil {
		u.request[wire.FlagsOffset] = wire.FlagCounted
	}
	alone := u.stamped == nil // what reads timestamps needs the runtime
	if alone {
		leaveScheduler()
	}
	start, ok := timing.Now(), true
	for {
		var now int64
		var answered bool
		if now, answered, ok = u.exchange(start); !ok {
			break
		}
		switch {
		case h == nil:
		case answered:
			h.Observe(start, now)
		default:
			h.Lose(start)
		}
		if start = now; now >= until {
			break
		}
	}
	if alone {
		rejoinScheduler()
	}
	return start, ok
}

// exchange sends the next request and waits for its reply. It returns the time when the reply came or the request was
// given up.
//
//go:nosplit
func (u *udpClient) exchange(start int64) (now int64, answered, ok bool) {
	u.sequence++
	wire.PutSequence(u.request, u.sequence)
	if n := u.socket.Write(u.request); n != len(u.request) && !u.transient() {
		return start, false, false
	}
	counted := int64(u.request[wire.FlagsOffset] & wire.FlagCounted)
	u.counts.Sent += counted
	for {
		n := u.receive()
		now = timing.Now()
		if n < 0 && !u.transient() || u.stopped.Load() {
			return now, false, false
		}
		if n >= 0 && u.isReply(n) {
			u.opened, u.highest = true, u.sequence
			u.counts.Received += counted
			return now, true, true
		}
		if now-start >= u.timeout {
			u.givenUp[u.sequence%givenUpSize] = u.sequence
			return now, false, true
		}
	}
}

//go:nosplit
func (u *udpClient) receive() int {
	if u.stamped != nil {
		return u.stamped.Read(u.response)
	}
	return u.socket.Read(u.response)
}

// transient says whether the last call failed like a lost datagram: by a timeout, or for lack of a buffer.
//
//go:nosplit
func (u *udpClient) transient() bool { return u.socket.TimedOut() || u.socket.NoBuffers() }

// isReply says whether a datagram of n bytes answers the current request, and counts it otherwise.
//
//go:nosplit
func (u *udpClient) isReply(n int) bool {
	if n != len(u.response)-1 || !wire.SameCookie(u.response, u.request) {
		u.counts.Foreign++
		return false
	}
	sequence := wire.Sequence(u.response)
	if sequence == u.sequence {
		return true
	}
	counted := int64(u.response[wire.FlagsOffset] & wire.FlagCounted)
	switch slot := &u.givenUp[sequence%givenUpSize]; {
	case sequence > u.sequence || sequence == 0:
		u.counts.Foreign++
	case *slot == sequence:
		*slot = 0
		u.counts.Late += counted
		if sequence < u.highest {
			u.counts.OutOfOrder += counted
		} else {
			u.highest = sequence
		}
	default:
		u.counts.Duplicates += counted
	}
	return false
}

func (u *udpClient) err() error {
	if u.stopped.Load() {
		return errors.New("the measurement was ended before its time")
	}
	if u.socket.Refused() {
		return errors.New("the server's data port is closed: did the server end, or does a firewall reject UDP?")
	}
	return fmt.Errorf("data socket: %w", u.socket.Err())
}

// udpServer answers the datagrams of one session on a socket that is connected to the client.
type udpServer struct {
	socket            *sys.Socket
	cookie            wire.Cookie
	request, response int
	buffer            []byte
	stopped           atomic.Bool
	arrivals          observe.Arrivals
	// stamps takes the timestamps, or is nil.
	stamps *stampedServer
	// The hot thread owns requests until it has ended.
	requests wire.DatagramReport
	// Only the hot thread writes transactions.
	transactions atomic.Int64
}

func newUDPServer(s *sys.Socket, c wire.Cookie, request, response int) *udpServer {
	return &udpServer{socket: s, cookie: c, request: request, response: response, buffer: sys.NewBuffer(request + 1)}
}

// run answers until it is stopped. It answers only datagrams of the agreed size with the session's cookie, each once,
// with no more bytes than the datagram has.
//
//go:nosplit
func (s *udpServer) run() {
	var answered int64
	alone := s.stamps == nil
	if alone {
		leaveScheduler()
	}
	for {
		n := s.receive()
		if s.stopped.Load() {
			break
		}
		if n < 0 {
			if s.transient() {
				continue
			}
			break
		}
		if !s.isRequest(n) || !s.arrived() {
			continue
		}
		if !s.stampReceived() {
			break
		}
		// A reply that cannot be sent is lost like a datagram in the network: the client counts it.
		if s.socket.Write(s.buffer[:s.response]) == s.response {
			answered++
			if s.stamps != nil {
				s.stamps.sent()
			}
		}
	}
	if alone {
		rejoinScheduler()
	}
	s.transactions.Store(answered)
}

//go:nosplit
func (s *udpServer) receive() int {
	if s.stamps != nil {
		return s.stamps.socket.Read(s.buffer)
	}
	return s.socket.Read(s.buffer)
}

// stampReceived handles the stamps of the request in the buffer, if there are any; false if the kernel refuses
// timestamps.
//
//go:nosplit
func (s *udpServer) stampReceived() bool {
	if s.stamps == nil {
		return true
	}
	if !s.stamps.received(s.buffer[wire.FlagsOffset], s.buffer[wire.StampsOffset:], uint32(wire.Sequence(s.buffer))) {
		return false
	}
	s.stamps.sending()
	return true
}

// transient says whether the last call failed in a way that leaves the socket usable.
//
//go:nosplit
func (s *udpServer) transient() bool {
	return s.socket.TimedOut() || s.socket.NoBuffers() || s.socket.Refused()
}

// isRequest says whether a datagram of n bytes belongs to the session.
//
//go:nosplit
func (s *udpServer) isRequest(n int) bool {
	return n == s.request && wire.SameCookie(s.buffer, s.cookie[:])
}

// arrived counts the request in the buffer, and says whether to answer it: not if it has come before.
//
//go:nosplit
func (s *udpServer) arrived() bool {
	a := s.arrivals.Add(wire.Sequence(s.buffer))
	if s.buffer[wire.FlagsOffset]&wire.FlagCounted != 0 {
		a.CountIn(&s.requests)
	}
	return a != observe.Duplicate
}

// stop ends run.
func (s *udpServer) stop() {
	s.stopped.Store(true)
	s.socket.Interrupt()
}
