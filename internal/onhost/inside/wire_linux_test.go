package inside

import (
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	declared "nearfar/internal/declare/inside"
)

// forward sends on what arrives at one device of the namespace by another one, after a delay, as a program.
func (s *space) forward(from, to string, delay time.Duration, end *atomic.Bool) (ended chan struct{}) {
	ended = make(chan struct{})
	go s.do(func() {
		defer close(ended)
		in, out := s.packets(from), s.packets(to)
		defer func() { _, _ = unix.Close(in), unix.Close(out) }()
		setPriority(20)
		frame := make([]byte, 2000)
		for !end.Load() {
			n, at, err := unix.Recvfrom(in, frame, 0)
			if link, ok := at.(*unix.SockaddrLinklayer); err != nil || !ok || link.Pkttype == unix.PACKET_OUTGOING {
				continue
			}
			spin(delay)
			_, _ = unix.Write(out, frame[:n])
		}
	})
	return ended
}

// packets opens a packet socket on a device.
func (s *space) packets(device string) int {
	all := uint16(networkOrder(unix.ETH_P_ALL))
	link, err := net.InterfaceByName(device)
	if err != nil {
		s.t.Error(err)
		return -1
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err == nil {
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50000})
		// Frames come and go with what the device would still do for them, such as a checksum.
		_ = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1)
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index})
	}
	if err != nil {
		s.t.Error(err)
	}
	return fd
}

// A wire that is a program makes new packets of what it forwards. It is one step of the trip, in both directions, and a
// longer wire is seen in that step.
func TestWire(t *testing.T) {
	for _, protocol := range []string{"udp", "tcp"} {
		var steps [2]int64
		for i, delay := range []time.Duration{0, 200 * time.Microsecond} {
			client, wire, server := newSpace(t), newSpace(t), newSpace(t)
			join(client, "eth0", wire, "left")
			join(server, "eth0", wire, "right")
			client.ip("addr add 10.9.0.1/24 dev eth0")
			server.ip("addr add 10.9.0.2/24 dev eth0")
			var over atomic.Bool
			there, back := wire.forward("left", "right", delay, &over), wire.forward("right", "left", delay, &over)
			t.Cleanup(func() { over.Store(true); <-there; <-back })
			x := serve(t, protocol, client, server, "10.9.0.2/24", nil)
			x.trips(20)
			o := x.options(300)
			o.Places = []declared.Place{{Namespace: wire.id, Name: "wire"}}
			w := client.watch(o)
			x.trips(300)
			p := path(t, end(t, w), 280)
			at := slices.Index(strings.Split(words(p), "\n"), "request wire wire left")
			if at < 0 || !strings.Contains(words(p), "reply wire wire right") {
				t.Fatalf("%s: no wire in\n%s", protocol, words(p))
			}
			steps[i] = medians(p)[at]
		}
		if longer := time.Duration(steps[1] - steps[0]); longer < 150*time.Microsecond || longer > 400*time.Microsecond {
			t.Errorf("%s: a wire that is 200 us longer has a step that is %v longer", protocol, longer)
		}
	}
}
