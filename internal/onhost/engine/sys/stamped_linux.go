//go:build !portable

package sys

import (
	"encoding/binary"
	"fmt"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stampFlags ask the kernel for software timestamps of every message that is sent and received. It reports those of
// sending on the error queue, with the number of the message (OPT_ID) in place of the message (OPT_TSONLY).
// hardwareFlags also ask for the timestamps of the NIC, each in a report of its own (OPT_TX_SWHW).
const (
	stampFlags = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE |
		unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_TSONLY
	hardwareFlags = unix.SOF_TIMESTAMPING_TX_HARDWARE | unix.SOF_TIMESTAMPING_RX_HARDWARE |
		unix.SOF_TIMESTAMPING_RAW_HARDWARE | unix.SOF_TIMESTAMPING_OPT_TX_SWHW
)

// controlSize is enough for the control messages of one read: two messages of less than 128 bytes together.
const controlSize = 256

// mostReports limits how many reports of the error queue are read after one transaction.
const mostReports = 16

// A StampedSocket reads from a socket together with the kernel's timestamps. It must not be copied, because the
// kernel gets pointers into it.
type StampedSocket struct {
	Socket *Socket
	// On says whether the kernel takes timestamps for the socket.
	On bool
	// Rx is when the last message arrived, in nanoseconds of real time; 0 if the kernel does not say.
	Rx int64
	// RxHardware is the same on the NIC's clock.
	RxHardware int64
	// NIC is what the device supports. Its hardware timestamps are used if they are turned on already.
	NIC nicStamps
	// Sent counts the messages since the timestamps were turned on. unit is how much each of them adds to the kernel's
	// number: 1 for a datagram, the bytes of a message over TCP.
	Sent, unit uint32

	header  unix.Msghdr
	vector  unix.Iovec
	control [controlSize]byte
}

// NewStampedSocket prepares a socket. The timestamps are off. unit is the size of a message over TCP, or 1.
func NewStampedSocket(s *Socket, unit int) (*StampedSocket, error) {
	stamped := &StampedSocket{Socket: s, unit: uint32(unit)}
	stamped.NIC = stamped.readNIC()
	return stamped, nil
}

// Turn switches the timestamps on or off, and begins to number messages again. Over TCP, everything that was sent
// must have been acknowledged: older kernels number from there. When they are off, the kernel still takes the times
// of arrival without reporting them: it turns them off for the whole machine, by changing its own code, at a time of
// its choice.
func (s *StampedSocket) Turn(on bool) error {
	flags := unix.SOF_TIMESTAMPING_RX_SOFTWARE
	if on {
		flags = stampFlags
		if s.NIC.on() {
			flags |= hardwareFlags
		}
	}
	if err := unix.SetsockoptInt(int(s.Socket.fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags); err != nil {
		return fmt.Errorf("kernel timestamps: setsockopt SO_TIMESTAMPING: %w", err)
	}
	for s.receive(nil, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT) >= 0 {
		continue // what is left of before
	}
	s.On, s.Sent = on, 0
	return nil
}

// LastID is the kernel's number of the message that was sent last.
//
//go:nosplit
func (s *StampedSocket) LastID() uint32 { return s.Sent*s.unit - 1 }

// Read is Socket.Read with the time of arrival.
//
//go:nosplit
func (s *StampedSocket) Read(b []byte) int {
	s.Rx, s.RxHardware = 0, 0
	if !s.On {
		return s.Socket.Read(b)
	}
	for {
		n := s.receive(b, s.Socket.flags)
		if n >= 0 {
			r := decodeControl(s.control[:min(int(s.header.Controllen), controlSize)])
			s.Rx, s.RxHardware = r.software, r.hardware
			return n
		}
		if s.Socket.timed || s.Socket.errno != syscall.EINTR && (s.Socket.errno != syscall.EAGAIN ||
			s.Socket.flags == 0) {
			return n
		}
	}
}

// Transmits reads the error queue until it finds when the current message left, or the queue is empty. It also notes
// reports about the previous message.
//
//go:nosplit
func (s *StampedSocket) Transmits(current, previous *Stamps) {
	errno := s.Socket.errno
	for range mostReports {
		if s.receive(nil, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT) < 0 {
			break
		}
		r := decodeControl(s.control[:min(int(s.header.Controllen), controlSize)])
		if r.stamp(current, previous) && current.Tx != 0 && (current.TxHardware != 0 || !s.NIC.on()) {
			break
		}
	}
	s.Socket.errno = errno
}

// receive calls recvmsg. The control messages are in control.
//
//go:nosplit
func (s *StampedSocket) receive(b []byte, flags uintptr) int {
	s.vector.Base = unsafe.SliceData(b)
	s.vector.SetLen(len(b))
	s.header.Iov = &s.vector
	s.header.Iovlen = 1
	s.header.Control = &s.control[0]
	s.header.Controllen = controlSize
	n, _, errno := syscall.RawSyscall(syscall.SYS_RECVMSG, s.Socket.fd, uintptr(unsafe.Pointer(&s.header)), flags)
	if errno != 0 {
		s.Socket.errno = errno
		return -1
	}
	return int(n)
}

// A controlReport is the content of the control messages of one read.
type controlReport struct {
	// software is in nanoseconds of real time, hardware on the NIC's clock; 0 if there is none.
	software, hardware int64
	// sent says that the timestamp is the time when the message with the number id left. Otherwise it is the time of an
	// arrival.
	sent bool
	id   uint32
}

// stamp notes when one of two messages left, and says whether the report is about one of them.
//
//go:nosplit
func (r *controlReport) stamp(current, previous *Stamps) bool {
	t := current
	switch {
	case !r.sent:
		return false
	case r.id == current.ID:
	case r.id == previous.ID:
		t = previous
	default:
		return false
	}
	// A report has one of the two timestamps, or both.
	if r.software != 0 && t.Tx == 0 {
		t.Tx = r.software
	}
	if r.hardware != 0 && t.TxHardware == 0 {
		t.TxHardware = r.hardware
	}
	return true
}

// The layout of control messages on 64-bit Linux (linux/socket.h, linux/errqueue.h).
const (
	controlHeader     = 16 // length (8), level (4), type (4)
	timestampLength   = 48 // three times seconds (8) and nanoseconds (8): software, unused, hardware
	extendedErrLength = 16
	originTimestamps  = 4 // SO_EE_ORIGIN_TIMESTAMPING
	kindSent          = 0 // SCM_TSTAMP_SND
)

// decodeControl reads SCM_TIMESTAMPING, and IP_RECVERR or IPV6_RECVERR on the error queue.
//
//go:nosplit
func decodeControl(b []byte) (r controlReport) {
	for len(b) >= controlHeader {
		length := binary.NativeEndian.Uint64(b[0:8])
		if length < controlHeader || length > uint64(len(b)) {
			return r
		}
		level, kind := binary.NativeEndian.Uint32(b[8:12]), binary.NativeEndian.Uint32(b[12:16])
		data := b[controlHeader:length]
		switch {
		case level == unix.SOL_SOCKET && kind == unix.SO_TIMESTAMPING && len(data) >= timestampLength:
			r.software, r.hardware = timestampOf(data[0:16]), timestampOf(data[32:48])
		case (level == unix.SOL_IP && kind == unix.IP_RECVERR || level == unix.SOL_IPV6 && kind == unix.IPV6_RECVERR) &&
			len(data) >= extendedErrLength:
			// errno (4), origin, type, code, padding, info (4), data (4)
			r.sent = data[4] == originTimestamps && binary.NativeEndian.Uint32(data[8:12]) == kindSent
			r.id = binary.NativeEndian.Uint32(data[12:16])
		}
		b = b[min((length+7)&^7, uint64(len(b))):]
	}
	return r
}

//go:nosplit
func timestampOf(b []byte) int64 {
	return int64(binary.NativeEndian.Uint64(b[0:8]))*1_000_000_000 + int64(binary.NativeEndian.Uint64(b[8:16]))
}

// interfaceName finds the interface with the socket's address; empty if there is none.
func (s *StampedSocket) interfaceName() string {
	own := s.Socket.address()
	interfaces, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(own.AsSlice()) {
				return i.Name
			}
		}
	}
	return ""
}
