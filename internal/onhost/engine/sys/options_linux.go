//go:build !portable

package sys

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/engine/wire"
)

// busyPollTime is how long the kernel polls before it sleeps. It is longer than a round trip within a site.
const busyPollTime = 200 * time.Microsecond

// A sockopt is one call of setsockopt, prepared so that the hot loop of crr can make it.
type sockopt struct {
	name          string
	level, option uintptr
	data          [16]byte
	length        uintptr
}

func intOption(name string, level, option, value int) sockopt {
	o := sockopt{name: name, level: uintptr(level), option: uintptr(option), length: 4}
	binary.NativeEndian.PutUint32(o.data[:], uint32(value))
	return o
}

// set calls setsockopt.
//
//go:nosplit
func (o *sockopt) set(fd uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_SETSOCKOPT, fd, o.level, o.option, uintptr(unsafe.Pointer(&o.data)),
		o.length, 0)
	return errno
}

// sockopts are the calls for a data socket of the family (AF_INET, AF_INET6).
func sockopts(p wire.Params, family int) (list []sockopt) {
	if p.SendBuffer > 0 {
		list = append(list, intOption("SO_SNDBUF", unix.SOL_SOCKET, unix.SO_SNDBUF, p.SendBuffer))
	}
	if p.ReceiveBuffer > 0 {
		list = append(list, intOption("SO_RCVBUF", unix.SOL_SOCKET, unix.SO_RCVBUF, p.ReceiveBuffer))
	}
	if p.DSCP > 0 {
		level, option := dscpOption(family)
		list = append(list, intOption("DSCP", level, option, p.DSCP<<2))
	}
	if p.WaitOrDefault() == wire.WaitBusyPoll {
		list = append(list, intOption("SO_PREFER_BUSY_POLL", unix.SOL_SOCKET, unix.SO_PREFER_BUSY_POLL, 1),
			intOption("SO_BUSY_POLL", unix.SOL_SOCKET, unix.SO_BUSY_POLL, int(busyPollTime/time.Microsecond)))
	}
	if p.Protocol != wire.TCP {
		return list
	}
	if p.Congestion != "" {
		o := sockopt{name: "TCP_CONGESTION", level: unix.IPPROTO_TCP, option: unix.TCP_CONGESTION,
			length: uintptr(len(p.Congestion))}
		copy(o.data[:], p.Congestion)
		list = append(list, o)
	}
	nodelay := 1
	if p.Nagle {
		nodelay = 0
	}
	return append(list, intOption("TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, nodelay))
}

// dscpOption is the socket option with the DSCP in its upper six bits.
func dscpOption(family int) (level, option int) {
	if family == unix.AF_INET6 {
		return unix.IPPROTO_IPV6, unix.IPV6_TCLASS
	}
	return unix.IPPROTO_IP, unix.IP_TOS
}

// Supported tries the options on a new socket, so that an option that the kernel refuses is reported before anything
// is measured. It returns the facts of that socket, which are also those of the connections of crr.
func Supported(p wire.Params, address netip.Addr) (map[string]string, error) {
	kind, family := unix.SOCK_STREAM, unix.AF_INET
	if p.Protocol == wire.UDP {
		kind = unix.SOCK_DGRAM
	}
	if !address.Unmap().Is4() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	s := &Socket{fd: uintptr(fd)}
	defer s.Close()
	if err := s.Prepare(p); err != nil {
		return nil, err
	}
	if p.ZeroCopy {
		if err := s.allowZeroCopy(); err != nil {
			return nil, err
		}
	}
	return s.Facts(), nil
}

// Controlled applies the options to a socket of the net package before it connects or listens, because the size of
// the receive buffer determines the window that is announced then.
func Controlled(p wire.Params) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		if !p.KernelOptions() {
			return nil
		}
		var failed error
		if err := c.Control(func(fd uintptr) { failed = apply(p, fd) }); err != nil {
			return err
		}
		return failed
	}
}

// Prepare applies the options and the way of waiting to the socket.
func (s *Socket) Prepare(p wire.Params) error {
	if err := apply(p, s.fd); err != nil {
		return err
	}
	s.waiting = p.WaitOrDefault()
	if s.waiting != wire.WaitSpin && s.waiting != wire.WaitEpoll {
		return nil
	}
	s.flags = unix.MSG_DONTWAIT
	// A loop over datagrams checks for its end itself, so that a lost datagram does not block it.
	s.timed = s.timed || p.Protocol == wire.UDP
	if s.waiting == wire.WaitEpoll && p.Mode != wire.ModeLoad { // whose sockets are all in one instance
		return s.waitInEpoll()
	}
	return nil
}

// apply sets the options, and reads back those that a kernel may change silently.
func apply(p wire.Params, fd uintptr) error {
	family, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return os.NewSyscallError("getsockopt SO_DOMAIN", err)
	}
	list := sockopts(p, family)
	for i := range list {
		if errno := list[i].set(fd); errno != 0 {
			return refusal(p, list[i].name, errno)
		}
	}
	for _, b := range []struct {
		name                 string
		want, option, forced int
		limit                string
	}{
		{"send buffer", p.SendBuffer, unix.SO_SNDBUF, unix.SO_SNDBUFFORCE, "net.core.wmem_max"},
		{"receive buffer", p.ReceiveBuffer, unix.SO_RCVBUF, unix.SO_RCVBUFFORCE, "net.core.rmem_max"},
	} {
		if b.want == 0 {
			continue
		}
		got, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, b.option)
		if err == nil && got < 2*b.want { // cut at the limit; who may, goes beyond it
			if err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, b.forced, b.want); err == nil {
				got, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, b.option)
			}
		}
		if err != nil || got < 2*b.want {
			return fmt.Errorf("%s of %d bytes: the kernel gives no more than %d; raise %s, or ask for less", b.name,
				b.want, got/2, b.limit)
		}
	}
	if p.DSCP > 0 {
		level, option := dscpOption(family)
		got, err := unix.GetsockoptInt(int(fd), level, option)
		if err != nil {
			return fmt.Errorf("DSCP %d: reading it back: %w", p.DSCP, err)
		}
		if got>>2 != p.DSCP {
			return fmt.Errorf("DSCP %d: the kernel took it as %d", p.DSCP, got>>2)
		}
	}
	return nil
}

// refusal says which option the kernel refused, and why.
func refusal(p wire.Params, name string, errno syscall.Errno) error {
	switch {
	case name == "TCP_CONGESTION" && errno == syscall.ENOENT:
		return fmt.Errorf("congestion control %q is not available: this kernel has %s", wire.Printable(p.Congestion),
			congestionControls("available"))
	case name == "TCP_CONGESTION" && errno == syscall.EPERM:
		return fmt.Errorf("congestion control %q is not allowed without CAP_NET_ADMIN: allowed are %s "+
			"(net.ipv4.tcp_allowed_congestion_control)",
			wire.Printable(p.Congestion), congestionControls("allowed"))
	case strings.HasSuffix(name, "BUSY_POLL") && errno == syscall.EPERM:
		return fmt.Errorf("wait %s needs CAP_NET_ADMIN to set %s", wire.WaitBusyPoll, name)
	case strings.HasSuffix(name, "BUSY_POLL"):
		return fmt.Errorf("wait %s: this kernel does not take %s: %w", wire.WaitBusyPoll, name, errno)
	}
	return fmt.Errorf("the kernel refuses %s: %w", name, errno)
}

// congestionControls lists those that are "available" or "allowed".
func congestionControls(which string) string {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_" + which + "_congestion_control")
	if err != nil {
		return "others, which it does not list"
	}
	return strings.Join(strings.Fields(string(b)), ", ")
}

// optionFacts adds the values that the kernel uses.
func (s *Socket) optionFacts(f map[string]string) {
	fd := int(s.fd)
	if s.waiting != "" {
		f["wait"] = s.waiting
	}
	polling := map[string]int{}
	switch s.waiting {
	case wire.WaitBusyPoll:
		polling = map[string]int{"so_busy_poll": unix.SO_BUSY_POLL, "so_prefer_busy_poll": unix.SO_PREFER_BUSY_POLL,
			"napi_id": unix.SO_INCOMING_NAPI_ID}
	case wire.WaitEpoll:
		polling = map[string]int{"napi_id": unix.SO_INCOMING_NAPI_ID}
	}
	for name, option := range polling {
		if v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err == nil {
			f[name] = strconv.Itoa(v)
		}
	}
	if s.poller != nil {
		s.poller.facts(f)
	}
	switch own := s.address(); {
	case own.Is4():
		f["ip"] = "4"
	case own.Is6():
		f["ip"] = "6"
	}
	if v, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT); err == nil && v > 0 {
		f["tcp_defer_accept"] = (time.Duration(v) * time.Second).String()
	}
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return
	}
	level, option := dscpOption(family)
	if v, err := unix.GetsockoptInt(fd, level, option); err == nil {
		f["dscp"] = strconv.Itoa(v >> 2)
	}
	if v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY); err == nil && v != 0 {
		f["so_zerocopy"] = "true"
	}
}

// address is the socket's own, which is of the IP version of its packets: a socket of IPv6 can carry IPv4 too. It is
// invalid if the kernel does not say it.
func (s *Socket) address() netip.Addr {
	address, err := unix.Getsockname(int(s.fd))
	if err != nil {
		return netip.Addr{}
	}
	switch a := address.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(a.Addr)
	case *unix.SockaddrInet6:
		return netip.AddrFrom16(a.Addr).Unmap()
	}
	return netip.Addr{}
}

// pathMTU is the size of the largest packet that the kernel sends to the connected peer, in bytes, and the size of
// its headers.
func (s *Socket) pathMTU() (mtu, headers int, err error) {
	family, err := unix.GetsockoptInt(int(s.fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return 0, 0, os.NewSyscallError("getsockopt SO_DOMAIN", err)
	}
	const udpHeader = 8
	if family == unix.AF_INET6 {
		mtu, err = unix.GetsockoptInt(int(s.fd), unix.IPPROTO_IPV6, unix.IPV6_MTU)
		return mtu, 40 + udpHeader, err
	}
	mtu, err = unix.GetsockoptInt(int(s.fd), unix.IPPROTO_IP, unix.IP_MTU)
	return mtu, 20 + udpHeader, err
}

// allowZeroCopy allows the socket to send from the process's own memory.
func (s *Socket) allowZeroCopy() error {
	err := unix.SetsockoptInt(int(s.fd), unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOPROTOOPT) {
		return errors.New("zero-copy: this kernel has no SO_ZEROCOPY for the socket (Linux has it since 4.14)")
	}
	if err != nil {
		return fmt.Errorf("zero-copy: the kernel refuses SO_ZEROCOPY: %w", err)
	}
	return nil
}
