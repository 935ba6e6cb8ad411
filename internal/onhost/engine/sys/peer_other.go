//go:build !linux || portable

package sys

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// A PeerSocket is a UDP socket that receives datagrams from many sockets and answers each. It is not connected: the
// caller recognises by their content which datagrams belong to it.
type PeerSocket struct {
	*Socket
	udp  *net.UDPConn
	from netip.AddrPort
	// pinned is the address of IsPinned.
	pinned netip.Addr
}

// NewPeerSocket makes a PeerSocket of a bound socket.
func NewPeerSocket(s *Socket) (*PeerSocket, error) {
	udp, ok := s.conn.(*net.UDPConn)
	if !ok {
		return nil, fmt.Errorf("%T hears no datagrams of many", s.conn)
	}
	return &PeerSocket{Socket: s, udp: udp}, nil
}

// From is the address of the last datagram's sender.
func (s *PeerSocket) From() netip.AddrPort {
	return netip.AddrPortFrom(s.from.Addr().Unmap(), s.from.Port())
}

// Pin makes the address of the last datagram's sender the one of IsPinned.
func (s *PeerSocket) Pin() { s.pinned = s.from.Addr() }

// IsPinned says whether the last datagram came from the pinned address, from whatever port.
func (s *PeerSocket) IsPinned() bool { return s.from.Addr() == s.pinned }

// Receive takes a datagram from any address.
func (s *PeerSocket) Receive(b []byte) int {
	if s.failure = s.udp.SetReadDeadline(time.Now().Add(s.timeout)); s.failure != nil {
		return -1
	}
	n, from, err := s.udp.ReadFromUDPAddrPort(b)
	s.from = from
	return s.Took(len(b), n, err)
}

// Answer sends to the sender of the last datagram.
func (s *PeerSocket) Answer(b []byte) int {
	n, err := s.udp.WriteToUDPAddrPort(b, s.from)
	if err != nil {
		s.failure = err
		return -1
	}
	return n
}
