package wire

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// The bounds of connections that have not proved that they know the secret: of all, and of one address.
const (
	maxPending        = 64
	maxPendingAddress = 8
)

// busyNotice is what a connection hears that has to make room for another one before it has proved anything.
const busyNotice = "nearfar engine: busy, try again\n"

// noticeTime bounds how long a connection that makes room is kept for the notice.
const noticeTime = 50 * time.Millisecond

// Pending holds the connections that are being greeted. A new one is always taken: where there are too many, the one makes
// room that has been silent for longest, of the same address, or of the address that has most. A client greets within
// milliseconds, so that it is served beside any number of silent connections.
type Pending struct {
	mu  sync.Mutex
	all []*PendingConn // the oldest first
}

// PendingConn is one connection. gone is closed when it has to make room.
type PendingConn struct {
	Conn net.Conn
	from netip.Addr
	gone chan struct{}
}

// Add takes a connection.
func (p *Pending) Add(conn net.Conn) *PendingConn {
	c := &PendingConn{Conn: conn, gone: make(chan struct{})}
	if from, err := AddrPort(conn.RemoteAddr()); err == nil {
		c.from = from.Addr()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	count := map[netip.Addr]int{}
	most := c.from
	for _, other := range p.all {
		if count[other.from]++; count[other.from] > count[most] {
			most = other.from
		}
	}
	switch {
	case count[c.from] >= maxPendingAddress:
		p.evict(c.from)
	case len(p.all) >= maxPending:
		p.evict(most)
	}
	p.all = append(p.all, c)
	return c
}

// evict has the oldest connection of an address make room.
func (p *Pending) evict(from netip.Addr) {
	for i, c := range p.all {
		if c.from == from {
			p.all = append(p.all[:i:i], p.all[i+1:]...)
			close(c.gone)
			_ = c.Conn.SetDeadline(time.Now()) // whoever greets it stops waiting
			return
		}
	}
}

// Remove takes a connection out that has been greeted, or turned away; false where it had to make room meanwhile.
func (p *Pending) Remove(c *PendingConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.all {
		if other == c {
			p.all = append(p.all[:i:i], p.all[i+1:]...)
			return true
		}
	}
	return false
}

// Excuse tells a connection that it had to make room. What it has sent is read first: closing a connection with unread data
// would take the notice back.
func (c *PendingConn) Excuse() {
	_ = c.Conn.SetDeadline(time.Now().Add(noticeTime))
	_, _ = io.WriteString(c.Conn, busyNotice)
	_, _ = io.CopyN(io.Discard, c.Conn, helloSize)
}
