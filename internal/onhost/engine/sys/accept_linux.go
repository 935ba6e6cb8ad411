//go:build !portable

package sys

import (
	"net"
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/engine/wire"
)

// An Acceptor accepts the connections of crr, one after the other, from one peer address only.
type Acceptor struct {
	Listener Socket
	want     [16]byte // IPv4 in its IPv6-mapped form
	address  unix.RawSockaddrAny
	length   uint32
}

// NewAcceptor takes over a listener of the net package. Connections are accepted from peer only.
func NewAcceptor(l *net.TCPListener, peer netip.Addr, p wire.Params) (*Acceptor, error) {
	fd, err := takeDescriptor(l)
	if err != nil {
		return nil, err
	}
	// Accepted sockets inherit the options.
	if err := apply(p, uintptr(fd)); err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	a := &Acceptor{Listener: Socket{fd: uintptr(fd), waiting: p.WaitOrDefault()}, want: peer.As16()}
	// The kernel hands over a connection once its request is there, as for web servers. So a connection that sends
	// nothing is never accepted, and reading the request does not wait. A kernel without this option hands it over at
	// once.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, int(deferral/time.Second))
	// Accepted sockets inherit the timeout, so that a connection that sends nothing does not block the server for
	// longer.
	if err := a.Listener.SetReceiveTimeout(silentConnection); err != nil {
		a.Listener.Close()
		return nil, err
	}
	return a, nil
}

// Accept waits for the next connection of the peer and puts it into s. It closes the connections of others
// unanswered. False if the listener was interrupted or failed.
//
//go:nosplit
func (a *Acceptor) Accept(s *Socket) bool {
	for {
		a.length = uint32(unsafe.Sizeof(a.address))
		fd, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, a.Listener.fd, uintptr(unsafe.Pointer(&a.address)),
			uintptr(unsafe.Pointer(&a.length)), unix.SOCK_CLOEXEC, 0, 0)
		switch errno {
		case 0:
			s.fd = fd
			if mapped(&a.address) == a.want {
				return true
			}
			s.Close()
		case syscall.EINTR, syscall.EAGAIN, syscall.ECONNABORTED:
		default:
			a.Listener.errno = errno
			return false
		}
	}
}
