package wire

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// The limits of unauthenticated connections: in all, and from one address.
const (
	maxPending        = 64
	maxPendingAddress = 8
)

// busyNotice is sent to an unauthenticated connection that is closed in favour of another one.
const busyNotice = "nearfar engine: busy, try again\n"

// noticeTime limits how long such a connection is kept for the notice.
const noticeTime = 50 * time.Millisecond

// Pending holds the connections whose handshake is not complete. A new connection is always accepted. If there are
// too many, the oldest one of the same address is closed, or of the address that has most. A client completes its
// handshake within milliseconds, so any number of silent connections does not keep it out.
type Pending struct {
	mu  sync.Mutex
	all []*PendingConn // the oldest first
}

// PendingConn is one connection. gone is closed when it is evicted.
type PendingConn struct {
	Conn net.Conn
	from netip.Addr
	gone chan struct{}
}

// Add adds a connection.
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

// evict evicts the oldest connection of an address.
func (p *Pending) evict(from netip.Addr) {
	i := slices.IndexFunc(p.all, func(c *PendingConn) bool { return c.from == from })
	c := p.all[i] // there is one: the address has connections
	p.all = slices.Delete(p.all, i, i+1)
	close(c.gone)
	_ = c.Conn.SetDeadline(time.Now()) // whoever greets it stops waiting
}

// Remove removes a connection whose handshake succeeded or failed; false if it was evicted before.
func (p *Pending) Remove(c *PendingConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.all)
	p.all = slices.DeleteFunc(p.all, func(other *PendingConn) bool { return other == c })
	return len(p.all) < before
}

// Excuse tells an evicted connection the reason. It reads the bytes that the client has sent, because closing a
// connection with unread data would discard the notice.
func (c *PendingConn) Excuse() {
	_ = c.Conn.SetDeadline(time.Now().Add(noticeTime))
	_, _ = io.WriteString(c.Conn, busyNotice)
	_, _ = io.CopyN(io.Discard, c.Conn, helloSize)
}
