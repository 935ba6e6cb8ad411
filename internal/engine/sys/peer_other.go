//go:build !linux || portable

package sys

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// A PeerSocket is a UDP socket that accepts datagrams from every port of one address.
type PeerSocket struct {
	*Socket
	udp  *net.UDPConn
	peer netip.Addr
	from netip.AddrPort
}

// NewPeerSocket makes a PeerSocket for one address.
func NewPeerSocket(s *Socket, peer netip.Addr) (*PeerSocket, error) {
	udp, ok := s.conn.(*net.UDPConn)
	if !ok {
		return nil, fmt.Errorf("%T hears no datagrams of many", s.conn)
	}
	return &PeerSocket{Socket: s, udp: udp, peer: peer}, nil
}

// Receive takes a datagram from any address.
func (s *PeerSocket) Receive(b []byte) int {
	if s.failure = s.udp.SetReadDeadline(time.Now().Add(s.timeout)); s.failure != nil {
		return -1
	}
	n, from, err := s.udp.ReadFromUDPAddrPort(b)
	s.from = from
	return s.Took(len(b), n, err)
}

// FromPeer says whether the last datagram came from the peer.
func (s *PeerSocket) FromPeer() bool { return s.from.Addr().Unmap() == s.peer }

// Answer sends to the sender of the last datagram.
func (s *PeerSocket) Answer(b []byte) int {
	n, err := s.udp.WriteToUDPAddrPort(b, s.from)
	if err != nil {
		s.failure = err
		return -1
	}
	return n
}
