package captures

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"nearfar/internal/base/pcapfile"
)

// The model: a client and a server on two hosts, whose tunnel ends have a point before and behind them.
//
//	client -- before-a -- [tunnel end] -- behind-a ---- behind-b -- [tunnel end] -- server
//
// All times are of the true clock, in nanoseconds. Each host's clock has an offset and runs too fast.

var (
	client4, server4 = netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.1.2")
	client6, server6 = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
	node4, other4    = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	node6, other6    = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
)

const serverPort, clientPort = 5000, 40000

// ip makes an IP packet.
func ip(from, to netip.Addr, protocol byte, ident uint16, payload []byte) []byte {
	if from.Is4() {
		b := make([]byte, 20, 20+len(payload))
		b[0], b[8], b[9] = 0x45, 63, protocol
		binary.BigEndian.PutUint16(b[2:], uint16(20+len(payload)))
		binary.BigEndian.PutUint16(b[4:], ident)
		copy(b[12:], from.AsSlice())
		copy(b[16:], to.AsSlice())
		return append(b, payload...)
	}
	b := make([]byte, 40, 48+len(payload))
	b[0], b[6], b[7] = 0x60, 60, 61 // with an extension header: options of the destination
	binary.BigEndian.PutUint16(b[4:], uint16(8+len(payload)))
	copy(b[8:], from.AsSlice())
	copy(b[24:], to.AsSlice())
	b = append(b, protocol, 0, 1, 4, 0, 0, 0, 0)
	return append(b, payload...)
}

func udp(from, to uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, from), to)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	return append(append(b, 0, 0), payload...)
}

func tcp(from, to uint16, seq, ack uint32, flags byte, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, from), to)
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, seq), ack)
	b = append(b, 0x80, flags, 0, 0, 0, 0, 0, 0)
	b = append(b, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2) // time stamps
	return append(b, payload...)
}

// frame makes an Ethernet frame with VLAN tags, filled up to the least length.
func frame(packet []byte, tags ...uint16) []byte {
	b := make([]byte, 12)
	for _, tag := range tags {
		b = append(binary.BigEndian.AppendUint16(b, tag), 0, 7)
	}
	kind := uint16(0x0800)
	if packet[0]>>4 == 6 {
		kind = 0x86dd
	}
	b = append(binary.BigEndian.AppendUint16(b, kind), packet...)
	return append(b, make([]byte, max(0, 60-len(b)))...)
}

// A carrier makes the frame in which an IP packet travels, from the client's side or back.
type carrier func(packet []byte, back bool) []byte

func ends(a, b netip.Addr, back bool) (netip.Addr, netip.Addr) {
	if back {
		return b, a
	}
	return a, b
}

func plain(packet []byte, _ bool) []byte { return frame(packet) }

func vlan(packet []byte, _ bool) []byte { return frame(packet, 0x8100) }

func qinq(packet []byte, _ bool) []byte { return frame(packet, 0x88a8, 0x8100) }

func vxlan(port uint16) carrier {
	return func(packet []byte, back bool) []byte {
		head := []byte{8, 0, 0, 0, 0, 1, 1, 0}
		from, to := ends(node6, other6, back)
		return frame(ip(from, to, 17, 0, udp(50000, port, append(head, frame(packet)...))))
	}
}

func geneve(packet []byte, back bool) []byte {
	head := []byte{1, 0, 0x65, 0x58, 0, 0, 77, 0, 1, 2, 3, 0}
	from, to := ends(node4, other4, back)
	return frame(ip(from, to, 17, 9, udp(50000, 6081, append(head, frame(packet)...))))
}

func ipip(packet []byte, back bool) []byte {
	from, to := ends(node4, other4, back)
	protocol := byte(4)
	if packet[0]>>4 == 6 {
		protocol = 41
	}
	return frame(ip(from, to, protocol, 9, packet))
}

func gre(packet []byte, back bool) []byte {
	from, to := ends(node6, other6, back)
	kind := []byte{0x20, 0, 8, 0, 0, 0, 0, 42}
	if packet[0]>>4 == 6 {
		kind[2], kind[3] = 0x86, 0xdd
	}
	return frame(ip(from, to, 47, 9, append(kind, packet...)))
}

// A clock is that of a host: how many seconds it is ahead, and how much too fast it runs.
type clock struct{ ahead, fast float64 }

// at converts a true time in nanoseconds.
func (c clock) at(nanoseconds int64) int64 {
	return 1_795_000_000_000_000_000 + nanoseconds + int64(c.ahead*1e9) + int64(c.fast*float64(nanoseconds))
}

// A capturing is a point of the model: what it writes.
type capturing struct {
	clock
	carrier
	packets []captured
}

type captured struct {
	time int64
	data []byte
}

func (c *capturing) see(nanoseconds int64, packet []byte, back bool) {
	c.packets = append(c.packets, captured{c.at(nanoseconds), c.carrier(packet, back)})
}

// A way is the points of the model, and the true times from each point to the next one and back. The last is the
// server's own time.
type way struct {
	points      []*capturing
	there, back []int64
	server      int64
	random      *rand.Rand
	now         int64
	true        []transaction
}

// transaction is what was true of one.
type transaction struct{ both []float64 }

func newWay(carriers ...carrier) *way {
	w := &way{
		there: []int64{2_100, 51_300, 3_700}, back: []int64{1_900, 49_100, 2_600}, server: 21_000,
		random: rand.New(rand.NewPCG(1, 2)), now: 1_000_000,
	}
	for i, c := range carriers {
		ofHost := clock{3, 40e-6}
		if i >= 2 {
			ofHost = clock{}
		}
		w.points = append(w.points, &capturing{clock: ofHost, carrier: c})
	}
	return w
}

// noise is a time that varies by half of it, and now and then is five times as long.
func (w *way) noise(of int64) int64 {
	n := int64(float64(of) * (1 + w.random.Float64()/2))
	if w.random.IntN(50) == 0 {
		n *= 5
	}
	return n
}

// carry sends a packet from a point to another one, and gives when it was there. The last point that it passes is
// lostBehind, or -1 if it is not lost.
func (w *way) carry(packet []byte, back bool, lostBehind int) (at []int64) {
	at = make([]int64, len(w.points))
	time := w.now
	last := len(w.points) - 1
	for step := range w.points {
		i := step
		if back {
			i = last - step
		}
		at[i] = time
		w.points[i].see(time, packet, back)
		if i == lostBehind {
			break
		}
		switch {
		case back && i > 0:
			time += w.noise(w.back[i-1])
		case !back && i < last:
			time += w.noise(w.there[i])
		}
	}
	w.now = time
	return at
}

// exchange sends a request and its reply.
func (w *way) exchange(request, reply []byte) {
	there := w.carry(request, false, -1)
	w.now += w.noise(w.server)
	back := w.carry(reply, true, -1)
	var t transaction
	for i := range w.points {
		turnaround := float64(back[i] - there[i])
		if i+1 < len(w.points) {
			turnaround -= float64(back[i+1] - there[i+1])
		}
		t.both = append(t.both, turnaround/1e9)
	}
	w.true = append(w.true, t)
	w.now += 10_000 + w.random.Int64N(5_000)
}

// A format is how a point is written.
type format struct {
	ng, nano bool
	order    binary.AppendByteOrder
	snaplen  int
}

var nanoNg = format{ng: true, nano: true, order: binary.LittleEndian}

// write makes a file of a point's packets.
func (f format) write(t testing.TB, packets []captured, link pcapfile.LinkType) []byte {
	t.Helper()
	keep := func(b []byte) []byte {
		if f.snaplen > 0 {
			return b[:min(len(b), f.snaplen)]
		}
		return b
	}
	if f.ng {
		var file bytes.Buffer
		w, err := pcapfile.NewWriter(&file, "test", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.AddInterface(pcapfile.Interface{Name: "eth0", Link: link}); err != nil {
			t.Fatal(err)
		}
		for _, p := range packets {
			if err := w.Write(0, p.time, len(p.data), keep(p.data), ""); err != nil {
				t.Fatal(err)
			}
		}
		return file.Bytes()
	}
	magic, unit := uint32(0xa1b2c3d4), int64(1000)
	if f.nano {
		magic, unit = 0xa1b23c4d, 1
	}
	b := f.order.AppendUint32(nil, magic)
	b = f.order.AppendUint16(f.order.AppendUint16(b, 2), 4)
	for _, word := range []uint32{0, 0, 262144, uint32(link)} {
		b = f.order.AppendUint32(b, word)
	}
	for _, p := range packets {
		kept := keep(p.data)
		for _, word := range []uint32{uint32(p.time / 1e9), uint32(p.time % 1e9 / unit), uint32(len(kept)),
			uint32(len(p.data))} {
			b = f.order.AppendUint32(b, word)
		}
		b = append(b, kept...)
	}
	return b
}
