package inside

import (
	"errors"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var errPermission = &os.PathError{Op: "bpf", Err: syscall.EPERM}

// An exchange is a server of the test and its client.
type exchange struct {
	t        testing.TB
	protocol string
	client   *space
	at       netip.Addr
	fd       int
	// before is what the client does before its request i.
	before func(x *exchange, i int)
}

// burst sends packets to another port of the server.
func (x *exchange) burst(count int) {
	fd, _ := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	defer func() { _ = unix.Close(fd) }()
	sink := socketAddress(netip.AddrPortFrom(x.at, 9))
	for range count {
		_ = unix.Sendto(fd, make([]byte, 1400), 0, sink)
	}
}

// A trip is a round trip as the client measured it, by the monotonic clock in nanoseconds.
type trip struct{ begun, took int64 }

const testPort = 7000

func (x *exchange) port() uint16 {
	if x.protocol == "icmp" {
		return 0
	}
	return testPort
}

// clock is the monotonic clock, read without a system call. It is early by at most a microsecond.
func clock() func() int64 {
	var now unix.Timespec
	var begun time.Time
	for gap := time.Hour; gap > time.Microsecond; {
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
		before := begun
		if begun = time.Now(); !before.IsZero() {
			gap = begun.Sub(before)
		}
	}
	return func() int64 { return now.Nano() + int64(time.Since(begun)) }
}

// serve answers what arrives in the server's namespace, after what between does. Both sides use system calls that wait
// in the kernel, on a thread of their own, on the second CPU.
func serve(t testing.TB, protocol string, client, server *space, at string, between func(i int)) *exchange {
	t.Helper()
	x := &exchange{t: t, protocol: protocol, client: client, at: netip.MustParseAddr(address(at))}
	to := netip.AddrPortFrom(x.at, testPort)
	var listening, accepted, connected int
	fail := func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	family, kind := unix.AF_INET, unix.SOCK_STREAM
	if x.at.Is6() {
		family = unix.AF_INET6
	}
	if protocol == "udp" {
		kind = unix.SOCK_DGRAM
	}
	server.do(func() {
		var err error
		listening, err = unix.Socket(family, kind, 0)
		fail("socket", err)
		fail("reuse", unix.SetsockoptInt(listening, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
		fail("bind", unix.Bind(listening, socketAddress(to)))
		if protocol == "tcp" {
			fail("listen", unix.Listen(listening, 1))
		}
	})
	client.do(func() {
		var err error
		connected, err = unix.Socket(family, kind, 0)
		fail("socket", err)
		fail("connect", unix.Connect(connected, socketAddress(to)))
	})
	accepted = listening
	if protocol == "tcp" {
		server.do(func() {
			var err error
			accepted, _, err = unix.Accept(listening)
			fail("accept", err)
		})
		for _, fd := range []int{connected, accepted} {
			fail("nodelay", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
		}
	}
	for _, fd := range []int{connected, accepted} {
		fail("timeout", unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}))
	}
	if t.Failed() {
		t.FailNow()
	}
	ended := make(chan struct{})
	go server.do(func() {
		defer close(ended)
		pin(1)
		b := make([]byte, 64)
		for i := 0; ; i++ {
			n, from, err := unix.Recvfrom(accepted, b, 0)
			if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil || n == 0 || b[0] == 'q' {
				return
			}
			if between != nil {
				between(i)
			}
			if protocol == "tcp" {
				from = nil
			}
			if unix.Sendto(accepted, b[:n], 0, from) != nil {
				return
			}
		}
	})
	x.fd = connected
	t.Cleanup(func() {
		client.do(func() { _, _ = unix.Write(connected, []byte("q")) })
		<-ended
		for _, fd := range []int{connected, accepted} {
			_ = unix.Close(fd)
		}
		if accepted != listening {
			_ = unix.Close(listening)
		}
	})
	return x
}

// trips makes round trips.
func (x *exchange) trips(count int) []trip {
	x.t.Helper()
	var all []trip
	x.client.do(func() {
		pin(1)
		prefer()
		now := clock()
		b := make([]byte, 64)
		for i := range count {
			if x.before != nil {
				x.before(x, i)
			}
			at := now()
			if _, err := unix.Write(x.fd, b); err != nil {
				x.t.Errorf("write: %v", err)
				return
			}
			_, err := unix.Read(x.fd, b)
			for errors.Is(err, unix.EINTR) { // else each later reply would be the one to an earlier request
				_, err = unix.Read(x.fd, b)
			}
			if err != nil {
				x.t.Errorf("no reply: %v", err)
				return
			}
			all = append(all, trip{at, now() - at})
		}
	})
	return all
}

func pin(cpu int) {
	var s unix.CPUSet
	s.Set(cpu)
	_ = unix.SchedSetaffinity(0, &s)
}

// address is an address without the length of its network.
func address(prefix string) string { return netip.MustParsePrefix(prefix).Addr().String() }

func socketAddress(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is6() {
		return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	}
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}
