package captures

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/base/pcapfile"
)

// pointNames are those of the model.
var pointNames = []string{"client", "behind-a", "behind-b", "server"}

// files are what can be opened.
type files map[string][]byte

func (f files) open(path string) (io.ReadCloser, error) {
	b, found := f[path]
	if !found {
		return nil, errors.New(path + ": no such file")
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// files writes all points of the way, as one capture.
func (w *way) files(t testing.TB, f format) (files, []Point) {
	all := files{}
	var points []Point
	for i, p := range w.points {
		name := pointNames[i]
		all[name] = f.write(t, p.packets, pcapfile.Ethernet)
		points = append(points, Point{Name: name, Files: []File{{Path: name}}})
	}
	return all, points
}

func (w *way) read(t testing.TB, f format) (*Report, error) {
	all, points := w.files(t, f)
	return Read(t.Context(), Options{Points: points, Open: all.open})
}

// judge compares a report with what was true, within an error in seconds.
func (w *way) judge(t *testing.T, r *Report, within float64) {
	t.Helper()
	for i, s := range r.Segments {
		var all []float64
		var sum float64
		for _, one := range w.true {
			all = append(all, one.both[i])
			sum += one.both[i]
		}
		slices.Sort(all)
		quantile := func(p float64) float64 {
			at := p * float64(len(all)-1)
			low := int(at)
			high := min(low+1, len(all)-1)
			return all[low] + (all[high]-all[low])*(at-float64(low))
		}
		for _, c := range []struct {
			name      string
			got, want float64
		}{{"p50", s.Both.P50, quantile(0.5)}, {"mean", s.Both.Mean, sum / float64(len(all))}} {
			if math.Abs(c.got-c.want) > within+40e-6*math.Abs(c.want) {
				t.Errorf("segment %s - %s, %s: %.9f, want %.9f", s.From, s.To, c.name, c.got, c.want)
			}
		}
		switch {
		case (s.Both.P99 != nil) != (len(all) >= 1000):
			t.Errorf("segment %s - %s: p99 %v of %d", s.From, s.To, s.Both.P99, len(all))
		case s.Both.P99 != nil && math.Abs(*s.Both.P99-quantile(0.99)) > within+40e-6*quantile(0.99):
			t.Errorf("segment %s - %s, p99: %.9f, want %.9f", s.From, s.To, *s.Both.P99, quantile(0.99))
		}
	}
}

// tcpExchanges runs n exchanges on one connection, whose numbers pass 2^32.
func (w *way) tcpExchanges(n int, from, to netip.Addr) {
	seq, ack := uint32(math.MaxUint32-1000), uint32(math.MaxUint32-200)
	w.carry(ip(from, to, 6, 1, tcp(clientPort, serverPort, seq-1, 0, 2, nil)), false, -1)
	for i := range n {
		request := tcp(clientPort, serverPort, seq, ack, 0x18, bytes.Repeat([]byte("q"), 64))
		seq += 64
		reply := tcp(serverPort, clientPort, ack, seq, 0x18, bytes.Repeat([]byte("r"), 100))
		ack += 100
		w.exchange(ip(from, to, 6, uint16(i+1), request), ip(to, from, 6, uint16(3*i+1), reply))
		if i%3 == 0 { // an acknowledgement alone
			w.carry(ip(from, to, 6, uint16(9*i+1), tcp(clientPort, serverPort, seq, ack, 0x10, nil)), false, -1)
		}
	}
}

// TestTwoHosts: whatever the format of the files and the tunnel, segments are right although the clocks of the two
// hosts are 3 s and 40 ppm apart, and no figure has that offset in it.
func TestTwoHosts(t *testing.T) {
	carriers := map[string]carrier{
		"plain": plain, "vlan": vlan, "qinq": qinq, "vxlan in IPv6": vxlan(4789), "vxlan, Linux' port": vxlan(8472),
		"geneve": geneve, "ipip": ipip, "gre": gre,
	}
	carriedAs := map[string]string{"vlan": "plain", "qinq": "plain", "vxlan in IPv6": "vxlan 257",
		"vxlan, Linux' port": "vxlan 257", "geneve": "geneve 77", "gre": "gre 42"}
	for name, c := range carriers {
		for family, of := range map[string][2]netip.Addr{"4": {client4, server4}, "6": {client6, server6}} {
			t.Run(name+" "+family, func(t *testing.T) {
				w := newWay(plain, c, c, plain)
				w.tcpExchanges(1200, of[0], of[1])
				r, err := w.read(t, nanoNg)
				if err != nil {
					t.Fatal(err)
				}
				w.judge(t, r, 0.1e-6)
				if r.Matched != 1200 || len(r.Segments) != 4 || r.Server != of[1].String() || r.Port != serverPort {
					t.Errorf("%+v", r)
				}
				want := name
				if as := carriedAs[name]; as != "" {
					want = as
				}
				if p := r.Points[1]; p.Carried[want] != p.Own || p.Exchanges != 1200 || len(p.Unmatched) != 0 {
					t.Errorf("%+v", p)
				}
				for _, s := range r.Segments {
					if s.There != nil || s.Back != nil {
						t.Errorf("one-way times between clocks: %+v", s)
					}
				}
			})
		}
	}
}

// TestFormats: all formats say the same; microseconds as well as they can.
func TestFormats(t *testing.T) {
	w := newWay(plain, vxlan(4789), vxlan(4789), plain)
	w.tcpExchanges(1500, client4, server4)
	for _, ng := range []bool{false, true} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for nano, within := range map[bool]float64{true: 0.1e-6, false: 1e-6} {
				r, err := w.read(t, format{ng: ng, nano: nano, order: order})
				if err != nil {
					t.Fatal(err)
				}
				w.judge(t, r, within)
				if noted := strings.Contains(strings.Join(r.Notes, "\n"), "units of 1 us"); noted != (!ng && !nano) {
					t.Errorf("ng %v, nano %v: %s", ng, nano, r.Notes)
				}
			}
		}
	}
}

// TestOneClock: between points of one clock there are one-way times, and they are right.
func TestOneClock(t *testing.T) {
	w := newWay(plain, ipip, ipip, plain)
	w.there[0], w.back[0] = 7_000, 2_000
	w.tcpExchanges(400, client4, server4)
	all, points := w.files(t, nanoNg)
	points[0].Clock, points[1].Clock = "host-a", "host-a"
	r, err := Read(t.Context(), Options{Points: points, Open: all.open})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Segments[0]
	if s.There == nil || s.There.P50 < 7e-6 || s.There.P50 > 10.6e-6 || s.Back.P50 < 2e-6 || s.Back.P50 > 3.1e-6 ||
		math.Abs(s.There.Mean+s.Back.Mean-s.Both.Mean) > 1e-9 {
		t.Errorf("%+v %+v", s.There, s.Back)
	}
	if s.There.Interval == nil || s.There.Interval[0] > s.There.P50 || s.There.Interval[1] < s.There.P50 {
		t.Errorf("%+v", s.There)
	}
	for _, s := range r.Segments[1:] {
		if s.There != nil {
			t.Errorf("%+v", s)
		}
	}
	notes := strings.Join(r.Notes, "\n")
	if !strings.Contains(notes, "3 clocks") || !strings.Contains(notes, "one capture") || r.Interval != IntervalWithin {
		t.Error(notes)
	}
	var sum float64
	for _, s := range r.Segments {
		sum += s.Both.Mean
	}
	if math.Abs(sum-r.Points[0].Turnaround.Mean) > 1e-9 {
		t.Errorf("the segments add up to %g, the whole is %g", sum, r.Points[0].Turnaround.Mean)
	}
}

// TestTruncated: a file that ends early is read up to there.
func TestTruncated(t *testing.T) {
	w := newWay(plain, ipip, ipip, plain)
	w.tcpExchanges(200, client4, server4)
	all, points := w.files(t, format{nano: true, order: binary.BigEndian})
	all["behind-b"] = all["behind-b"][:len(all["behind-b"])/2-3]
	r, err := Read(t.Context(), Options{Points: points, Open: all.open})
	if err != nil {
		t.Fatal(err)
	}
	if r.Matched < 95 || r.Matched > 105 || r.Points[0].Unmatched[Elsewhere] != 200-r.Matched ||
		!strings.Contains(r.Points[2].Files[0].Truncated, "the file ends at byte") ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "behind-b: the file ends at byte") {
		t.Errorf("%+v", r)
	}
	w.true = w.true[:r.Matched]
	w.judge(t, r, 0.1e-6)
}

// TestSnaplen: 64 bytes are enough for TCP without a tunnel. In VXLAN they are not, which is said.
func TestSnaplen(t *testing.T) {
	short := format{nano: true, order: binary.LittleEndian, snaplen: 64}
	w := newWay(plain, vlan, vlan, plain)
	w.tcpExchanges(100, client4, server4)
	r, err := w.read(t, short)
	if err != nil || r.Matched != 100 {
		t.Fatal(r, err)
	}
	w.judge(t, r, 0.1e-6)
	for _, c := range []carrier{vxlan(4789), geneve, gre} {
		w := newWay(plain, c, c, plain)
		w.tcpExchanges(100, client4, server4)
		if r, err := w.read(t, short); err == nil || !strings.Contains(err.Error(), "cut") {
			t.Errorf("%+v %v", r, err)
		}
	}
	w = newWay(plain, plain, plain, plain)
	w.udpExchanges(100, func(i int) ([]byte, []byte) { return number(i), number(i) })
	if r, err := w.read(t, short); err == nil || !strings.Contains(err.Error(), "cut") {
		t.Errorf("%+v %v", r, err)
	}
}

// TestLost: what was lost or retransmitted is left out wherever it was lost, and nobody waits in the figures.
func TestLost(t *testing.T) {
	w := newWay(plain, vxlan(4789), vxlan(4789), plain)
	seq, ack := uint32(7), uint32(9)
	lost := 0
	packetOf := func(back bool, ident int) []byte {
		if back {
			return ip(server4, client4, 6, uint16(ident), tcp(serverPort, clientPort, ack, seq+64, 0x18, make([]byte, 100)))
		}
		return ip(client4, server4, 6, uint16(ident), tcp(clientPort, serverPort, seq, ack, 0x18, make([]byte, 64)))
	}
	const wait = 200_000_000
	for i := range 2000 {
		behind := i % 4
		switch i % 50 {
		case 10: // the request
			w.carry(packetOf(false, 2*i+1), false, behind)
			w.now += wait
			w.exchange(packetOf(false, 2*i+2), packetOf(true, i+1))
			w.true = w.true[:len(w.true)-1]
			lost++
		case 20: // the reply
			w.carry(packetOf(false, 2*i+1), false, -1)
			w.carry(packetOf(true, 2*i+1), true, behind)
			w.now += wait
			w.carry(packetOf(true, 2*i+2), true, -1)
			lost++
		case 30: // nothing, but the client thinks so
			w.exchange(packetOf(false, 2*i+1), packetOf(true, 2*i+1))
			w.carry(packetOf(false, 2*i+2), false, -1)
			w.true = w.true[:len(w.true)-1]
			lost++
		default:
			w.exchange(packetOf(false, 2*i+1), packetOf(true, 2*i+1))
		}
		seq, ack = seq+64, ack+100
	}
	r, err := w.read(t, nanoNg)
	if err != nil {
		t.Fatal(err)
	}
	if r.Matched != 2000-lost {
		t.Errorf("%d matched, %d lost: %+v", r.Matched, lost, r.Points)
	}
	w.judge(t, r, 0.1e-6)
	if n := r.Points[0].Unmatched[Retransmitted]; n != lost {
		t.Errorf("%d retransmitted, want %d", n, lost)
	}
}

// TestOtherCopy: a packet that was missed by a capture, and its retransmission by another one, are not taken as one.
func TestOtherCopy(t *testing.T) {
	w := newWay(plain, plain)
	w.tcpExchanges(50, client4, server4)
	for i, p := range w.points[1].packets {
		if ip := p.data[14:]; i%5 == 0 {
			binary.BigEndian.PutUint16(ip[4:], binary.BigEndian.Uint16(ip[4:])+7)
		}
	}
	r, err := w.read(t, nanoNg)
	if err != nil || r.Matched == 0 || r.Points[0].Unmatched[OtherCopy] == 0 ||
		r.Matched+r.Points[0].Unmatched[OtherCopy] != 50 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestCutUp: a request that the device cuts into segments passes a point with its last one, a reply with its first one.
func TestCutUp(t *testing.T) {
	w := newWay(plain, plain)
	seq, ack, ident := uint32(7), uint32(9), uint16(1)
	for range 300 {
		start := w.now
		w.points[0].see(start, ip(client4, server4, 6, ident, tcp(clientPort, serverPort, seq, ack, 0x18,
			make([]byte, 3000))), false)
		for i := range uint32(3) {
			w.points[1].see(start+2_000+int64(i)*1_000, ip(client4, server4, 6, ident+uint16(i), tcp(clientPort, serverPort,
				seq+1000*i, ack, 0x18, make([]byte, 1000))), false)
		}
		seq += 3000
		for i := range uint32(2) {
			w.points[1].see(start+20_000+int64(i)*1_000, ip(server4, client4, 6, ident+uint16(i), tcp(serverPort, clientPort,
				ack+1000*i, seq, 0x18, make([]byte, 1000))), true)
		}
		w.points[0].see(start+25_000, ip(server4, client4, 6, ident, tcp(serverPort, clientPort, ack, seq, 0x18,
			make([]byte, 2000))), true)
		ack, ident = ack+2000, ident+3
		w.now += 100_000
	}
	r, err := w.read(t, nanoNg)
	if err != nil || r.Matched != 300 {
		t.Fatal(r, err)
	}
	if s := r.Segments[0].Both; math.Abs(s.P50-9e-6) > 10e-9 { // 25 us less 16 us
		t.Errorf("%+v", s)
	}
}

// TestConnections: a new connection for each transaction, whose ports come back, is one service.
func TestConnections(t *testing.T) {
	w := newWay(plain, ipip, ipip, plain)
	for i := range 500 {
		port := uint16(40000 + i%200)
		seq, ack := uint32(i)*77777, uint32(i)*33333
		w.carry(ip(client4, server4, 6, 0, tcp(port, serverPort, seq-1, 0, 2, nil)), false, -1)
		w.carry(ip(server4, client4, 6, 0, tcp(serverPort, port, ack-1, seq, 0x12, nil)), true, -1)
		w.exchange(ip(client4, server4, 6, 0, tcp(port, serverPort, seq, ack, 0x18, []byte("GET"))),
			ip(server4, client4, 6, 0, tcp(serverPort, port, ack, seq+3, 0x18, []byte("200 OK"))))
	}
	r, err := w.read(t, nanoNg)
	if err != nil || r.Matched != 500 {
		t.Fatal(r, err)
	}
	w.judge(t, r, 0.1e-6)
}

// udpExchanges runs n exchanges of datagrams.
func (w *way) udpExchanges(n int, contents func(i int) (request, reply []byte)) {
	for i := range n {
		request, reply := contents(i)
		w.exchange(ip(client4, server4, 17, 0, udp(clientPort, serverPort, request)),
			ip(server4, client4, 17, 0, udp(serverPort, clientPort, reply)))
	}
}

// number is a message of sockperf: its number, flags and length.
func number(i int) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(i))
	return append(append(b, 0, 1, 0, 0, 0, 64), make([]byte, 50)...)
}

// native is a message of nearfar's own engine: a cookie and its number.
func native(i int) []byte {
	b := binary.BigEndian.AppendUint64([]byte("cookie of 16 byt"), uint64(i))
	return append(b, make([]byte, 40)...)
}

// TestDatagrams: datagrams are told apart by what they begin with, or by the identification of IP; those that look the
// same are left out.
func TestDatagrams(t *testing.T) {
	for name, contents := range map[string]func(i int) ([]byte, []byte){
		"sockperf": func(i int) ([]byte, []byte) {
			reply := number(i)
			reply[9] = 0 // no longer a request
			return number(i), reply
		},
		"native": func(i int) ([]byte, []byte) { return native(i), native(i) },
	} {
		w := newWay(plain, vxlan(4789), vxlan(4789), plain)
		w.udpExchanges(1000, contents)
		r, err := w.read(t, nanoNg)
		if err != nil || r.Matched != 1000 || r.Protocol != "udp" {
			t.Fatal(name, r, err)
		}
		w.judge(t, r, 0.1e-6)
	}
	same := newWay(plain, plain)
	same.udpExchanges(100, func(int) ([]byte, []byte) { return []byte("ping"), []byte("pong") })
	if r, err := same.read(t, nanoNg); err == nil || !strings.Contains(err.Error(), "repeated") {
		t.Errorf("%+v %v", r, err)
	}
	withIdent := newWay(plain, geneve)
	for i := range 100 {
		withIdent.exchange(ip(client4, server4, 17, uint16(i+1), udp(clientPort, serverPort, []byte("ping"))),
			ip(server4, client4, 17, uint16(7*i+1), udp(serverPort, clientPort, []byte("pong"))))
	}
	r, err := withIdent.read(t, nanoNg)
	if err != nil || r.Matched != 100 {
		t.Fatal(r, err)
	}
	withIdent.judge(t, r, 0.1e-6)
}

// TestNumbersBeginAnew: datagrams without a number, as those of netperf, look the same after 65,536, when the numbers
// of IP begin anew. If the points saw the same ones in the same order, all are matched. With one lost in between, only
// those are that look like no other. Without the same ends, none is: numbers could be those of other packets.
func TestNumbersBeginAnew(t *testing.T) {
	const n = 70_000
	w := newWay(plain, geneve)
	for i := range n {
		w.exchange(ip(client4, server4, 17, uint16(i), udp(clientPort, serverPort, []byte("ping"))),
			ip(server4, client4, 17, uint16(7*i), udp(serverPort, clientPort, []byte("pong"))))
	}
	r, err := w.read(t, nanoNg)
	if err != nil || r.Matched != n {
		t.Fatal(r, err)
	}
	w.judge(t, r, 0.1e-6)
	// The second point misses an exchange.
	all := w.points[1].packets
	w.points[1].packets = slices.Delete(slices.Clone(all), 20_000, 20_002)
	r, err = w.read(t, nanoNg)
	if err != nil || r.Matched != 65_536-(n-65_536)-1 || r.Points[0].Unmatched[Elsewhere] != 1 {
		t.Fatal(r, err)
	}
	unique := w.true[n-65_536 : 65_536]
	w.true = slices.Delete(slices.Clone(unique), 10_000-(n-65_536), 10_001-(n-65_536))
	w.judge(t, r, 0.1e-6)
	// The second point begins later, and the first one ends earlier: exchange 100 of the first one has the numbers of
	// exchange 65,636 of the second one.
	w.points[0].packets, w.points[1].packets = w.points[0].packets[:2*60_000], all[2*30_000:]
	if r, err := w.read(t, nanoNg); err == nil || !strings.Contains(err.Error(), "repeated") {
		t.Errorf("%+v %v", r, err)
	}
}

// TestUnderWay: with several datagrams under way, and some lost, a reply belongs to the request whose number it has.
func TestUnderWay(t *testing.T) {
	w := newWay(plain, vxlan(4789), vxlan(4789), plain)
	var matched int
	for i := 0; i < 3000; i += 3 {
		for j := range 3 {
			w.carry(ip(client4, server4, 17, 0, udp(clientPort, serverPort, native(i+j))), false, -1)
			w.now -= 40_000
		}
		w.now += 200_000
		for j := range 3 {
			lost := -1
			if i%30 == 0 && j == 1 {
				lost = 1 + i/30%3
			} else {
				matched++
			}
			w.carry(ip(server4, client4, 17, 0, udp(serverPort, clientPort, native(i+j))), true, lost)
			w.now += 1_000
		}
	}
	for _, p := range w.points { // in the order of time
		slices.SortStableFunc(p.packets, func(a, b captured) int { return int(a.time - b.time) })
	}
	r, err := w.read(t, nanoNg)
	if err != nil {
		t.Fatal(err)
	}
	if r.Matched != matched {
		t.Errorf("%d matched, want %d: %+v", r.Matched, matched, r.Points)
	}
	if p99 := *r.Segments[1].Both.P99; p99 > 1e-3 {
		t.Errorf("p99 of the wire %g", p99)
	}
}

// TestEcho: echoes of both versions of ICMP are matched by their numbers.
func TestEcho(t *testing.T) {
	for _, c := range []struct {
		from, to                 netip.Addr
		protocol, request, reply byte
	}{{client4, server4, 1, 8, 0}, {client6, server6, 58, 128, 129}} {
		w := newWay(plain, vxlan(4789), vxlan(4789), plain)
		for i := range 150 {
			rest := append([]byte{0, 0, 0, 1, 2, byte(i >> 8), byte(i)}, "abcdefghijklmnopqrstuvwxyz012345"...)
			w.exchange(ip(c.from, c.to, c.protocol, 0, append([]byte{c.request}, rest...)),
				ip(c.to, c.from, c.protocol, uint16(i+1), append([]byte{c.reply}, rest...)))
		}
		r, err := w.read(t, nanoNg)
		if err != nil || r.Matched != 150 || r.Protocol != "icmp" || r.Client != c.from.String() {
			t.Fatal(r, err)
		}
		w.judge(t, r, 0.1e-6)
	}
}

// TestCaptures: with several captures, intervals are over the captures.
func TestCaptures(t *testing.T) {
	all, points := files{}, []Point{{Name: "client"}, {Name: "server"}}
	for i := range 7 {
		w := newWay(plain, plain)
		w.there[0] = 5_000 + 500*int64(i)
		w.tcpExchanges(60, client4, server4)
		for j := range points {
			path := fmt.Sprintf("%s-%d", points[j].Name, i)
			points[j].Files = append(points[j].Files, File{Path: path})
			all[path] = nanoNg.write(t, w.points[j].packets, pcapfile.Ethernet)
		}
	}
	r, err := Read(t.Context(), Options{Points: points, Open: all.open})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Segments[0].Both
	if r.Captures != 7 || r.Interval != IntervalCaptures || r.Matched != 420 || len(f.Captures) != 7 ||
		f.Interval == nil || f.Interval[0] != slices.Min(f.Captures) || f.Interval[1] != slices.Max(f.Captures) {
		t.Errorf("%+v %+v", r, f)
	}
	if strings.Contains(strings.Join(r.Notes, "\n"), "capture") {
		t.Error(r.Notes)
	}
	for i := range points {
		points[i].Files = points[i].Files[:2]
	}
	r, err = Read(t.Context(), Options{Points: points, Open: all.open})
	if err != nil || r.Segments[0].Both.Interval != nil || !strings.Contains(r.Notes[0], "2 captures") {
		t.Errorf("%+v %v", r, err)
	}
	points[1].Files = points[1].Files[:1]
	if _, err := Read(t.Context(), Options{Points: points, Open: all.open}); err == nil ||
		!strings.Contains(err.Error(), `"client" has 2 files, and "server" has 1`) {
		t.Error(err)
	}
}

// cooked makes a packet of Linux' device "any".
func cooked(link pcapfile.LinkType, device byte, packet []byte) []byte {
	if link == pcapfile.CookedV1 {
		return append([]byte{0, 4, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0}, packet...)
	}
	return append([]byte{8, 0, 0, 0, 0, 0, 0, device, 0, 1, 4, 6, 0, 0, 0, 0, 0, 0, 0, 0}, packet...)
}

// TestLinks: packets of raw IP and with cooked headers are read, and devices in one file can be told apart.
func TestLinks(t *testing.T) {
	w := newWay(plain, vxlan(4789))
	w.tcpExchanges(100, client4, server4)
	bare := func(p *capturing, of func(packet []byte) []byte) (all []captured) {
		for _, c := range p.packets {
			length := 14 + int(binary.BigEndian.Uint16(c.data[16:]))
			all = append(all, captured{c.time, of(c.data[14:length])})
		}
		return all
	}
	for _, link := range []pcapfile.LinkType{pcapfile.Raw, pcapfile.IPv4, pcapfile.Raw12, pcapfile.CookedV1} {
		of := func(b []byte) []byte { return b }
		if link == pcapfile.CookedV1 {
			of = func(b []byte) []byte { return cooked(link, 0, b) }
		}
		all := files{"a": nanoNg.write(t, bare(w.points[0], of), link),
			"b": nanoNg.write(t, w.points[1].packets, pcapfile.Ethernet)}
		points := []Point{{Name: "a", Files: []File{{Path: "a"}}}, {Name: "b", Files: []File{{Path: "b"}}}}
		if r, err := Read(t.Context(), Options{Points: points, Open: all.open}); err != nil || r.Matched != 100 {
			t.Errorf("link %d: %+v %v", link, r, err)
		}
	}
	both := newWay(plain, plain)
	both.points[1].clock = both.points[0].clock
	both.tcpExchanges(100, client4, server4)
	packets := append(bare(both.points[0], func(b []byte) []byte { return cooked(pcapfile.CookedV2, 3, b) }),
		bare(both.points[1], func(b []byte) []byte { return cooked(pcapfile.CookedV2, 7, b) })...)
	all := files{"any": nanoNg.write(t, packets, pcapfile.CookedV2)}
	point := func(name, device string) Point { return Point{Name: name, Files: []File{{"any", device}}} }
	r, err := Read(t.Context(), Options{Points: []Point{point("in", "3"), point("out", "7")}, Open: all.open})
	if err != nil || r.Matched != 100 || r.Segments[0].There == nil {
		t.Fatal(r, err)
	}
	both.judge(t, r, 0.1e-6)
	for device, want := range map[string]string{
		"":  "of the interfaces 3, 7: name one, for example x=any:3",
		"9": `no packets of the interface "9"; it has packets of 3, 7`,
	} {
		if _, err := Read(t.Context(), Options{Points: []Point{point("x", device)}, Open: all.open}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", device, err)
		}
	}
	all = files{"usb": nanoNg.write(t, packets, 189)}
	usb := Options{Points: []Point{{Name: "x", Files: []File{{"usb", ""}}}}, Open: all.open}
	if _, err := Read(t.Context(), usb); err == nil ||
		!strings.Contains(err.Error(), "usb: byte 80: packets of the link type 189") {
		t.Error(err)
	}
}

// TestChoice: the reader takes the conversation with the most exchanges, or the one with the server that is named.
func TestChoice(t *testing.T) {
	w := newWay(plain, plain)
	w.tcpExchanges(100, client4, server4)
	w.udpExchanges(50, func(i int) ([]byte, []byte) { return number(i), number(i) })
	all, points := w.files(t, nanoNg)
	read := func(s Server) (*Report, error) {
		return Read(t.Context(), Options{Points: points, Open: all.open, Server: s})
	}
	r, err := read(Server{})
	if err != nil || r.Protocol != "tcp" || r.Matched != 100 || len(r.Others) != 1 ||
		r.Others[0] != "udp 10.1.0.1 to 10.1.1.2:5000" {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := read(Server{server4, 5000}); err != nil || r.Matched != 100 {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := read(Server{server4, 5001}); err == nil ||
		!strings.Contains(err.Error(), "the server 10.1.1.2:5001 was seen at every point; at some there are: tcp") {
		t.Errorf("%+v %v", r, err)
	}
}

// TestHidden: packets of WireGuard are counted, and are nothing else.
func TestHidden(t *testing.T) {
	wireGuard := func(packet []byte, back bool) []byte {
		from, to := ends(node4, other4, back)
		return frame(ip(from, to, 17, 9, udp(51820, 51820, append([]byte{4, 0, 0, 0}, packet...))))
	}
	w := newWay(plain, wireGuard, wireGuard, plain)
	w.tcpExchanges(20, client4, server4)
	if r, err := w.read(t, nanoNg); err == nil || !strings.Contains(err.Error(), "behind-a: it has no packets that can "+
		"be used: 48 encrypted") {
		t.Errorf("%+v %v", r, err)
	}
}

// TestOrder: points in the wrong order are noticed.
func TestOrder(t *testing.T) {
	w := newWay(plain, plain)
	w.tcpExchanges(20, client4, server4)
	w.points[0], w.points[1] = w.points[1], w.points[0]
	r, err := w.read(t, nanoNg)
	if err != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "is below 0: are the points in their order") {
		t.Errorf("%+v %v", r, err)
	}
}

// TestBackwards: a clock that is set back between a request and its reply makes no time below 0.
func TestBackwards(t *testing.T) {
	w := newWay(plain, plain)
	w.tcpExchanges(60, client4, server4)
	for i := range w.points[1].packets {
		if p := &w.points[1].packets[i]; i > 20 {
			p.time -= 1_000_000_000
		}
	}
	if request := w.points[1].packets[20].data; binary.BigEndian.Uint16(request[14+22:]) != serverPort {
		t.Fatal("the packet before the clock was set is no request")
	}
	r, err := w.read(t, nanoNg)
	if err != nil || r.Points[1].Unmatched[Backwards] != 1 || r.Points[0].Unmatched[Elsewhere] != 1 || r.Matched != 59 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestInterrupted: reading ends with its context, also in a block that never ends.
func TestInterrupted(t *testing.T) {
	head := nanoNg.write(t, nil, pcapfile.Ethernet)
	head = append(head, 0xad, 0x0b, 0, 0, 0xfc, 0xff, 0xff, 0xff) // a block of 4 GiB
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	endless := io.MultiReader(bytes.NewReader(head), endlessZeros{cancel})
	_, err := Read(ctx, Options{Points: []Point{{Name: "a", Files: []File{{Path: "a"}}}},
		Open: func(string) (io.ReadCloser, error) { return io.NopCloser(endless), nil }})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// endlessZeros gives zeros, and interrupts who reads them.
type endlessZeros struct{ interrupt func() }

func (z endlessZeros) Read(b []byte) (int, error) {
	z.interrupt()
	clear(b)
	return len(b), nil
}

// TestFragments: parts of packets are no packets.
func TestFragments(t *testing.T) {
	packet := ip(client4, server4, 17, 5, udp(clientPort, serverPort, make([]byte, 64)))
	for _, place := range []uint16{0x2000, 0x2001, 1} {
		binary.BigEndian.PutUint16(packet[6:], place)
		if p, why := decode(packet, true); why != Fragment {
			t.Errorf("%+v %s", p, why)
		}
	}
}

// FuzzDecode: no bytes make the decoder fail, and what it finds in a cut packet is what it finds in the whole one.
func FuzzDecode(f *testing.F) {
	request := ip(client4, server4, 6, 1, tcp(clientPort, serverPort, 7, 9, 0x18, []byte("hello")))
	datagram := ip(client6, server6, 17, 0, udp(clientPort, serverPort, native(3)))
	echo := ip(client4, server4, 1, 3, append([]byte{8, 0, 0, 0, 1, 2, 3, 4}, make([]byte, 40)...))
	for _, packet := range [][]byte{request, datagram, echo} {
		for _, c := range []carrier{plain, vlan, qinq, vxlan(4789), geneve, ipip, gre} {
			f.Add(uint16(pcapfile.Ethernet), c(packet, false), uint16(64))
		}
		f.Add(uint16(pcapfile.Raw), packet, uint16(40))
		f.Add(uint16(pcapfile.CookedV1), cooked(pcapfile.CookedV1, 1, packet), uint16(70))
		f.Add(uint16(pcapfile.CookedV2), cooked(pcapfile.CookedV2, 1, packet), uint16(80))
	}
	f.Fuzz(func(t *testing.T, link uint16, b []byte, kept uint16) {
		read := func(b []byte, whole bool) (packet, reason) {
			packet, _, ok := ipPacket(pcapfile.LinkType(link), b)
			if !ok {
				return decode(nil, whole)
			}
			return decode(packet, whole)
		}
		p, why := read(b, true)
		whole := p.from.IsValid() && p.to.IsValid() && p.length >= 0 && p.length <= math.MaxUint16 && p.carried != ""
		if why == "" && !whole {
			t.Fatalf("%+v", p)
		}
		cut, whyCut := read(b[:min(len(b), int(kept))], int(kept) >= len(b))
		if whyCut == "" && (why != "" || cut != p) {
			t.Fatalf("cut: %+v, whole: %+v %s", cut, p, why)
		}
	})
}

// FuzzRead: no two files make the reader fail in another way than by an error, and a report is sound.
func FuzzRead(f *testing.F) {
	for _, carriers := range [][]carrier{{plain, vxlan(4789)}, {vlan, geneve}, {ipip, gre}} {
		w := newWay(carriers...)
		w.tcpExchanges(3, client4, server4)
		w.udpExchanges(3, func(i int) ([]byte, []byte) { return number(i), number(i) })
		for _, format := range []format{
			nanoNg, {order: binary.BigEndian}, {nano: true, order: binary.LittleEndian, snaplen: 64},
		} {
			f.Add(format.write(f, w.points[0].packets, pcapfile.Ethernet),
				format.write(f, w.points[1].packets, pcapfile.Ethernet))
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		all := files{"a": a, "b": b}
		r, err := Read(t.Context(), Options{Open: all.open, Points: []Point{
			{Name: "a", Files: []File{{Path: "a"}}}, {Name: "b", Files: []File{{Path: "b"}}},
		}})
		if err != nil {
			return
		}
		if r.Matched <= 0 || len(r.Segments) != 2 || r.Segments[0].Both == nil || r.Segments[0].There != nil {
			t.Fatalf("%+v", r)
		}
		for _, p := range r.Points {
			if p.Own > p.Packets || r.Matched > p.Exchanges || p.Exchanges*2 > p.Own || p.Turnaround.P50 < 0 {
				t.Fatalf("%+v", p)
			}
		}
	})
}
