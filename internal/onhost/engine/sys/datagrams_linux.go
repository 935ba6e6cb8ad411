//go:build !portable

package sys

import (
	"fmt"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/engine/wire"
)

// The kernel cuts at most this many datagrams from a large one (UDP_MAX_SEGMENTS, 64 in every version that has it).
// The large datagram has a limit too.
const (
	maxSegments  = 64
	maxSegmented = 65535 - 40 - 8
)

// A DatagramOut sends a batch of datagrams with one sendmmsg. If the kernel can cut datagrams from a large one, each
// entry of the call holds as many as possible.
type DatagramOut struct {
	socket  *Socket
	entries []unix.Mmsghdr
	vectors []unix.Iovec
	message int
	// each is how many messages one entry holds.
	each int
}

// NewDatagramOut prepares to send the messages in the buffer.
func NewDatagramOut(s *Socket, buffer []byte, p wire.Params) (*DatagramOut, error) {
	o := &DatagramOut{socket: s, message: p.Message, each: 1}
	batch := p.BatchOrDefault()
	if batch > 1 && !p.Unsegmented {
		mtu, headers, err := s.pathMTU()
		if err != nil {
			return nil, fmt.Errorf("reading the path's MTU: %w", err)
		}
		// A message that needs fragments cannot be cut from a large datagram, and an old kernel has no segmentation.
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

// Send sends the first n messages and returns how many the kernel took. The caller sends the others again.
//
//go:nosplit
func (o *DatagramOut) Send(n int) int {
	entries := 0
	for left := n; left > 0; left -= o.each {
		o.vectors[entries].Len = uint64(min(left, o.each) * o.message)
		entries++
	}
	sent, _, errno := syscall.RawSyscall6(unix.SYS_SENDMMSG, o.socket.fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(o.entries))), uintptr(entries),
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

// Facts says how batches are sent.
func (o *DatagramOut) Facts() map[string]string {
	return map[string]string{"batching": "sendmmsg", "udp_segments": strconv.Itoa(o.each)}
}

// How many entries one call receives: fewer if an entry can be a large datagram that holds many messages.
const (
	plainEntries     = 64
	coalescedEntries = 16
	coalescedSize    = 64 << 10
)

// A DatagramIn receives with recvmmsg: it waits for one datagram, and takes what else is there. If the kernel can, it
// leaves datagrams of one flow together (UDP_GRO).
type DatagramIn struct {
	socket    *Socket
	message   int
	coalesces bool
	flags     uintptr
	size      int
	buffers   []byte
	entries   []unix.Mmsghdr
	vectors   []unix.Iovec
	controls  []segmentControl
}

// segmentControl is the control message with the size of the datagrams in an entry.
type segmentControl struct {
	header unix.Cmsghdr
	size   int32
	_      int32
}

// NewDatagramIn prepares to receive messages on a connected socket.
func NewDatagramIn(s *Socket, p wire.Params) DatagramIn {
	d := DatagramIn{socket: s, message: p.Message, size: p.Message + 1, flags: unix.MSG_WAITFORONE | s.flags}
	n := plainEntries
	if p.BatchOrDefault() > 1 && !p.Unsegmented && unix.SetsockoptInt(int(s.fd), unix.SOL_UDP, unix.UDP_GRO, 1) == nil {
		d.coalesces, d.size, n = true, coalescedSize, coalescedEntries
	}
	n = max(min(n, wire.MaxMessage/d.size), 1)
	d.buffers = NewBuffer(n * d.size)
	d.entries, d.vectors, d.controls = make([]unix.Mmsghdr, n), make([]unix.Iovec, n), make([]segmentControl, n)
	for i := range d.entries {
		d.vectors[i].Base = &d.buffers[i*d.size]
		d.vectors[i].SetLen(d.size)
		h := &d.entries[i].Hdr
		h.Iov = &d.vectors[i]
		h.SetIovlen(1)
		if d.coalesces {
			h.Control = (*byte)(unsafe.Pointer(&d.controls[i]))
			d.empty(i)
		}
	}
	return d
}

// empty prepares the control message of an entry for receiving.
//
//go:nosplit
func (d *DatagramIn) empty(i int) {
	d.entries[i].Hdr.SetControllen(int(unsafe.Sizeof(segmentControl{})))
	d.controls[i].header.Type = 0
}

// Receive gives the number of entries that were filled, or less than 0 if it failed.
//
//go:nosplit
func (d *DatagramIn) Receive() int {
	if d.socket.own && !d.socket.await() {
		return -1
	}
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVMMSG, d.socket.fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(d.entries))), uintptr(len(d.entries)),
		d.flags, 0, 0)
	if errno != 0 {
		d.socket.errno = errno
		return -1
	}
	return int(n)
}

// Datagrams gives the content of an entry: whole messages, each of which was sent as a datagram; or nil. Call it once
// for each entry, because it prepares the entry for receiving again.
//
//go:nosplit
func (d *DatagramIn) Datagrams(i int) []byte {
	e := &d.entries[i]
	n := int(e.Len)
	cut := n
	if d.coalesces {
		c := &d.controls[i]
		if c.header.Level == unix.SOL_UDP && c.header.Type == unix.UDP_GRO {
			cut = int(c.size)
		}
		d.empty(i)
	}
	if cut != d.message || n%d.message != 0 || e.Hdr.Flags&unix.MSG_TRUNC != 0 {
		return nil
	}
	return d.buffers[i*d.size:][:n]
}

// Facts says how batches are received, and how many packets the kernel dropped at the socket. A large datagram is one
// packet.
func (d *DatagramIn) Facts() map[string]string {
	f := map[string]string{"batching": "recvmmsg", "udp_gro": strconv.FormatBool(d.coalesces)}
	if n, known := d.socket.drops(); known {
		f["socket_drops"] = strconv.FormatUint(uint64(n), 10)
	}
	return f
}
