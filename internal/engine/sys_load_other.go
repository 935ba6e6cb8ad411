//go:build !linux || portable

package engine

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultSpin is how long before a request is due the sender stops sleeping: more than a sleep is late. Go's timers on
// Windows tick every half millisecond.
const DefaultSpin = 2 * time.Millisecond

// The bounds of a poller's pause.
const (
	// longestPause is how long the hot thread sleeps at most before it looks at the books again.
	longestPause = int64(5 * time.Millisecond)
	// longestStay is how long it waits for the readers at its door while it spins.
	longestStay = int64(50 * time.Microsecond)
)

// A poller lets the readers of many connections in to the books of a load, which are the hot thread's except while it
// pauses.
type poller struct {
	// door is held by whoever is at the books.
	door sync.Mutex
	// waiting is how many readers stand before it.
	waiting atomic.Int32
	readers sync.WaitGroup
	sockets []*socket
	closed  bool
}

// newPoller makes a poller whose door the hot thread holds.
func newPoller() (*poller, error) {
	p := &poller{}
	p.door.Lock()
	return p, nil
}

// add prepares a connection for its reader.
func (p *poller) add(s *socket, _ int) error {
	p.sockets = append(p.sockets, s)
	if err := s.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if c, ok := s.conn.(*net.TCPConn); ok {
		return c.SetWriteBuffer(socketBuffer)
	}
	return nil
}

// interest does nothing: a connection's reader goes on with what waits there.
func (*poller) interest(*socket, int, bool, bool) bool { return true }

// err is never called: pausing does not fail.
func (*poller) err() error { return nil }

// enter waits until the books are free; false where there is nothing to enter any more.
func (p *poller) enter() bool {
	p.waiting.Add(1)
	p.door.Lock()
	p.waiting.Add(-1)
	if p.closed {
		p.door.Unlock()
		return false
	}
	return true
}

func (p *poller) leave() { p.door.Unlock() }

// pause lets the readers in for about the given time in nanoseconds. At 0 it lets those in that stand at the door, if any.
func (p *poller) pause(timeout int64) {
	if timeout <= 0 && p.waiting.Load() == 0 {
		return
	}
	p.door.Unlock()
	if timeout > 0 {
		pause(min(timeout, longestPause))
	} else {
		for until := nanotime() + longestStay; p.waiting.Load() > 0 && nanotime() < until; {
			continue
		}
		if p.waiting.Load() > 0 {
			runtime.Gosched()
		}
	}
	p.door.Lock()
}

// close ends the readers. The hot thread has ended, and left the door to this.
func (p *poller) close() {
	p.closed = true
	p.door.Unlock()
	for _, s := range p.sockets {
		s.interrupt()
	}
	p.readers.Wait()
}

func pause(ns int64) { time.Sleep(time.Duration(ns)) }

// exactTimers says that the timers of threads are as they are.
func exactTimers() bool { return false }

// machine is not known.
func machine() string { return "" }

// A peerSocket is a UDP socket without a fixed peer that hears and answers one address only, any port of it.
type peerSocket struct {
	*socket
	udp  *net.UDPConn
	peer netip.Addr
	from netip.AddrPort
}

func newPeerSocket(s *socket, peer netip.Addr) (*peerSocket, error) {
	udp, ok := s.conn.(*net.UDPConn)
	if !ok {
		return nil, fmt.Errorf("%T hears no datagrams of many", s.conn)
	}
	return &peerSocket{socket: s, udp: udp, peer: peer}, nil
}

// receive takes a datagram, from anyone.
func (s *peerSocket) receive(b []byte) int {
	if s.failure = s.udp.SetReadDeadline(time.Now().Add(s.timeout)); s.failure != nil {
		return -1
	}
	n, from, err := s.udp.ReadFromUDPAddrPort(b)
	s.from = from
	return s.came(len(b), n, err)
}

// fromPeer says whether the last datagram came from the peer.
func (s *peerSocket) fromPeer() bool { return s.from.Addr().Unmap() == s.peer }

// answer sends to where the last datagram came from.
func (s *peerSocket) answer(b []byte) int {
	n, err := s.udp.WriteToUDPAddrPort(b, s.from)
	if err != nil {
		s.failure = err
		return -1
	}
	return n
}
