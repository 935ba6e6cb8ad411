//go:build !portable

package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// WouldBlock is what ReadNow and WriteNow return if Read and Write would wait.
const WouldBlock = -2

// ReadNow is Read, but does not wait.
//
//go:nosplit
func (s *Socket) ReadNow(b []byte) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return s.now(n, errno)
}

// WriteNow is Write, but does not wait.
//
//go:nosplit
func (s *Socket) WriteNow(b []byte) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)),
		syscall.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	return s.now(n, errno)
}

//go:nosplit
func (s *Socket) now(n uintptr, errno syscall.Errno) int {
	switch errno {
	case 0:
		return int(n)
	case syscall.EAGAIN, syscall.EINTR:
		return WouldBlock
	}
	s.errno = errno
	return -1
}

// A Watch waits until one of several sockets can continue.
type Watch []unix.PollFd

// AddSender watches a socket for room to send.
func (w *Watch) AddSender(s *Socket) { w.add(s, unix.POLLOUT) }

// AddReceiver watches a socket for data to receive.
func (w *Watch) AddReceiver(s *Socket) { w.add(s, unix.POLLIN) }

func (w *Watch) add(s *Socket, events int16) {
	*w = append(*w, unix.PollFd{Fd: int32(s.fd), Events: events})
}

// Drop ends the watching of the i-th socket that was added.
//
//go:nosplit
func (w Watch) Drop(i int) { w[i].Fd = -1 }

// Dropped says whether the i-th socket was dropped.
//
//go:nosplit
func (w Watch) Dropped(i int) bool { return w[i].Fd < 0 }

// Wait returns when one of the sockets can continue. It can also return without a reason.
//
//go:nosplit
func (w Watch) Wait() {
	// An error is a signal or a lack of memory. The caller tries its sockets again in any case.
	_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(w))), uintptr(len(w)), 0, 0,
		0, 0)
}
