//go:build !portable

package engine

import (
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DefaultSpin is how long before a request is due the sender stops sleeping: more than the kernel takes to wake a thread on
// an idle CPU.
const DefaultSpin = 70 * time.Microsecond

// pollEvents is how many events are taken from the kernel at once.
const pollEvents = 128

// A poller waits for many sockets at once, with a time limit in nanoseconds.
type poller struct {
	fd     uintptr
	events [pollEvents]unix.EpollEvent
	// change is what interest hands to the kernel.
	change unix.EpollEvent
	// spins says that wait never sleeps.
	spins bool
	// polls says where it was set that the kernel polls the device; empty where nobody asked for that.
	polls string
	// old says that the kernel has no epoll_pwait2 (before Linux 5.11): the epoll descriptor itself is then waited for.
	old   bool
	errno syscall.Errno
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	p := &poller{fd: uintptr(fd)}
	if p.wait(0) < 0 && p.errno == syscall.ENOSYS {
		p.old = true
	}
	return p, nil
}

// add watches a socket for what there is to read; what happens to it is reported under the index. The socket becomes
// non-blocking.
func (p *poller) add(s *socket, index int) error {
	if err := syscall.SetNonblock(int(s.fd), true); err != nil {
		return os.NewSyscallError("fcntl O_NONBLOCK", err)
	}
	s.timed = true // a signal ends a call
	s.poller = p
	switch {
	case s.waiting == WaitSpin:
		p.spins = true
	case s.waiting == WaitEpoll && p.polls == "":
		if err := p.busyPoll(); err != nil {
			return err
		}
	}
	return p.watch(s, index)
}

// watch watches a socket, and leaves it as it is.
func (p *poller) watch(s *socket, index int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(index)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(int(p.fd), unix.EPOLL_CTL_ADD, int(s.fd), &event))
}

// interest changes what a socket is watched for. False when it failed.
//
//go:nosplit
func (p *poller) interest(s *socket, index int, read, write bool) bool {
	p.change = unix.EpollEvent{Fd: int32(index)}
	if read {
		p.change.Events |= unix.EPOLLIN
	}
	if write {
		p.change.Events |= unix.EPOLLOUT
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, p.fd, unix.EPOLL_CTL_MOD, s.fd, uintptr(unsafe.Pointer(&p.change)), 0, 0)
	if errno != 0 {
		p.errno = errno
	}
	return errno == 0
}

// forget ends the watching of a socket that has ended.
//
//go:nosplit
func (p *poller) forget(s *socket) {
	// What fails here is not watched any more either.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, p.fd, unix.EPOLL_CTL_DEL, s.fd, uintptr(unsafe.Pointer(&p.change)), 0, 0)
}

// wait waits for events, for at most the given time in nanoseconds (for ever where it is negative), and returns how many
// there are; less than 0 when it failed.
//
//go:nosplit
func (p *poller) wait(timeout int64) int {
	if p.spins {
		timeout = 0
	}
	limit := unix.Timespec{Sec: timeout / 1e9, Nsec: timeout % 1e9}
	at := unsafe.Pointer(&limit)
	if timeout < 0 {
		at = nil
	}
	if !p.old {
		return p.took(syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, p.fd, uintptr(unsafe.Pointer(&p.events)), pollEvents, uintptr(at), 0, 0))
	}
	if timeout != 0 {
		set := unix.PollFd{Fd: int32(p.fd), Events: unix.POLLIN}
		n, _, errno := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&set)), 1, uintptr(at), 0, 0, 0)
		if errno != 0 || n == 0 {
			return p.took(n, 0, errno)
		}
	}
	return p.took(syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, p.fd, uintptr(unsafe.Pointer(&p.events)), pollEvents, 0, 0, 0))
}

//go:nosplit
func (p *poller) took(n, _ uintptr, errno syscall.Errno) int {
	switch errno {
	case 0:
		return int(n)
	case syscall.EINTR:
		return 0
	}
	p.errno = errno
	return -1
}

// event gives the index of the socket of the i-th event of the last wait, and what it is ready for. A socket that has
// failed or ended is ready for both, and the call then says why.
//
//go:nosplit
func (p *poller) event(i int) (index int, read, write bool) {
	const ended = unix.EPOLLERR | unix.EPOLLHUP
	e := &p.events[i%pollEvents]
	return int(e.Fd), e.Events&(unix.EPOLLIN|ended) != 0, e.Events&(unix.EPOLLOUT|ended) != 0
}

func (p *poller) err() error { return os.NewSyscallError("epoll", p.errno) }

//go:nosplit
func (p *poller) close() { _, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, p.fd, 0, 0) }

// pause sleeps for the given time in nanoseconds, or until a signal.
//
//go:nosplit
func pause(ns int64) {
	limit := unix.Timespec{Sec: ns / 1e9, Nsec: ns % 1e9}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}

// exactTimers keeps the kernel from putting off the calling thread's timers by the 50 us that it allows itself otherwise.
func exactTimers() bool { return unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) == nil }

// machine names the running kernel: two processes that see the same name share its CPUs. "" where it is not known.
func machine() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// A peerSocket is a UDP socket without a fixed peer that hears and answers one address only, any port of it.
type peerSocket struct {
	*socket
	want    [16]byte // IPv4 in its IPv6-mapped form
	address unix.RawSockaddrAny
	length  uint32
}

func newPeerSocket(s *socket, peer netip.Addr) (*peerSocket, error) {
	if s.waiting == WaitEpoll { // one socket, beside the many of the client
		if err := s.waitInEpoll(); err != nil {
			return nil, err
		}
	}
	return &peerSocket{socket: s, want: peer.As16()}, nil
}

// receive takes a datagram, from anyone.
//
//go:nosplit
func (s *peerSocket) receive(b []byte) int {
	if s.own && !s.await() {
		return -1
	}
	s.length = uint32(unsafe.Sizeof(s.address))
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), s.flags,
		uintptr(unsafe.Pointer(&s.address)), uintptr(unsafe.Pointer(&s.length)))
	if errno != 0 {
		s.errno = errno
		return -1
	}
	return int(n)
}

// fromPeer says whether the last datagram came from the peer.
//
//go:nosplit
func (s *peerSocket) fromPeer() bool { return addressIs(&s.address, &s.want) }

// answer sends to where the last datagram came from.
//
//go:nosplit
func (s *peerSocket) answer(b []byte) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		syscall.MSG_NOSIGNAL, uintptr(unsafe.Pointer(&s.address)), uintptr(s.length))
	if errno != 0 {
		s.errno = errno
		return -1
	}
	return int(n)
}

// addressIs compares an address, without its port, with one in the form of IPv6.
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
