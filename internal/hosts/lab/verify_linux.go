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
	// verifyTime bounds the exchange, without the time that the arm's wires take.
	verifyTime = 5 * time.Second
	// firstTry is how long the first try waits for its answer; later tries wait longer.
	firstTry = 5 * time.Millisecond
	// udpHeaders are the IPv4 and the UDP header, udpHeaders6 the IPv6 and the UDP header.
	udpHeaders  = 28
	udpHeaders6 = 48
)

// verify sends a full-size packet that must not be fragmented from the client to the server and back, over IPv4 and, if
// the arm has it, over IPv6. The error says where packets stopped.
func (a *builtArm) verify(ctx context.Context) error {
	last := len(a.namespaces) - 1
	from, to := a.plan.Spaces[0].addressOf(hostDevice), a.plan.Spaces[last].addressOf(hostDevice)
	if err := a.verifyBetween(ctx, from, to); err != nil || !a.plan.IPv6 {
		return err
	}
	from, to = a.plan.Spaces[0].address6Of(hostDevice), a.plan.Spaces[last].address6Of(hostDevice)
	if err := a.verifyBetween(ctx, from, to); err != nil {
		return fmt.Errorf("over IPv6: %w", err)
	}
	return nil
}

// verifyBetween does the same between an address of the client and an address of the server, of the same IP version.
func (a *builtArm) verifyBetween(ctx context.Context, clientAddress, serverAddress netip.Addr) error {
	last := len(a.namespaces) - 1
	server, err := a.namespaces[last].udpSocket(serverAddress)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(server) }()
	client, err := a.namespaces[0].udpSocket(clientAddress)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(client) }()
	to, err := unix.Getsockname(server)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	length := a.plan.HostMTU - udpHeaders
	if serverAddress.Is6() {
		length = a.plan.HostMTU - udpHeaders6
	}
	slow := a.plan.wireTime()
	deadline := time.Now().Add(verifyTime + 4*slow)
	wait := firstTry + 2*slow
	// A wire that loses nearly everything takes many tries.
	for try := byte(0); ; try++ {
		err := a.exchange(client, server, to, length, try, wait)
		if err == nil {
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			where := "packets over IPv4 did"
			if serverAddress.Is4() {
				where = a.whereItStops()
			}
			return fmt.Errorf("no packet of %d bytes made the way from client to server and back: %s",
				a.plan.HostMTU, where)
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

// udpSocket opens a socket at an address of the namespace. Its packets must not be fragmented.
func (ns *namespace) udpSocket(at netip.Addr) (int, error) {
	family, level, option, value := unix.AF_INET, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO
	var address unix.Sockaddr
	if at.Is6() {
		family, level, option, value = unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO
		address = &unix.SockaddrInet6{Addr: at.As16()}
	} else {
		address = &unix.SockaddrInet4{Addr: at.As4()}
	}
	fd := -1
	err := ns.do(func(*netlink.Handle) error {
		var err error
		if fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return os.NewSyscallError("socket", err)
		}
		if err := unix.SetsockoptInt(fd, level, option, value); err != nil {
			return os.NewSyscallError("setsockopt MTU_DISCOVER", err)
		}
		return os.NewSyscallError("bind", unix.Bind(fd, address))
	})
	if err != nil && fd >= 0 {
		_ = unix.Close(fd)
	}
	return fd, err
}

// exchange sends one packet with length bytes of data to the server and back. An answer to an earlier try counts too.
func (a *builtArm) exchange(client, server int, to unix.Sockaddr, length int, try byte, wait time.Duration) error {
	packet := make([]byte, length)
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

// receiveBy receives one packet of the length. os.ErrDeadlineExceeded says that none came in time.
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

// whereItStops finds the last namespace that packets reached, from the ports' counters.
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
