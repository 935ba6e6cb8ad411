//go:build !linux || portable

package sys

import (
	"context"
	"net"
	"net/netip"

	"nearfar/internal/onhost/engine/wire"
)

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
