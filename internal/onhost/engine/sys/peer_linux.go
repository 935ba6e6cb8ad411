//go:build !portable

package sys

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/engine/wire"
)

// A PeerSocket is a UDP socket that receives datagrams from many sockets and answers each. It is not connected: the
// caller recognises by their content which datagrams belong to it.
type PeerSocket struct {
	*Socket
	address unix.RawSockaddrAny
	length  uint32
	// pinned is the address of IsPinned, IPv4 in its IPv6-mapped form.
	pinned [16]byte
}

// NewPeerSocket makes a PeerSocket of a bound socket.
func NewPeerSocket(s *Socket) (*PeerSocket, error) {
	if s.waiting == wire.WaitEpoll { // one socket, beside the many of the client
		if err := s.waitInEpoll(); err != nil {
			return nil, err
		}
	}
	return &PeerSocket{Socket: s}, nil
}

// From is the address of the last datagram's sender.
func (s *PeerSocket) From() netip.AddrPort {
	port := (*[2]byte)(unsafe.Pointer(&(*unix.RawSockaddrInet4)(unsafe.Pointer(&s.address)).Port)) // both have it there
	return netip.AddrPortFrom(netip.AddrFrom16(mapped(&s.address)).Unmap(), binary.BigEndian.Uint16(port[:]))
}

// Pin makes the address of the last datagram's sender the one of IsPinned.
func (s *PeerSocket) Pin() { s.pinned = mapped(&s.address) }

// IsPinned says whether the last datagram came from the pinned address, from whatever port.
//
//go:nosplit
func (s *PeerSocket) IsPinned() bool { return mapped(&s.address) == s.pinned }

// mapped is an address of a socket, IPv4 in its IPv6-mapped form.
//
//go:nosplit
func mapped(address *unix.RawSockaddrAny) [16]byte {
	if address.Addr.Family == unix.AF_INET {
		sa := (*unix.RawSockaddrInet4)(unsafe.Pointer(address))
		return [16]byte{10: 0xff, 11: 0xff, 12: sa.Addr[0], 13: sa.Addr[1], 14: sa.Addr[2], 15: sa.Addr[3]}
	}
	return (*unix.RawSockaddrInet6)(unsafe.Pointer(address)).Addr
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
