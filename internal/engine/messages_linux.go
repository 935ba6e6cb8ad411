//go:build !portable

package engine

import (
	"fmt"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel cuts at most so many datagrams from a large one (UDP_MAX_SEGMENTS, 64 in every version that has it), which
// is itself bounded.
const (
	maxSegments  = 64
	maxSegmented = 65535 - 40 - 8
)

// sleepUntil sleeps until the clock of nanotime shows the given time.
//
//go:nosplit
func sleepUntil(at int64) {
	ts := unix.NsecToTimespec(at)
	// A signal ends it early, and the caller looks at the clock.
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// A datagramOut sends a batch of datagrams with one sendmmsg. Where the kernel can cut datagrams from a large one, each
// entry of the call holds as many as it may.
type datagramOut struct {
	socket  *socket
	entries []unix.Mmsghdr
	vectors []unix.Iovec
	message int
	// each is how many messages one entry holds.
	each int
}

// newDatagramOut prepares to send the messages that lie in the buffer.
func newDatagramOut(s *socket, buffer []byte, p Params) (*datagramOut, error) {
	o := &datagramOut{socket: s, message: p.Message, each: 1}
	batch := p.batch()
	if batch > 1 && !p.Unsegmented {
		mtu, headers, err := s.pathMTU()
		if err != nil {
			return nil, fmt.Errorf("reading the path's MTU: %w", err)
		}
		// A message that needs fragments cannot be cut out; and an old kernel has no segmentation.
		if p.Message+headers <= mtu && unix.SetsockoptInt(int(s.fd), unix.SOL_UDP, unix.UDP_SEGMENT, p.Message) == nil {
			o.each = max(min(maxSegments, maxSegmented/p.Message, batch), 1)
		}
	}
	n := (batch + o.each - 1) / o.each
	o.entries, o.vectors = make([]unix.Mmsghdr, n), make([]unix.Iovec, n)
	for i := range o.entries {
		o.vectors[i].Base = &buffer[i*o.each*p.Message]
		o.entries[i].Hdr.Iov = &o.vectors[i]
		o.entries[i].Hdr.SetIovlen(1)
	}
	return o, nil
}

// send sends the first n messages. Those that the kernel has no room for are not taken; they are sent again.
//
//go:nosplit
func (o *datagramOut) send(n int) int {
	entries := 0
	for left := n; left > 0; left -= o.each {
		o.vectors[entries].Len = uint64(min(left, o.each) * o.message)
		entries++
	}
	sent, _, errno := syscall.RawSyscall6(unix.SYS_SENDMMSG, o.socket.fd, uintptr(unsafe.Pointer(unsafe.SliceData(o.entries))), uintptr(entries),
		syscall.MSG_NOSIGNAL, 0, 0)
	switch errno {
	case 0:
		return min(int(sent)*o.each, n)
	case syscall.EINTR, syscall.ENOBUFS, syscall.EAGAIN:
		return 0
	}
	o.socket.errno = errno
	return -1
}

func (o *datagramOut) facts() map[string]string {
	return map[string]string{"batching": "sendmmsg", "udp_segments": strconv.Itoa(o.each)}
}

// The receiver's calls take so many entries at once: fewer where an entry can be a large datagram that holds many.
const (
	plainEntries     = 64
	coalescedEntries = 16
	coalescedSize    = 64 << 10
)

// A datagramIn receives with recvmmsg: it waits for one datagram, and takes along what else is there. Where the kernel
// can, it leaves datagrams of one flow together (UDP_GRO).
type datagramIn struct {
	socket    *socket
	message   int
	coalesces bool
	flags     uintptr
	size      int
	buffers   []byte
	entries   []unix.Mmsghdr
	vectors   []unix.Iovec
	controls  []segmentControl
}

// segmentControl is the control message in which the kernel says how large the datagrams of an entry are.
type segmentControl struct {
	header unix.Cmsghdr
	size   int32
	_      int32
}

func newDatagramIn(s *socket, p Params) datagramIn {
	d := datagramIn{socket: s, message: p.Message, size: p.Message + 1, flags: unix.MSG_WAITFORONE | s.flags}
	n := plainEntries
	if p.batch() > 1 && !p.Unsegmented && unix.SetsockoptInt(int(s.fd), unix.SOL_UDP, unix.UDP_GRO, 1) == nil {
		d.coalesces, d.size, n = true, coalescedSize, coalescedEntries
	}
	n = max(min(n, maxMessage/d.size), 1)
	d.buffers = newBuffer(n * d.size)
	d.entries, d.vectors, d.controls = make([]unix.Mmsghdr, n), make([]unix.Iovec, n), make([]segmentControl, n)
	for i := range d.entries {
		d.vectors[i].Base = &d.buffers[i*d.size]
		d.vectors[i].SetLen(d.size)
		h := &d.entries[i].Hdr
		h.Iov = &d.vectors[i]
		h.SetIovlen(1)
		if d.coalesces {
			h.Control = (*byte)(unsafe.Pointer(&d.controls[i]))
		}
	}
	d.clear(n)
	return d
}

// clear makes the first n entries ready to be filled.
//
//go:nosplit
func (d *datagramIn) clear(n int) {
	if !d.coalesces {
		return
	}
	for i := range n {
		d.entries[i].Hdr.SetControllen(int(unsafe.Sizeof(segmentControl{})))
		d.controls[i].header.Type = 0
	}
}

// receive gives the number of entries that were filled, or less than 0 when it failed.
//
//go:nosplit
func (d *datagramIn) receive() int {
	if d.socket.own && !d.socket.await() {
		return -1
	}
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVMMSG, d.socket.fd, uintptr(unsafe.Pointer(unsafe.SliceData(d.entries))), uintptr(len(d.entries)),
		d.flags, 0, 0)
	if errno != 0 {
		d.socket.errno = errno
		return -1
	}
	return int(n)
}

// datagrams gives what came in an entry: whole messages, each a datagram on the way; or nil. It makes the entry ready
// again, so it can be asked once.
//
//go:nosplit
func (d *datagramIn) datagrams(i int) []byte {
	e := &d.entries[i]
	n := int(e.Len)
	cut := n
	if d.coalesces {
		c := &d.controls[i]
		if c.header.Level == unix.SOL_UDP && c.header.Type == unix.UDP_GRO {
			cut = int(c.size)
		}
		e.Hdr.SetControllen(int(unsafe.Sizeof(segmentControl{})))
		c.header.Type = 0
	}
	if cut != d.message || n%d.message != 0 || e.Hdr.Flags&unix.MSG_TRUNC != 0 {
		return nil
	}
	return d.buffers[i*d.size:][:n]
}

func (d *datagramIn) facts() map[string]string {
	return map[string]string{"batching": "recvmmsg", "udp_gro": strconv.FormatBool(d.coalesces)}
}
