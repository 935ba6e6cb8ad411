package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// verifyTime bounds the exchange, beside what the arm's wires take.
	verifyTime = 5 * time.Second
	// firstTry is how long the first try waits for its answer; each next one waits longer.
	firstTry = 5 * time.Millisecond
	// udpHeaders are the IPv4 and the UDP header.
	udpHeaders = 28
)

// verify carries a full-size packet that must not be fragmented from the client to the server and back. Where that
// fails, the error names where packets stopped.
func (a *builtArm) verify(ctx context.Context) error {
	last := len(a.namespaces) - 1
	serverAddress := a.plan.Spaces[last].addressOf(hostDevice)
	server, err := a.namespaces[last].udpSocket(serverAddress)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(server) }()
	client, err := a.namespaces[0].udpSocket(a.plan.Spaces[0].addressOf(hostDevice))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(client) }()
	to, err := unix.Getsockname(server)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	slow := a.plan.wireTime()
	deadline := time.Now().Add(verifyTime + 4*slow)
	wait := firstTry + 2*slow
	// Of a wire that loses nearly everything, many tries.
	for try := byte(0); ; try++ {
		err := a.exchange(client, server, to, try, wait)
		if err == nil {
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("no packet of %d bytes made the way from client to server and back: %s", a.plan.HostMTU, a.whereItStops())
		}
		if wait < 200*time.Millisecond {
			wait += wait / 2
		}
	}
}

// wireTime is what a full-size packet and its answer need on the wires.
func (p *plan) wireTime() time.Duration {
	var t time.Duration
	for i := range p.Spaces {
		if w := p.Spaces[i].Wire; w != nil {
			t += 2 * w.Delay
			if w.Rate > 0 {
				t += time.Duration(2 * 8e9 * float64(p.MTU+ethernetLen) / w.Rate)
			}
		}
	}
	return t
}

// udpSocket opens a socket that does not fragment, at an address of the namespace.
func (ns *namespace) udpSocket(at netip.Addr) (int, error) {
	fd := -1
	err := ns.do(func(*netlink.Handle) error {
		var err error
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return os.NewSyscallError("socket", err)
		}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO); err != nil {
			return os.NewSyscallError("setsockopt IP_MTU_DISCOVER", err)
		}
		return os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrInet4{Addr: at.As4()}))
	})
	if err != nil && fd >= 0 {
		_ = unix.Close(fd)
	}
	return fd, err
}

// exchange sends one packet there and the same back. An answer to an earlier try does as well.
func (a *builtArm) exchange(client, server int, to unix.Sockaddr, try byte, wait time.Duration) error {
	packet := make([]byte, a.plan.HostMTU-udpHeaders)
	packet[0] = try
	if err := unix.Sendto(client, packet, 0, to); err != nil {
		return fmt.Errorf("sending %d bytes from the client: %w", a.plan.HostMTU, err)
	}
	deadline := time.Now().Add(wait)
	from, err := receiveBy(server, len(packet), deadline)
	if err != nil {
		return err
	}
	if err := unix.Sendto(server, packet, 0, from); err != nil {
		return fmt.Errorf("sending %d bytes from the server: %w", a.plan.HostMTU, err)
	}
	_, err = receiveBy(client, len(packet), deadline)
	return err
}

// receiveBy receives one packet of the length; os.ErrDeadlineExceeded says that none came in time.
func receiveBy(fd, length int, deadline time.Time) (unix.Sockaddr, error) {
	b := make([]byte, length+1)
	for {
		left := max(int(time.Until(deadline).Milliseconds()), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, left)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("poll", err)
		}
		if n == 0 {
			return nil, os.ErrDeadlineExceeded
		}
		got, from, err := unix.Recvfrom(fd, b, 0)
		if err != nil {
			return nil, os.NewSyscallError("recvfrom", err)
		}
		if got == length {
			return from, nil
		}
	}
}

// whereItStops finds the last namespace that packets reached, by the counters of the ports.
func (a *builtArm) whereItStops() string {
	for i := range a.plan.Spaces {
		s := &a.plan.Spaces[i]
		if i == 0 {
			continue
		}
		counters := map[string]uint64{}
		err := a.namespaces[i].do(func(h *netlink.Handle) error { return s.portCounters(h, counters) })
		if err != nil {
			return err.Error()
		}
		if counters[s.Left.Name+".rx_packets"] == 0 {
			return fmt.Sprintf("they stop at %s, and do not reach %s", a.plan.Spaces[i-1].Name, s.Name)
		}
	}
	return "they reach the server, and answers stop on the way back"
}
