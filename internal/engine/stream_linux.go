//go:build !portable

package engine

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where there are more connections than CPUs, a thread each would spend its time in giving way to the next: then each thread
// serves several, and waits only when none of them can go on.

// wouldBlock is what readNow and writeNow return where read and write would wait.
const wouldBlock = -2

// streamThreads divides n connections among at most as many threads as this process may use CPUs; it gives the first
// connection of each, and n at the end.
func streamThreads(n int) (bounds []int) {
	threads := n
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err == nil {
		threads = min(n, max(set.Count(), 1))
	}
	for i := range threads + 1 {
		bounds = append(bounds, i*n/max(threads, 1))
	}
	return bounds
}

// readNow is read, but does not wait.
//
//go:nosplit
func (s *socket) readNow(b []byte) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return s.now(n, errno)
}

// writeNow is write, but does not wait.
//
//go:nosplit
func (s *socket) writeNow(b []byte) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		syscall.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	return s.now(n, errno)
}

//go:nosplit
func (s *socket) now(n uintptr, errno syscall.Errno) int {
	switch errno {
	case 0:
		return int(n)
	case syscall.EAGAIN, syscall.EINTR:
		return wouldBlock
	}
	s.errno = errno
	return -1
}

// A watch waits until one of several sockets can go on.
type watch []unix.PollFd

//go:nosplit
func (w watch) wait() {
	// An error is a signal or a lack of memory: the caller tries its sockets again in any case.
	_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(w))), uintptr(len(w)), 0, 0, 0, 0)
}

// senderGroup sends on several connections in turn.
type senderGroup struct {
	senders []*streamSender
	watch   watch
}

func newSenderGroup(senders []*streamSender) *senderGroup {
	g := &senderGroup{senders: senders}
	for _, s := range senders {
		g.watch = append(g.watch, unix.PollFd{Fd: int32(s.socket.fd), Events: unix.POLLOUT})
	}
	return g
}

// run is the hot loop. It ends when the first of its connections is stopped or fails: all are stopped together.
//
//go:nosplit
func (g *senderGroup) run() {
	for {
		waits := true
		for _, s := range g.senders {
			if s.stopped.Load() {
				return
			}
			switch n := s.socket.writeNow(s.message); {
			case n >= 0:
				waits = false
			case n != wouldBlock:
				s.failed = !s.stopped.Load()
				return
			}
		}
		if waits {
			g.watch.wait()
		}
	}
}

// receiverGroup receives on several connections in turn, into one buffer: that stays in the thread's caches.
type receiverGroup struct {
	receivers []*streamReceiver
	buffer    []byte
	watch     watch
}

func newReceiverGroup(receivers []*streamReceiver) *receiverGroup {
	g := &receiverGroup{receivers: receivers, buffer: newBuffer(receiveBuffer)}
	for _, r := range receivers {
		g.watch = append(g.watch, unix.PollFd{Fd: int32(r.socket.fd), Events: unix.POLLIN})
	}
	return g
}

// run is the hot loop. It ends when all of its connections have.
//
//go:nosplit
func (g *receiverGroup) run() {
	for left := len(g.receivers); left > 0; {
		waits := true
		for i, r := range g.receivers {
			if g.watch[i].Fd < 0 {
				continue
			}
			n := r.socket.readNow(g.buffer)
			if n == wouldBlock {
				continue
			}
			waits = false
			if !r.took(n) {
				g.watch[i].Fd = -1
				left--
			}
		}
		if waits {
			g.watch.wait()
		}
	}
}

// run starts the hot threads.
func (f flows) run() (threads []<-chan struct{}) {
	bounds := streamThreads(len(f.receivers))
	for i, first := range bounds[:len(bounds)-1] {
		some := f.receivers[first:bounds[i+1]]
		if len(some) == 1 {
			threads = append(threads, onThread(some[0].socket, some[0].run))
		} else {
			threads = append(threads, onThread(nil, newReceiverGroup(some).run))
		}
	}
	bounds = streamThreads(len(f.senders))
	for i, first := range bounds[:len(bounds)-1] {
		some := f.senders[first:bounds[i+1]]
		switch {
		case len(some) == 1:
			threads = append(threads, onThread(some[0].socket, some[0].run))
		case some[0].zero != nil: // each waits for its own notifications
			for _, s := range some {
				threads = append(threads, onThread(s.socket, s.run))
			}
		default:
			threads = append(threads, onThread(nil, newSenderGroup(some).run))
		}
	}
	return threads
}
