//go:build !portable

package sys

import (
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// IOMethod says in the record how messages were sent and received.
const IOMethod = "blocking system calls on locked threads"

// A Socket is a connected socket in blocking mode. Its calls bypass the runtime's poller and scheduler: the thread waits
// in the kernel. They neither allocate nor check the stack. recvfrom and sendto do the same as read and write, with less
// in between.
type Socket struct {
	fd uintptr
	// timed says that reads have a time limit; a signal then ends the read as the limit does, or signals that keep coming
	// would prolong it for ever.
	timed bool
	// flags are those of receiving: MSG_DONTWAIT where the thread spins, or waits in poller.
	flags uintptr
	// poller is the epoll instance that the socket is in; nil where it is in none. Where it is the socket's own, a read waits
	// there first, for at most limit nanoseconds or, where that is negative, for ever (WaitEpoll).
	poller *Poller
	own    bool
	limit  int64
	// waiting is the way of waiting, empty for a socket that is none of data.
	waiting string
	// errno is why the last call returned less than 0.
	errno syscall.Errno
}

// Read returns the number of bytes, 0 at the end of the stream, or less than 0 when it failed.
//
//go:nosplit
func (s *Socket) Read(b []byte) int {
	for {
		if s.own && !s.await() {
			return -1
		}
		n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), s.flags, 0, 0)
		if errno == 0 {
			return int(n)
		}
		if s.timed || errno != syscall.EINTR && (errno != syscall.EAGAIN || s.flags == 0) {
			s.errno = errno
			return -1
		}
	}
}

// Write returns the number of bytes, or less than 0 when it failed.
//
//go:nosplit
func (s *Socket) Write(b []byte) int {
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
			syscall.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			return int(n)
		}
		if errno != syscall.EINTR {
			s.errno = errno
			return -1
		}
	}
}

// Ordinary says that calls wait in the kernel, for as long as it takes.
//
//go:nosplit
func (s *Socket) Ordinary() bool { return s.flags == 0 && !s.own && !s.timed }

// Descriptor is what system calls name the socket by.
//
//go:nosplit
func (s *Socket) Descriptor() uintptr { return s.fd }

// Fail notes why a call on the descriptor failed.
//
//go:nosplit
func (s *Socket) Fail(errno syscall.Errno) { s.errno = errno }

// SetEnded notes that the other side has ended the stream.
//
//go:nosplit
func (s *Socket) SetEnded() { s.errno = 0 }

// Err is why the last call returned less than 0, or io.EOF where the other side has ended the stream.
func (s *Socket) Err() error {
	if s.errno == 0 {
		return io.EOF
	}
	return s.errno
}

// TimedOut says whether the last call failed because the receive timeout passed, or a signal came in its course.
//
//go:nosplit
func (s *Socket) TimedOut() bool { return s.errno == syscall.EAGAIN || s.errno == syscall.EINTR }

// Refused says whether the last call failed because the other side's port is closed (UDP).
//
//go:nosplit
func (s *Socket) Refused() bool { return s.errno == syscall.ECONNREFUSED }

// NoBuffers says whether the last call failed because the kernel had no room for a datagram.
//
//go:nosplit
func (s *Socket) NoBuffers() bool { return s.errno == syscall.ENOBUFS }

// Close closes a socket of the hot loop.
//
//go:nosplit
func (s *Socket) Close() {
	// There is nothing to be done about a failed close, and the descriptor is gone in any case.
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, s.fd, 0, 0)
	if s.own {
		s.poller.Close()
	}
}

// Pending is how many bytes have come that nobody has read; 0 where the kernel does not say.
func (s *Socket) Pending() int {
	n, err := unix.IoctlGetInt(int(s.fd), unix.SIOCINQ)
	if err != nil {
		return 0
	}
	return n
}

// noDescriptor is the descriptor of no socket: 0 would be standard input's.
const noDescriptor = ^uintptr(0)

// Unopened is a socket that nothing has been opened into yet; it may be interrupted and closed.
func Unopened() Socket { return Socket{fd: noDescriptor} }

// Discard closes a socket that interrupt may be called on: it then does nothing, where the descriptor may be another's.
//
//go:nosplit
func (s *Socket) Discard() {
	fd := s.fd
	atomic.StoreUintptr(&s.fd, noDescriptor)
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0) // as close has it
}

// Interrupt ends both directions: a thread that is blocked in read, write or accept on the socket returns.
func (s *Socket) Interrupt() {
	// ENOTCONN only says that there is nothing to end.
	_ = syscall.Shutdown(int(atomic.LoadUintptr(&s.fd)), syscall.SHUT_RDWR)
}

// A Raw is a connection or listener of the net package whose socket can be taken over.
type Raw interface {
	syscall.Conn
	io.Closer
}

// New takes over a connection of the net package: the socket is put into blocking mode, and the connection closed.
func New(c Raw) (*Socket, error) {
	fd, err := takeDescriptor(c)
	if err != nil {
		return nil, err
	}
	return &Socket{fd: uintptr(fd)}, nil
}

// takeDescriptor duplicates the descriptor in blocking mode and closes the original.
func takeDescriptor(c Raw) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(original uintptr) {
		fd, dupErr = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return -1, err
	}
	if dupErr != nil {
		return -1, dupErr
	}
	if err := c.Close(); err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// SetReceiveTimeout bounds each read.
func (s *Socket) SetReceiveTimeout(d time.Duration) error {
	s.timed, s.limit = true, d.Nanoseconds()
	tv := syscall.NsecToTimeval(d.Nanoseconds())
	return os.NewSyscallError("setsockopt SO_RCVTIMEO", syscall.SetsockoptTimeval(int(s.fd), syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &tv))
}

// ConnectTo fixes the peer of a UDP socket.
func (s *Socket) ConnectTo(peer netip.AddrPort) error {
	return os.NewSyscallError("connect", unix.Connect(int(s.fd), sockaddr(peer)))
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if ip := a.Addr().Unmap(); ip.Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}
	}
	sa := &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	if zone := a.Addr().Zone(); zone != "" {
		if itf, err := net.InterfaceByName(zone); err == nil {
			sa.ZoneId = uint32(itf.Index)
		}
	}
	return sa
}

// Facts reads back what the kernel really uses for the socket.
func (s *Socket) Facts() map[string]string {
	f := map[string]string{}
	fd := int(s.fd)
	for name, option := range map[string]int{"so_sndbuf": unix.SO_SNDBUF, "so_rcvbuf": unix.SO_RCVBUF} {
		if v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err == nil {
			f[name] = strconv.Itoa(v)
		}
	}
	if v, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY); err == nil {
		f["tcp_nodelay"] = strconv.FormatBool(v != 0)
	}
	if v, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err == nil {
		f["tcp_congestion"] = v
	}
	// Before there is a connection they are what it would begin with, and no path's.
	const closed, listens = 7, 10 // TCP_CLOSE, TCP_LISTEN (net/tcp_states.h)
	if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil && info.State != closed && info.State != listens {
		f["tcp_mss"] = strconv.FormatUint(uint64(info.Snd_mss), 10)
		f["path_mtu"] = strconv.FormatUint(uint64(info.Pmtu), 10)
	}
	s.optionFacts(f)
	return f
}
