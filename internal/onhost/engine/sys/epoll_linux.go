//go:build !portable

package sys

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/engine/wire"
)

// epollParams is struct epoll_params of linux/eventpoll.h: how an epoll instance polls the device queue of its
// sockets (Linux 6.9).
type epollParams struct {
	// usecs is how long it polls before it sleeps, in microseconds. budget is how many packets it takes at once; 0 for
	// the kernel's default.
	usecs  uint32
	budget uint16
	prefer uint8
	_      uint8
}

// How the polling of an epoll instance was set.
const (
	pollByInstance = "EPIOCSPARAMS"
	pollBySysctl   = "net.core.busy_poll"
)

// busyPoll makes the kernel poll the device while a thread waits in the instance, and notes how that was set. A
// kernel before 6.9 has only one setting for the whole machine, which only root can change; it is left as it is.
func (p *Poller) busyPoll() error {
	params := epollParams{usecs: uint32(busyPollTime / time.Microsecond), prefer: 1}
	errno := p.params(unix.EPIOCSPARAMS, &params)
	switch {
	case errno == 0:
		p.polls = pollByInstance
		return nil
	case errors.Is(errno, syscall.ENOTTY), errors.Is(errno, syscall.EINVAL), errors.Is(errno, syscall.EOPNOTSUPP):
		p.polls = pollBySysctl
		return nil
	}
	return fmt.Errorf("wait %s: the kernel refuses EPIOCSPARAMS: %w", wire.WaitEpoll, errno)
}

func (p *Poller) params(request uintptr, params *epollParams) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, p.fd, request, uintptr(unsafe.Pointer(params)))
	return errno
}

// facts adds how many microseconds the kernel polls, read back, and how that was set. It adds nothing if polling was
// not asked for.
func (p *Poller) facts(f map[string]string) {
	if p.polls == "" {
		return
	}
	f["epoll_busy_poll_by"] = p.polls
	f["epoll_busy_poll"] = "unknown"
	if p.polls == pollByInstance {
		var params epollParams
		if p.params(unix.EPIOCGPARAMS, &params) == 0 {
			f["epoll_busy_poll"] = strconv.FormatUint(uint64(params.usecs), 10)
			f["epoll_prefer_busy_poll"] = strconv.Itoa(int(params.prefer))
		}
		return
	}
	// Only the machine's own network namespace shows it.
	if b, err := os.ReadFile("/proc/sys/net/core/busy_poll"); err == nil {
		f["epoll_busy_poll"] = strings.TrimSpace(string(b))
	}
}

// waitInEpoll makes every read of the socket wait in an epoll instance of its own first.
func (s *Socket) waitInEpoll() error {
	p, err := NewPoller()
	if err != nil {
		return err
	}
	if err := errors.Join(p.busyPoll(), p.watch(s, 0)); err != nil {
		p.Close()
		return err
	}
	s.poller, s.own = p, true
	if s.limit == 0 {
		s.limit = -1
	}
	return nil
}

// await waits until there is something to read. False, with errno set, if it failed. If reads have a time limit, also
// false after that limit or a signal.
//
//go:nosplit
func (s *Socket) await() bool {
	for {
		n := s.poller.Wait(s.limit)
		if n > 0 {
			return true
		}
		if n < 0 {
			s.errno = s.poller.errno
			return false
		}
		if s.timed {
			s.errno = syscall.EAGAIN
			return false
		}
	}
}
