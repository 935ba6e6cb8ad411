//go:build !portable

package engine

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ioMethod says in the record how messages were sent and received.
const ioMethod = "blocking system calls on locked threads"

// A socket is a connected socket in blocking mode. Its calls bypass the runtime's poller and scheduler: the thread waits
// in the kernel. They neither allocate nor check the stack. recvfrom and sendto do the same as read and write, with less
// in between.
type socket struct {
	fd uintptr
	// timed says that reads have a time limit; a signal then ends the read as the limit does, or signals that keep coming
	// would prolong it for ever.
	timed bool
	// flags are those of receiving: MSG_DONTWAIT where the thread spins, or waits in poller.
	flags uintptr
	// poller is the epoll instance that the socket is in; nil where it is in none. Where it is the socket's own, a read waits
	// there first, for at most limit nanoseconds or, where that is negative, for ever (WaitEpoll).
	poller *poller
	own    bool
	limit  int64
	// waiting is the way of waiting, empty for a socket that is none of data.
	waiting string
	// errno is why the last call returned less than 0.
	errno syscall.Errno
}

// read returns the number of bytes, 0 at the end of the stream, or less than 0 when it failed.
//
//go:nosplit
func (s *socket) read(b []byte) int {
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

// write returns the number of bytes, or less than 0 when it failed.
//
//go:nosplit
func (s *socket) write(b []byte) int {
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

// setEnded notes that the other side has ended the stream.
//
//go:nosplit
func (s *socket) setEnded() { s.errno = 0 }

// err is why the last call returned less than 0, or io.EOF where the other side has ended the stream.
func (s *socket) err() error {
	if s.errno == 0 {
		return io.EOF
	}
	return s.errno
}

// timedOut says whether the last call failed because the receive timeout passed, or a signal came in its course.
//
//go:nosplit
func (s *socket) timedOut() bool { return s.errno == syscall.EAGAIN || s.errno == syscall.EINTR }

// refused says whether the last call failed because the other side's port is closed (UDP).
//
//go:nosplit
func (s *socket) refused() bool { return s.errno == syscall.ECONNREFUSED }

// noBuffers says whether the last call failed because the kernel had no room for a datagram.
//
//go:nosplit
func (s *socket) noBuffers() bool { return s.errno == syscall.ENOBUFS }

// close closes a socket of the hot loop.
//
//go:nosplit
func (s *socket) close() {
	// There is nothing to be done about a failed close, and the descriptor is gone in any case.
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, s.fd, 0, 0)
	if s.own {
		s.poller.close()
	}
}

// pending is how many bytes have come that nobody has read; 0 where the kernel does not say.
func (s *socket) pending() int {
	n, err := unix.IoctlGetInt(int(s.fd), unix.SIOCINQ)
	if err != nil {
		return 0
	}
	return n
}

// noDescriptor is the descriptor of no socket: 0 would be standard input's.
const noDescriptor = ^uintptr(0)

// unopened is a socket that nothing has been opened into yet; it may be interrupted and closed.
func unopened() socket { return socket{fd: noDescriptor} }

// discard closes a socket that interrupt may be called on: it then does nothing, where the descriptor may be another's.
//
//go:nosplit
func (s *socket) discard() {
	fd := s.fd
	atomic.StoreUintptr(&s.fd, noDescriptor)
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0) // as close has it
}

// interrupt ends both directions: a thread that is blocked in read, write or accept on the socket returns.
func (s *socket) interrupt() {
	// ENOTCONN only says that there is nothing to end.
	_ = syscall.Shutdown(int(atomic.LoadUintptr(&s.fd)), syscall.SHUT_RDWR)
}

// A rawConn is a connection or listener of the net package whose socket can be taken over.
type rawConn interface {
	syscall.Conn
	io.Closer
}

// newSocket takes over a connection of the net package: the socket is put into blocking mode, and the connection closed.
func newSocket(c rawConn) (*socket, error) {
	fd, err := takeDescriptor(c)
	if err != nil {
		return nil, err
	}
	return &socket{fd: uintptr(fd)}, nil
}

// takeDescriptor duplicates the descriptor in blocking mode and closes the original.
func takeDescriptor(c rawConn) (int, error) {
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

// setReceiveTimeout bounds each read.
func (s *socket) setReceiveTimeout(d time.Duration) error {
	s.timed, s.limit = true, d.Nanoseconds()
	tv := syscall.NsecToTimeval(d.Nanoseconds())
	return os.NewSyscallError("setsockopt SO_RCVTIMEO", syscall.SetsockoptTimeval(int(s.fd), syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &tv))
}

// connectTo fixes the peer of a UDP socket.
func (s *socket) connectTo(peer netip.AddrPort) error {
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

// facts reads back what the kernel really uses for the socket.
func (s *socket) facts() map[string]string {
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

// ownFiles gives the calling thread a table of open files of its own, and says whether it did. In a table that threads
// share the kernel counts references at every call; in a table of one thread, as a C program without threads has it, it
// need not. The thread must end with its work.
func ownFiles() bool { return unix.Unshare(unix.CLONE_FILES) == nil }

// onMainThread says whether the calling thread is the process's first.
func onMainThread() bool { return unix.Gettid() == unix.Getpid() }

// processCPU is the CPU time that this process has used, user and system.
func processCPU() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}

// allowedCPUs lists the CPUs that this process may run on: "0,2".
func allowedCPUs() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return ""
	}
	var list []byte
	for cpu, left := 0, set.Count(); left > 0; cpu++ {
		if set.IsSet(cpu) {
			if len(list) > 0 {
				list = append(list, ',')
			}
			list = strconv.AppendInt(list, int64(cpu), 10)
			left--
		}
	}
	return string(list)
}

// A connector makes the connections of crr, one after the other.
type connector struct {
	address unix.RawSockaddrAny
	length  uintptr
	family  uintptr
	options []sockopt
	failure syscall.Errno
	step    connectStep
}

// connectStep is a number because a hot loop may store no string (scheduler_linux.go).
type connectStep uint8

const (
	stepSocket connectStep = iota
	stepOption
	stepConnect
)

func (s connectStep) String() string { return [...]string{"socket", "setsockopt", "connect"}[s] }

func newConnector(peer netip.AddrPort, p Params) *connector {
	c := &connector{}
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

// oneSegment is what fits into one TCP segment on every path, in bytes (RFC 9293, section 3.7.1).
const oneSegment = 536

// connectionOptions are the options to set on each connection of crr. Nagle's algorithm never holds back the first segment
// of a connection, so TCP_NODELAY is left out where the request is no longer than one.
func connectionOptions(family int, p Params) []sockopt {
	return slices.DeleteFunc(p.sockopts(family), func(o sockopt) bool {
		return o.option == unix.TCP_NODELAY && o.level == unix.IPPROTO_TCP && p.Request <= oneSegment
	})
}

// connect opens a connection into s: socket, TCP_NODELAY (for requests of several segments) and what else was asked for,
// connect. False when it failed.
//
//go:nosplit
func (c *connector) connect(s *socket) bool {
	fd, _, errno := syscall.RawSyscall(syscall.SYS_SOCKET, c.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if errno != 0 {
		c.failure, c.step = errno, stepSocket
		return false
	}
	atomic.StoreUintptr(&s.fd, fd) // for interrupt
	for i := range c.options {
		if errno = c.options[i].set(fd); errno != 0 {
			c.failure, c.step = errno, stepOption // which one has been tried before (supported)
			s.discard()
			return false
		}
	}
	_, _, errno = syscall.RawSyscall(syscall.SYS_CONNECT, fd, uintptr(unsafe.Pointer(&c.address)), c.length)
	if errno != 0 {
		c.failure, c.step = errno, stepConnect
		s.discard()
		return false
	}
	return true
}

func (c *connector) err() error { return os.NewSyscallError(c.step.String(), c.failure) }

// An acceptor takes the connections of crr, one after the other, from one peer address only.
type acceptor struct {
	listener socket
	want     [16]byte // IPv4 in its IPv6-mapped form
	address  unix.RawSockaddrAny
	length   uint32
}

// newAcceptor takes over a listener of the net package. Peer is the address that connections are taken from.
func newAcceptor(l *net.TCPListener, peer netip.Addr, p Params) (*acceptor, error) {
	fd, err := takeDescriptor(l)
	if err != nil {
		return nil, err
	}
	// Accepted sockets inherit it.
	if err := p.apply(uintptr(fd)); err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	a := &acceptor{listener: socket{fd: uintptr(fd), waiting: p.waiting()}, want: peer.As16()}
	// A connection is handed over once its request is there, as web servers have it too: one that sends nothing reaches
	// nobody, and to read the request is not to wait for it. A kernel that cannot do that hands it over at once.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, int(deferral/time.Second))
	// Accepted sockets inherit this too: a connection that sends nothing holds the server up for so long and no longer.
	if err := a.listener.setReceiveTimeout(silentConnection); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// accept waits for the next connection of the peer and puts it into s; those of others are closed unanswered. False when
// the listener was interrupted or failed.
//
//go:nosplit
func (a *acceptor) accept(s *socket) bool {
	for {
		a.length = uint32(unsafe.Sizeof(a.address))
		fd, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, a.listener.fd, uintptr(unsafe.Pointer(&a.address)),
			uintptr(unsafe.Pointer(&a.length)), unix.SOCK_CLOEXEC, 0, 0)
		switch errno {
		case 0:
			s.fd = fd
			if a.fromPeer() {
				return true
			}
			s.close()
		case syscall.EINTR, syscall.EAGAIN, syscall.ECONNABORTED:
		default:
			a.listener.errno = errno
			return false
		}
	}
}

//go:nosplit
func (a *acceptor) fromPeer() bool {
	if a.address.Addr.Family == unix.AF_INET {
		sa := (*unix.RawSockaddrInet4)(unsafe.Pointer(&a.address))
		mapped := [16]byte{10: 0xff, 11: 0xff, 12: sa.Addr[0], 13: sa.Addr[1], 14: sa.Addr[2], 15: sa.Addr[3]}
		return mapped == a.want
	}
	return (*unix.RawSockaddrInet6)(unsafe.Pointer(&a.address)).Addr == a.want
}

func (a *acceptor) close() { a.listener.close() }

// Reexec replaces the process by itself with asynchronous preemption off, unless it is off: the runtime would otherwise
// send signals to threads that are busy for more than 10 ms. It returns only when there is nothing to do or on failure.
func Reexec() error {
	if preemptionOff(os.Getenv("GODEBUG")) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program to run it again with GODEBUG=%s: %w", godebugSetting, err)
	}
	if err := syscall.Exec(self, os.Args, withPreemptionOff(os.Environ())); err != nil {
		return fmt.Errorf("running this program again with GODEBUG=%s: %w", godebugSetting, err)
	}
	return nil
}
