//go:build !portable

package sys

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stampFlags ask for the software timestamps of every message that is sent and received. Those of sending come on the
// error queue without the message (OPT_TSONLY), numbered (OPT_ID). hardwareFlags ask for those of the NIC beside them, each
// in a report of its own (OPT_TX_SWHW).
const (
	stampFlags = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE |
		unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_TSONLY
	hardwareFlags = unix.SOF_TIMESTAMPING_TX_HARDWARE | unix.SOF_TIMESTAMPING_RX_HARDWARE | unix.SOF_TIMESTAMPING_RAW_HARDWARE |
		unix.SOF_TIMESTAMPING_OPT_TX_SWHW
)

// controlSize is enough for the control messages of one reading: two, of less than 128 bytes together.
const controlSize = 256

// mostReports bounds how much of the error queue is read after one transaction.
const mostReports = 16

// A StampedSocket reads a socket together with the kernel's timestamps. It must not be copied: the kernel is given
// pointers into it.
type StampedSocket struct {
	Socket *Socket
	// on says whether the kernel takes timestamps for the socket.
	On bool
	// rx is when the last message read arrived, in nanoseconds of real time; 0 where the kernel does not say.
	Rx int64
	// rxHardware is the same on the NIC's clock.
	RxHardware int64
	// nic is what the device has to give. Where it stamps in hardware already, those stamps are asked for.
	NIC nicStamps
	// sent counts the messages since the timestamps were turned on; unit is how much each adds to the kernel's number:
	// 1 for a datagram, the bytes of a message over TCP.
	Sent, unit uint32

	header  unix.Msghdr
	vector  unix.Iovec
	control [controlSize]byte
}

// NewStampedSocket prepares a socket; the timestamps are off. unit is the size of a message over TCP, or 1.
func NewStampedSocket(s *Socket, unit int) (*StampedSocket, error) {
	stamped := &StampedSocket{Socket: s, unit: uint32(unit)}
	stamped.NIC = stamped.readNIC()
	return stamped, nil
}

// Turn switches the timestamps on or off, and begins to number messages anew. Over TCP all that was sent must have been
// acknowledged: older kernels number from there. Off, the kernel goes on to note arrivals and does not say them: it does so
// for the whole machine, by changing its own code, and at a time of its choosing.
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

// LastID is the kernel's number of the message sent last.
//
//go:nosplit
func (s *StampedSocket) LastID() uint32 { return s.Sent*s.unit - 1 }

// Read is socket.read with the time of arrival.
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
		if s.Socket.timed || s.Socket.errno != syscall.EINTR && (s.Socket.errno != syscall.EAGAIN || s.Socket.flags == 0) {
			return n
		}
	}
}

// Transmits reads the error queue until it has the time when the current message left, or nothing is there yet. What comes
// of the previous one on the way is noted too.
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

// receive is recvmsg; the control messages are in control.
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

// A controlReport is what the control messages of one reading say.
type controlReport struct {
	// software and hardware are timestamps in nanoseconds, 0 where there is none: of real time, and of the NIC's clock.
	software, hardware int64
	// sent says that the timestamp is of when the message with the number id left; it is of an arrival otherwise.
	sent bool
	id   uint32
}

// stamp notes when one of two transactions' messages left, and says whether it was one of theirs.
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
	// A report has one of the two, or both.
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

// decodeControl reads SCM_TIMESTAMPING, and on the error queue IP_RECVERR or IPV6_RECVERR beside it.
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
		case (level == unix.SOL_IP && kind == unix.IP_RECVERR || level == unix.SOL_IPV6 && kind == unix.IPV6_RECVERR) && len(data) >= extendedErrLength:
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

// interfaceName finds the interface that has the socket's address; empty where none has.
func (s *StampedSocket) interfaceName() string {
	var own netip.Addr
	address, err := unix.Getsockname(int(s.Socket.fd))
	if err != nil {
		return ""
	}
	switch a := address.(type) {
	case *unix.SockaddrInet4:
		own = netip.AddrFrom4(a.Addr)
	case *unix.SockaddrInet6:
		own = netip.AddrFrom16(a.Addr).Unmap()
	}
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
