//go:build !portable

package sys

import (
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/engine/wire"
)

// A Connector opens the connections of crr, one after the other.
type Connector struct {
	address unix.RawSockaddrAny
	length  uintptr
	family  uintptr
	options []sockopt
	failure syscall.Errno
	step    connectStep
}

// connectStep is a number because a hot loop must not store a string.
type connectStep uint8

const (
	stepSocket connectStep = iota
	stepOption
	stepConnect
)

func (s connectStep) String() string { return [...]string{"socket", "setsockopt", "connect"}[s] }

// NewConnector prepares to connect to the peer.
func NewConnector(peer netip.AddrPort, p wire.Params) *Connector {
	c := &Connector{}
	port := peer.Port()
	if ip := peer.Addr().Unmap(); ip.Is4() {
		sa := (*unix.RawSockaddrInet4)(unsafe.Pointer(&c.address))
		sa.Family, sa.Addr = unix.AF_INET, ip.As4()
		*(*[2]byte)(unsafe.Pointer(&sa.Port)) = [2]byte{byte(port >> 8), byte(port)}
		c.length, c.family, c.options = unix.SizeofSockaddrInet4, unix.AF_INET, connectionOptions(unix.AF_INET, p)
		return c
	}
	sa := (*unix.RawSockaddrInet6)(unsafe.Pointer(&c.address))
	sa.Family, sa.Addr = unix.AF_INET6, peer.Addr().As16()
	*(*[2]byte)(unsafe.Pointer(&sa.Port)) = [2]byte{byte(port >> 8), byte(port)}
	if v6, ok := sockaddr(peer).(*unix.SockaddrInet6); ok {
		sa.Scope_id = v6.ZoneId
	}
	c.length, c.family, c.options = unix.SizeofSockaddrInet6, unix.AF_INET6, connectionOptions(unix.AF_INET6, p)
	return c
}

// oneSegment is how many bytes fit into one TCP segment on every path (RFC 9293, section 3.7.1).
const oneSegment = 536

// connectionOptions are the options to set on each connection of crr. Nagle's algorithm never delays the first
// segment of a connection, so TCP_NODELAY is left out if the request fits into one.
func connectionOptions(family int, p wire.Params) []sockopt {
	return slices.DeleteFunc(sockopts(p, family), func(o sockopt) bool {
		return o.option == unix.TCP_NODELAY && o.level == unix.IPPROTO_TCP && p.Request <= oneSegment
	})
}

// Connect opens a connection into s: socket, options, connect. False if it failed.
//
//go:nosplit
func (c *Connector) Connect(s *Socket) bool {
	fd, _, errno := syscall.RawSyscall(syscall.SYS_SOCKET, c.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if errno != 0 {
		c.failure, c.step = errno, stepSocket
		return false
	}
	atomic.StoreUintptr(&s.fd, fd) // for interrupt
	for i := range c.options {
		if errno = c.options[i].set(fd); errno != 0 {
			c.failure, c.step = errno, stepOption // which one has been tried before (supported)
			s.Discard()
			return false
		}
	}
	_, _, errno = syscall.RawSyscall(syscall.SYS_CONNECT, fd, uintptr(unsafe.Pointer(&c.address)), c.length)
	if errno != 0 {
		c.failure, c.step = errno, stepConnect
		s.Discard()
		return false
	}
	return true
}

// Err says why Connect failed.
func (c *Connector) Err() error { return os.NewSyscallError(c.step.String(), c.failure) }
