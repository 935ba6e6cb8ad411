//go:build !linux || portable

package sys

import (
	"context"
	"net"
	"net/netip"
	"time"

	"nearfar/internal/onhost/engine/wire"
)

// An Acceptor accepts the connections of crr, one after the other, from one peer address only.
type Acceptor struct {
	Listener Socket // has no connection; for its facts
	tcp      *net.TCPListener
	peer     netip.Addr
}

// NewAcceptor takes over a listener. Connections are accepted from peer only.
func NewAcceptor(l *net.TCPListener, peer netip.Addr, _ wire.Params) (*Acceptor, error) {
	a := &Acceptor{tcp: l, peer: peer}
	a.Listener.setCloser(l)
	return a, nil
}

// Accept waits for the next connection of the peer and puts it into s. It closes the connections of others
// unanswered.
func (a *Acceptor) Accept(s *Socket) bool {
	for {
		conn, err := a.tcp.Accept()
		if err != nil {
			a.Listener.failure = err
			return false
		}
		from, err := wire.AddrPort(conn.RemoteAddr())
		if err == nil && from.Addr() == a.peer && conn.SetReadDeadline(time.Now().Add(silentConnection)) == nil {
			s.set(conn)
			return true
		}
		_ = conn.Close()
	}
}

// A Connector opens the connections of crr, one after the other.
type Connector struct {
	dialer  net.Dialer
	peer    string
	failure error
}

// NewConnector prepares to connect to the peer.
func NewConnector(peer netip.AddrPort, _ wire.Params) *Connector {
	return &Connector{dialer: net.Dialer{Timeout: wire.HandshakeTime, KeepAlive: -1}, peer: peer.String()}
}

// Connect opens a connection into s; false if it failed.
func (c *Connector) Connect(s *Socket) bool {
	conn, err := c.dialer.DialContext(context.Background(), "tcp", c.peer)
	if err != nil {
		c.failure = err
		return false
	}
	s.set(conn)
	return true
}

// Err says why Connect failed.
func (c *Connector) Err() error { return c.failure }
