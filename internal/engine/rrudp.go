package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Request/response over UDP: one datagram each way, one transaction in flight. Every datagram starts with the session's
// cookie and a sequence number; the reply carries those of its request.

// The bounds of the time that a client waits for a reply before it counts it lost.
const (
	leastReplyTimeout = 100 * time.Millisecond
	mostReplyTimeout  = 2 * time.Second
)

// replyTimeout is ten times the round trip that the session's set-up took, within the bounds.
func replyTimeout(roundTrip time.Duration) time.Duration {
	return min(max(10*roundTrip, leastReplyTimeout), mostReplyTimeout)
}

// givenUpSize is how many of the requests given up last are remembered, to tell late replies from duplicates.
const givenUpSize = 1024

// datagramCounts is what happened to the datagrams of a client.
type datagramCounts struct {
	sent, received int64
	// late replies came after their request was given up, and count as lost; duplicates after another reply.
	late, duplicates int64
	// foreign datagrams are not of this session.
	foreign int64
}

// udpClient is the client's side.
type udpClient struct {
	socket            *socket
	request, response []byte
	timeout           int64
	stopped           atomic.Bool
	sequence          uint64
	givenUp           [givenUpSize]uint64
	counts            datagramCounts
}

// newUDPClient prepares a client on a connected socket whose reads time out after the given time.
func newUDPClient(s *socket, c cookie, request, response int, timeout time.Duration) *udpClient {
	u := &udpClient{socket: s, request: newBuffer(request), response: newBuffer(response + 1), timeout: int64(timeout)}
	copy(u.request, c[:])
	clear(u.request[cookieSize:datagramHeader])
	return u
}

// run is the hot loop. A lost datagram costs the timeout, and the transaction is not recorded. Where it is interrupted
// (stopped), it returns false.
//
//go:nosplit
func (u *udpClient) run(h *Histogram, until int64) (int64, bool) {
	start := nanotime()
	for {
		u.sequence++
		putSequence(u.request, u.sequence)
		if n := u.socket.write(u.request); n != len(u.request) && !u.transient() {
			return start, false
		}
		u.counts.sent++
		answered := false
		now := start
		for {
			n := u.socket.read(u.response)
			now = nanotime()
			if n < 0 && !u.transient() || u.stopped.Load() {
				return start, false
			}
			if n >= 0 && u.isReply(n) {
				answered = true
				break
			}
			if now-start >= u.timeout {
				break
			}
		}
		if answered {
			u.counts.received++
			if h != nil {
				h.Record(now - start)
			}
		} else {
			u.givenUp[u.sequence%givenUpSize] = u.sequence
		}
		start = now
		if now >= until {
			return now, true
		}
	}
}

// transient says whether the last call failed in a way that a datagram's loss can also have: a timeout, or a closed port
// on the way to being opened.
//
//go:nosplit
func (u *udpClient) transient() bool { return u.socket.timedOut() || u.socket.noBuffers() }

// isReply says whether a datagram of n bytes answers the current request, and counts what it is otherwise.
//
//go:nosplit
func (u *udpClient) isReply(n int) bool {
	if n != len(u.response)-1 || !sameCookie(u.response, u.request) {
		u.counts.foreign++
		return false
	}
	sequence := sequenceOf(u.response)
	if sequence == u.sequence {
		return true
	}
	switch slot := &u.givenUp[sequence%givenUpSize]; {
	case sequence > u.sequence || sequence == 0:
		u.counts.foreign++
	case *slot == sequence:
		*slot = 0
		u.counts.late++
	default:
		u.counts.duplicates++
	}
	return false
}

func (u *udpClient) err() error {
	if u.stopped.Load() {
		return errors.New("the measurement was ended before its time")
	}
	if u.socket.refused() {
		return errors.New("the server's data port is closed: did the server end, or does a firewall reject UDP?")
	}
	return fmt.Errorf("data socket: %w", u.socket.err())
}

// udpServer answers the datagrams of one session on a socket that is connected to the client.
type udpServer struct {
	socket            *socket
	cookie            cookie
	request, response int
	buffer            []byte
	stopped           atomic.Bool
	// transactions and foreign are written by the hot thread alone.
	transactions, foreign atomic.Int64
}

func newUDPServer(s *socket, c cookie, request, response int) *udpServer {
	return &udpServer{socket: s, cookie: c, request: request, response: response, buffer: newBuffer(request + 1)}
}

// run answers until stopped. Only a datagram of the agreed size with the session's cookie is answered, with no more
// bytes than it has.
//
//go:nosplit
func (s *udpServer) run() {
	var answered, foreign int64
	for {
		n := s.socket.read(s.buffer)
		if s.stopped.Load() {
			break
		}
		if n < 0 {
			if s.socket.timedOut() || s.socket.noBuffers() || s.socket.refused() {
				continue
			}
			break
		}
		if n != s.request || !sameCookie(s.buffer, s.cookie[:]) {
			foreign++
			continue
		}
		// What cannot be sent is lost like a datagram on the way: the client counts it.
		if s.socket.write(s.buffer[:s.response]) == s.response {
			answered++
		}
	}
	s.transactions.Store(answered)
	s.foreign.Store(foreign)
}

// stop ends run.
func (s *udpServer) stop() {
	s.stopped.Store(true)
	s.socket.interrupt()
}

// sameCookie compares the cookies that two datagrams start with, in constant time.
//
//go:nosplit
func sameCookie(a, b []byte) bool {
	var different byte
	for i := range cookieSize {
		different |= a[i] ^ b[i]
	}
	return different == 0
}

//go:nosplit
func putSequence(datagram []byte, n uint64) {
	binary.BigEndian.PutUint64(datagram[cookieSize:cookieSize+8], n)
}

//go:nosplit
func sequenceOf(datagram []byte) uint64 {
	return binary.BigEndian.Uint64(datagram[cookieSize : cookieSize+8])
}
