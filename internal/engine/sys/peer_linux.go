//go:build !portable

package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/engine/wire"
)

// A PeerSocket is a UDP socket that receives datagrams from many sockets and answers each. It is not connected: the
// caller recognises by their content which datagrams belong to it.
type PeerSocket struct {
	*Socket
	address unix.RawSockaddrAny
	length  uint32
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
