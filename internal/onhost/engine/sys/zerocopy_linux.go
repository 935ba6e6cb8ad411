//go:build !portable

package sys

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// drainEvery is after how many sends the notifications are read from the error queue. Reading also frees the memory
// that the kernel keeps for them.
const drainEvery = 16

// A ZeroCopy sends with MSG_ZEROCOPY and reads the kernel's notifications of completion
// (Documentation/networking/msg_zerocopy.rst). The sent data never changes, so no send waits for a free buffer.
type ZeroCopy struct {
	socket *Socket
	since  int
	// Each of the sends has a notification. completed is how many have come, copied how many sends the kernel copied
	// anyway. Only the hot thread writes them.
	sends, completed, copied atomic.Int64

	header  unix.Msghdr
	control [128]byte
	poll    unix.PollFd
	brief   unix.Timespec
}

// NewZeroCopy prepares a connected socket.
func NewZeroCopy(s *Socket) (*ZeroCopy, error) {
	if err := s.allowZeroCopy(); err != nil {
		return nil, err
	}
	z := &ZeroCopy{socket: s, poll: unix.PollFd{Fd: int32(s.fd)}, brief: unix.Timespec{Nsec: 100e6}}
	z.header.Control = &z.control[0]
	return z, nil
}

// Counts are how many sends were made, how many of them have been notified, and how many of those were copied.
func (z *ZeroCopy) Counts() (sends, completed, copied int64) {
	return z.sends.Load(), z.completed.Load(), z.copied.Load()
}

// Send returns the number of bytes that the kernel took, or less than 0 if the connection failed.
//
//go:nosplit
func (z *ZeroCopy) Send(b []byte) int {
	if z.since++; z.since >= drainEvery {
		z.drain()
	}
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, z.socket.fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
			syscall.MSG_NOSIGNAL|unix.MSG_ZEROCOPY, 0, 0)
		switch errno {
		case 0:
			z.sends.Store(z.sends.Load() + 1)
			return int(n)
		case syscall.EINTR:
		case syscall.ENOBUFS: // too many notifications are due (net.core.optmem_max): wait for some
			if !z.wait() {
				z.socket.errno = errno
				return -1
			}
		default:
			z.socket.errno = errno
			return -1
		}
	}
}

// wait waits for notifications and reads them. False if the connection has ended.
//
//go:nosplit
func (z *ZeroCopy) wait() bool {
	z.poll.Revents = 0
	brief := z.brief // the kernel writes the time left into it
	_, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&z.poll)), 1,
		uintptr(unsafe.Pointer(&brief)), 0, 0, 0)
	if errno != 0 && errno != syscall.EINTR {
		return false
	}
	return z.drain() || z.poll.Revents&unix.POLLHUP == 0
}

// drain reads the error queue, and says whether there was anything.
//
//go:nosplit
func (z *ZeroCopy) drain() (any bool) {
	z.since = 0
	for {
		z.header.SetControllen(len(z.control))
		_, _, errno := syscall.RawSyscall(syscall.SYS_RECVMSG, z.socket.fd, uintptr(unsafe.Pointer(&z.header)),
			unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if errno != 0 {
			return any
		}
		any = true
		z.take()
	}
}

// take reads one notification: the sends numbered from Info to Data are complete.
//
//go:nosplit
func (z *ZeroCopy) take() {
	if int(z.header.Controllen) < unix.SizeofCmsghdr+int(unsafe.Sizeof(unix.SockExtendedErr{})) {
		return
	}
	e := (*unix.SockExtendedErr)(unsafe.Pointer(&z.control[unix.SizeofCmsghdr]))
	if e.Origin != unix.SO_EE_ORIGIN_ZEROCOPY || e.Errno != 0 {
		return
	}
	n := int64(e.Data-e.Info) + 1
	z.completed.Store(z.completed.Load() + n)
	if e.Code&unix.SO_EE_CODE_ZEROCOPY_COPIED != 0 {
		z.copied.Store(z.copied.Load() + n)
	}
}

// Finish reads the remaining notifications, as long as more of them come.
func (z *ZeroCopy) Finish() {
	for range 20 {
		if z.completed.Load() >= z.sends.Load() || !z.wait() {
			return
		}
	}
}
