//go:build !portable

package sys

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/engine/wire"
)

// A PeerSocket is a UDP socket that accepts datagrams from every port of one address.
type PeerSocket struct {
	*Socket
	want    [16]byte // IPv4 in its IPv6-mapped form
	address unix.RawSockaddrAny
	length  uint32
}

// NewPeerSocket makes a PeerSocket for one address.
func NewPeerSocket(s *Socket, peer netip.Addr) (*PeerSocket, error) {
	if s.waiting == wire.WaitEpoll { // one socket, beside the many of the client
		if err := s.waitInEpoll(); err != nil {
			return nil, err
		}
	}
	return &PeerSocket{Socket: s, want: peer.As16()}, nil
}

// Receive takes a datagram from any address.
//
//go:nosplit
func (s *PeerSocket) Receive(b []byte) int {
	if s.own && !s.await() {
		return -1
	}
	s.length = uint32(unsafe.Sizeof(s.address))
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)), s.flags,
		uintptr(unsafe.Pointer(&s.address)), uintptr(unsafe.Pointer(&s.length)))
	if errno != 0 {
		s.errno = errno
		return -1
	}
	return int(n)
}

// FromPeer says whether the last datagram came from the peer.
//
//go:nosplit
func (s *PeerSocket) FromPeer() bool { return addressIs(&s.address, &s.want) }

// Answer sends to the sender of the last datagram.
//
//go:nosplit
func (s *PeerSocket) Answer(b []byte) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)),
		syscall.MSG_NOSIGNAL, uintptr(unsafe.Pointer(&s.address)), uintptr(s.length))
	if errno != 0 {
		s.errno = errno
		return -1
	}
	return int(n)
}

// addressIs says whether the address in a is want. It ignores the port. want is an IPv6 address, or an IPv4 address
// mapped to IPv6.
//
//go:nosplit
func addressIs(a *unix.RawSockaddrAny, want *[16]byte) bool {
	if a.Addr.Family == unix.AF_INET {
		sa := (*unix.RawSockaddrInet4)(unsafe.Pointer(a))
		mapped := [16]byte{10: 0xff, 11: 0xff, 12: sa.Addr[0], 13: sa.Addr[1], 14: sa.Addr[2], 15: sa.Addr[3]}
		return mapped == *want
	}
	return (*unix.RawSockaddrInet6)(unsafe.Pointer(a)).Addr == *want
}
