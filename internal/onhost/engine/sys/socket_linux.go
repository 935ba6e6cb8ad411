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

// IOMethod is the fact that says how messages were sent and received.
const IOMethod = "blocking system calls on locked threads"

// A Socket is a connected socket in blocking mode. Its calls bypass the runtime's poller and scheduler: the thread
// waits in the kernel. They neither allocate nor check the stack. recvfrom and sendto do the same as read and write,
// in fewer steps.
type Socket struct {
	fd uintptr
	// timed says that reads have a time limit. A signal then also ends a read, because repeated signals could extend it
	// without end.
	timed bool
	// flags are the flags of receiving: MSG_DONTWAIT if the thread spins, or waits in poller.
	flags uintptr
	// poller is the epoll instance that the socket is in, or nil. If it is the socket's own (WaitEpoll), a read waits
	// there first, for at most limit nanoseconds, or without limit if that is negative.
	poller *Poller
	own    bool
	limit  int64
	// waiting is how the thread waits; empty for a socket that carries no data.
	waiting string
	// errno is why the last call returned less than 0.
	errno syscall.Errno
}

// Read returns the number of bytes, 0 at the end of the stream, or less than 0 if it failed.
//
//go:nosplit
func (s *Socket) Read(b []byte) int {
	for {
		if s.own && !s.await() {
			return -1
		}
		n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))),
			uintptr(len(b)), s.flags, 0, 0)
		if errno == 0 {
			return int(n)
		}
		if s.timed || errno != syscall.EINTR && (errno != syscall.EAGAIN || s.flags == 0) {
			s.errno = errno
			return -1
		}
	}
}

// Write returns the number of bytes, or less than 0 if it failed.
//
//go:nosplit
func (s *Socket) Write(b []byte) int {
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))),
			uintptr(len(b)),
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

// Ordinary says that calls wait in the kernel without a time limit.
//
//go:nosplit
func (s *Socket) Ordinary() bool { return s.flags == 0 && !s.own && !s.timed }

// Descriptor is the socket's file descriptor.
//
//go:nosplit
func (s *Socket) Descriptor() uintptr { return s.fd }

// Fail notes why a system call on the descriptor failed.
//
//go:nosplit
func (s *Socket) Fail(errno syscall.Errno) { s.errno = errno }

// SetEnded notes that the other side has ended the stream.
//
//go:nosplit
func (s *Socket) SetEnded() { s.errno = 0 }

// Err is why the last call returned less than 0, or io.EOF if the other side has ended the stream.
func (s *Socket) Err() error {
	if s.errno == 0 {
		return io.EOF
	}
	return s.errno
}

// TimedOut says whether the last call failed because of the receive timeout or a signal.
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
	// A failed close has no remedy, and the descriptor is released in any case.
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, s.fd, 0, 0)
	if s.own {
		s.poller.Close()
	}
}

// Pending is how many received bytes have not been read; 0 if the kernel does not say.
func (s *Socket) Pending() int {
	n, err := unix.IoctlGetInt(int(s.fd), unix.SIOCINQ)
	if err != nil {
		return 0
	}
	return n
}

// noDescriptor is the descriptor of a closed socket; 0 would be standard input.
const noDescriptor = ^uintptr(0)

// Unopened is a socket without a descriptor. It may be interrupted and closed.
func Unopened() Socket { return Socket{fd: noDescriptor} }

// Discard closes a socket on which Interrupt may be called later. Interrupt then does nothing, because the descriptor
// may be another file's.
//
//go:nosplit
func (s *Socket) Discard() {
	fd := s.fd
	atomic.StoreUintptr(&s.fd, noDescriptor)
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0) // as close has it
}

// Interrupt ends both directions: a thread that is blocked in Read, Write or Accept returns.
func (s *Socket) Interrupt() {
	// ENOTCONN means that there is nothing to end.
	_ = syscall.Shutdown(int(atomic.LoadUintptr(&s.fd)), syscall.SHUT_RDWR)
}

// A Raw is a connection or listener of the net package whose socket can be taken over.
type Raw interface {
	syscall.Conn
	io.Closer
}

// New takes over a connection of the net package: it puts the socket into blocking mode and closes the connection.
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

// SetReceiveTimeout limits the time of each read.
func (s *Socket) SetReceiveTimeout(d time.Duration) error {
	s.timed, s.limit = true, d.Nanoseconds()
	tv := syscall.NsecToTimeval(d.Nanoseconds())
	return os.NewSyscallError("setsockopt SO_RCVTIMEO", syscall.SetsockoptTimeval(int(s.fd), syscall.SOL_SOCKET,
		syscall.SO_RCVTIMEO, &tv))
}

// ConnectTo sets the peer of a UDP socket.
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

// Sample reads TCP_INFO. A thread other than the hot ones calls it once in each interval.
func (s *Socket) Sample() (TCPSample, bool) {
	info, err := unix.GetsockoptTCPInfo(int(s.fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return TCPSample{}, false
	}
	return TCPSample{Retransmits: int64(info.Total_retrans), Window: int64(info.Snd_cwnd) * int64(info.Snd_mss),
		Smoothed: time.Duration(info.Rtt) * time.Microsecond}, true
}

// drops is how many packets the kernel dropped at the socket (SO_MEMINFO, Linux 4.12): those for which the receive
// buffer had no room, and those with a wrong checksum (net/ipv4/udp.c).
func (s *Socket) drops() (n uint32, known bool) {
	const drops = 8 // SK_MEMINFO_DROPS (linux/sock_diag.h)
	var info [drops + 1]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, s.fd, unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	return info[drops], errno == 0 && uintptr(size) == unsafe.Sizeof(info)
}

// Facts reads back the values that the kernel uses for the socket.
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
	// Without a connection they would be initial values that no path has.
	const closed, listens = 7, 10 // TCP_CLOSE, TCP_LISTEN (net/tcp_states.h)
	if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil && info.State != closed &&
		info.State != listens {
		f["tcp_mss"] = strconv.FormatUint(uint64(info.Snd_mss), 10)
		f["path_mtu"] = strconv.FormatUint(uint64(info.Pmtu), 10)
	}
	s.optionFacts(f)
	return f
}
