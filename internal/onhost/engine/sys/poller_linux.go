//go:build !portable

package sys

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/engine/wire"
)

// pollEvents is how many events are taken from the kernel at once.
const pollEvents = 128

// A Poller waits for many sockets at once, with a time limit in nanoseconds.
type Poller struct {
	fd     uintptr
	events [pollEvents]unix.EpollEvent
	// change is the argument of Interest's system call.
	change unix.EpollEvent
	// spins says that Wait never sleeps.
	spins bool
	// polls says how the kernel's polling of the device was set; empty if it was not asked for.
	polls string
	// old says that the kernel has no epoll_pwait2 (before Linux 5.11). Wait then waits for the epoll descriptor
	// itself.
	old   bool
	errno syscall.Errno
}

// NewPoller makes an epoll instance.
func NewPoller() (*Poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	p := &Poller{fd: uintptr(fd)}
	if p.Wait(0) < 0 && p.errno == syscall.ENOSYS {
		p.old = true
	}
	return p, nil
}

// Add watches a socket for data to read. Its events are reported under the index. The socket becomes non-blocking.
func (p *Poller) Add(s *Socket, index int) error {
	if err := syscall.SetNonblock(int(s.fd), true); err != nil {
		return os.NewSyscallError("fcntl O_NONBLOCK", err)
	}
	s.timed = true // a signal ends a call
	s.poller = p
	switch {
	case s.waiting == wire.WaitSpin:
		p.spins = true
	case s.waiting == wire.WaitEpoll && p.polls == "":
		if err := p.busyPoll(); err != nil {
			return err
		}
	}
	return p.watch(s, index)
}

// watch watches a socket without changing it.
func (p *Poller) watch(s *Socket, index int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(index)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(int(p.fd), unix.EPOLL_CTL_ADD, int(s.fd), &event))
}

// Interest changes what a socket is watched for. False if it failed.
//
//go:nosplit
func (p *Poller) Interest(s *Socket, index int, read, write bool) bool {
	p.change = unix.EpollEvent{Fd: int32(index)}
	if read {
		p.change.Events |= unix.EPOLLIN
	}
	if write {
		p.change.Events |= unix.EPOLLOUT
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, p.fd, unix.EPOLL_CTL_MOD, s.fd,
		uintptr(unsafe.Pointer(&p.change)), 0, 0)
	if errno != 0 {
		p.errno = errno
	}
	return errno == 0
}

// Forget stops watching a socket that has ended.
//
//go:nosplit
func (p *Poller) Forget(s *Socket) {
	// If this fails, the socket is not watched any more either.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, p.fd, unix.EPOLL_CTL_DEL, s.fd,
		uintptr(unsafe.Pointer(&p.change)), 0, 0)
}

// Wait waits for events, at most for the given time in nanoseconds (without limit if it is negative), and returns how
// many there are; less than 0 if it failed.
//
//go:nosplit
func (p *Poller) Wait(timeout int64) int {
	if p.spins {
		timeout = 0
	}
	limit := unix.Timespec{Sec: timeout / 1e9, Nsec: timeout % 1e9}
	at := unsafe.Pointer(&limit)
	if timeout < 0 {
		at = nil
	}
	if !p.old {
		return p.took(syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, p.fd, uintptr(unsafe.Pointer(&p.events)), pollEvents,
			uintptr(at), 0, 0))
	}
	if timeout != 0 {
		set := unix.PollFd{Fd: int32(p.fd), Events: unix.POLLIN}
		n, _, errno := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&set)), 1, uintptr(at), 0, 0, 0)
		if errno != 0 || n == 0 {
			return p.took(n, 0, errno)
		}
	}
	return p.took(syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, p.fd, uintptr(unsafe.Pointer(&p.events)), pollEvents, 0,
		0, 0))
}

//go:nosplit
func (p *Poller) took(n, _ uintptr, errno syscall.Errno) int {
	switch errno {
	case 0:
		return int(n)
	case syscall.EINTR:
		return 0
	}
	p.errno = errno
	return -1
}

// Event gives the socket's index for the i-th event of the last Wait, and what the socket is ready for. A socket that
// has failed or ended is ready for both, and the next call on it says why.
//
//go:nosplit
func (p *Poller) Event(i int) (index int, read, write bool) {
	const ended = unix.EPOLLERR | unix.EPOLLHUP
	e := &p.events[i%pollEvents]
	return int(e.Fd), e.Events&(unix.EPOLLIN|ended) != 0, e.Events&(unix.EPOLLOUT|ended) != 0
}

// Err says why a call failed.
func (p *Poller) Err() error { return os.NewSyscallError("epoll", p.errno) }

// Close closes the epoll instance.
//
//go:nosplit
func (p *Poller) Close() { _, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, p.fd, 0, 0) }
