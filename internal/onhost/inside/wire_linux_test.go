package inside

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	declared "nearfar/internal/declare/inside"
)

// forward sends on what arrives at one device of the namespace by another one, as a program, after what is done to it:
// what becomes nil is not sent. It takes what arrives after it returns.
func (s *space) forward(from, to string, do func([]byte) []byte, end *atomic.Bool) (ended chan struct{}) {
	ended = make(chan struct{})
	begun := make(chan struct{})
	go s.do(func() {
		defer close(ended)
		in, out := s.packets(from), s.packets(to)
		close(begun)
		defer func() { _, _ = unix.Close(in), unix.Close(out) }()
		setPriority(20)
		frame := make([]byte, 2000)
		for !end.Load() {
			n, _, err := unix.Recvfrom(in, frame, 0)
			if err != nil {
				continue
			}
			if sent := do(frame[:n]); sent != nil {
				_, _ = unix.Write(out, sent)
			}
		}
	})
	<-begun
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
		// What the other direction sends is not for this socket, which would hold its buffer until it is read; see
		// TestTunnelWithHeldPackets. The wires of a lab are set in the same way.
		_ = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index})
	}
	if err != nil {
		s.t.Error(err)
	}
	return fd
}

// wired makes a client and a server with a wire between them that is a program.
func wired(t *testing.T, delay time.Duration) (client, wire, server *space) {
	client, wire, server = newSpace(t), newSpace(t), newSpace(t)
	join(client, "eth0", wire, "left")
	join(server, "eth0", wire, "right")
	var over atomic.Bool
	wait := func(frame []byte) []byte { spin(delay); return frame }
	there, back := wire.forward("left", "right", wait, &over), wire.forward("right", "left", wait, &over)
	t.Cleanup(func() { over.Store(true); <-there; <-back })
	return client, wire, server
}

// Where a wire makes new packets, those inside a tunnel are known by their inner headers.
func TestTunnelOverWire(t *testing.T) {
	for _, c := range []struct{ name, device, inner string }{
		{"vxlan", "type vxlan id 7 dstport 4789 local 10.1.0.%d remote 10.1.0.%d dev eth0", "10.9.0.%d/24"},
		{"ipip", "type ipip local 10.1.0.%d remote 10.1.0.%d", "10.9.0.%d/24"},
		{"sit", "type sit local 10.1.0.%d remote 10.1.0.%d", "fd09::%d/64 nodad"},
		{"gre", "type gre local 10.1.0.%d remote 10.1.0.%d", "10.9.0.%d/24"},
		{"gre with all", "type gre local 10.1.0.%d remote 10.1.0.%d key 7 csum seq", "10.9.0.%d/24"},
		{"gre of IPv6", "type gre local 10.1.0.%d remote 10.1.0.%d key 7", "fd09::%d/64 nodad"},
		{"gretap", "type gretap local 10.1.0.%d remote 10.1.0.%d key 7", "10.9.0.%d/24"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, wire, server := wired(t, 0)
			for i, s := range []*space{client, server} {
				s.ip(fmt.Sprintf("addr add 10.1.0.%d/24 dev eth0", i+1))
				lacks(t, c.device, s.try("link add tun7 "+fmt.Sprintf(c.device, i+1, 2-i)))
				s.ip("addr add dev tun7 " + fmt.Sprintf(c.inner, i+1))
				s.ip("link set tun7 up")
			}
			at, _, _ := strings.Cut(fmt.Sprintf(c.inner, 2), " ")
			x := serve(t, "udp", client, server, at, nil)
			x.trips(20)
			o := x.options(200)
			o.Places = []declared.Place{{Namespace: wire.id, Name: "wire"}}
			w := client.watch(o)
			x.trips(200)
			seen := end(t, w)
			if seen.Complete < 180 {
				t.Errorf("of %d trips %d were followed to their end", seen.Sampled, seen.Complete)
			}
			got := words(path(t, seen, 180))
			for _, step := range []string{
				"request encapsulate client tun7", "request wire wire left", "request decapsulate server eth0",
				"reply wire wire right", "reply decapsulate client eth0",
			} {
				if !strings.Contains(got, step) {
					t.Errorf("there is no %q in\n%s", step, got)
				}
			}
		})
	}
}

// Behind the step that takes off the outer header, a tunnel's device gives a packet to GRO. If somebody else holds the
// packet's buffer too, it goes to a CPU's backlog instead (gro_cells_receive of the kernel's net/core/gro_cells.c). TCP
// holds what it may have to send again, and packet sockets what nobody has read yet.
func TestTunnelWithHeldPackets(t *testing.T) {
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprint("held ", held), func(t *testing.T) {
			client, wire, server := wired(t, 0)
			for i, s := range []*space{client, server} {
				s.ip(fmt.Sprintf("addr add 10.1.0.%d/24 dev eth0", i+1))
				lacks(t, "vxlan", s.try(fmt.Sprintf("link add tun7 type vxlan id 7 dstport 4789 local 10.1.0.%d "+
					"remote 10.1.0.%d dev eth0", i+1, 2-i)))
				s.ip(fmt.Sprintf("addr add dev tun7 10.9.0.%d/24", i+1))
				s.ip("link set tun7 up")
			}
			x := serve(t, "udp", client, server, "10.9.0.2/24", nil)
			x.trips(20)
			if held {
				for _, device := range []string{"left", "right"} {
					wire.hold(device)
				}
			}
			w := client.watch(x.options(200))
			x.trips(200)
			got := words(path(t, end(t, w), 180))
			step := "gro"
			if held {
				step = "softirq"
			}
			for _, want := range []string{
				"request decapsulate server eth0\nrequest " + step + " server tun7\nrequest deliver server",
				"reply decapsulate client eth0\nreply " + step + " client tun7\nreply deliver client",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("the path is\n%s\nwant it to have\n%s", got, want)
				}
			}
		})
	}
}

// hold opens a packet socket on a device that gets what is sent there, and never reads it.
func (s *space) hold(device string) {
	s.t.Helper()
	s.do(func() {
		fd := s.packets(device)
		for _, o := range [][3]int{
			{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16 << 20}, {unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 0},
		} {
			if err := unix.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
				s.t.Error(err)
			}
		}
		s.t.Cleanup(func() { _ = unix.Close(fd) })
	})
}

// A wire that is a program makes new packets of what it forwards. It is one step of the trip, in both directions, and a
// longer wire is seen in that step.
func TestWire(t *testing.T) {
	for _, protocol := range []string{"udp", "tcp"} {
		var steps [2]int64
		for i, delay := range []time.Duration{0, 200 * time.Microsecond} {
			client, wire, server := wired(t, delay)
			client.ip("addr add 10.9.0.1/24 dev eth0")
			server.ip("addr add 10.9.0.2/24 dev eth0")
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
