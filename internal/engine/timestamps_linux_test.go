//go:build !portable

package engine

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/result"
)

// control writes control messages as the kernel does.
type control []byte

func (c control) message(level, kind uint32, data []byte) control {
	c = binary.NativeEndian.AppendUint64(c, uint64(controlHeader+len(data)))
	c = binary.NativeEndian.AppendUint32(c, level)
	c = binary.NativeEndian.AppendUint32(c, kind)
	c = append(c, data...)
	for len(c)%8 != 0 {
		c = append(c, 0)
	}
	return c
}

func timespecs(values ...uint64) (b []byte) {
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

func extendedError(origin byte, info, data uint32) []byte {
	b := make([]byte, extendedErrLength)
	b[4] = origin
	binary.NativeEndian.PutUint32(b[8:12], info)
	binary.NativeEndian.PutUint32(b[12:16], data)
	return b
}

func TestDecodeControl(t *testing.T) {
	stamp := timespecs(3, 5, 0, 0, 7, 9)
	for name, c := range map[string]struct {
		control control
		want    controlReport
	}{
		"nothing":        {nil, controlReport{}},
		"arrival":        {control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp), controlReport{software: 3e9 + 5, hardware: 7e9 + 9}},
		"sent over IPv4": {control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp).message(unix.SOL_IP, unix.IP_RECVERR, extendedError(4, 0, 41)), controlReport{software: 3e9 + 5, hardware: 7e9 + 9, sent: true, id: 41}},
		"sent over IPv6": {control{}.message(unix.SOL_IPV6, unix.IPV6_RECVERR, extendedError(4, 0, 42)).message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp), controlReport{software: 3e9 + 5, hardware: 7e9 + 9, sent: true, id: 42}},
		"queued":         {control{}.message(unix.SOL_IP, unix.IP_RECVERR, extendedError(4, 1, 41)), controlReport{id: 41}},
		"an ICMP error":  {control{}.message(unix.SOL_IP, unix.IP_RECVERR, extendedError(2, 0, 41)), controlReport{id: 41}},
		"another":        {control{}.message(unix.SOL_SOCKET, unix.SCM_RIGHTS, []byte{1, 2, 3, 4}), controlReport{}},
		"cut short":      {control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp)[:40], controlReport{}},
		"too short":      {control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp[:16]), controlReport{}},
	} {
		if got := decodeControl(c.control); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func FuzzDecodeControl(f *testing.F) {
	f.Add([]byte(control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, timespecs(1, 2, 3, 4, 5, 6)).message(unix.SOL_IP, unix.IP_RECVERR, extendedError(4, 0, 1))))
	f.Add([]byte(control{}.message(1, 2, nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := decodeControl(b)
		if r.sent && len(b) < controlHeader+extendedErrLength || r.software != 0 && len(b) < controlHeader+timestampLength {
			t.Errorf("%d bytes say %+v", len(b), r)
		}
	})
}

func TestTimestamps(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		address, _ := startServer(t, listen, 0)
		large := stampedParams(TCP)
		large.Request, large.Response = 200_000, 100_000 // several segments, reads and writes each
		spinning := stampedParams(TCP)
		spinning.Wait = WaitSpin
		for name, p := range map[string]Params{"tcp": stampedParams(TCP), "udp": stampedParams(UDP), "large": large, "spinning": spinning} {
			t.Run(name+" "+listen, func(t *testing.T) {
				r, c, err := run(t, address, p)
				if err != nil {
					t.Fatal(err)
				}
				checkTransactions(t, p, r, c)
				checkParts(t, r)
				for _, fact := range []string{"timestamps_device", "server.timestamps_device"} {
					if r.Facts[fact] != "lo: software tx, software rx, no hardware tx, no hardware rx" {
						t.Errorf("%s: %q", fact, r.Facts[fact])
					}
				}
				for _, fact := range []string{"timestamps_hardware", "server.timestamps_hardware"} {
					if r.Facts[fact] != "none: lo does not stamp both ways in hardware" {
						t.Errorf("%s: %q", fact, r.Facts[fact])
					}
				}
				if r.Facts["timestamps"] != "software" || r.Facts["server.timestamps"] != "software" || r.Facts["timestamps_missing"] != "none" || r.Facts["timestamps_rtt_p50_without"] == "" {
					t.Errorf("facts: %v", r.Facts)
				}
				if !strings.Contains(strings.Join(r.Notes, " "), "do not compare") {
					t.Errorf("notes: %v", r.Notes)
				}
			})
		}
	}
}

// TestTimestampsWithoutWarmup: the cost of the timestamps is then not known, and the record says so.
func TestTimestampsWithoutWarmup(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	for _, protocol := range []string{TCP, UDP} {
		p := stampedParams(protocol)
		p.Warmup = 0
		r, _, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		checkParts(t, r)
		if cost := r.Facts["timestamps_overhead"]; !strings.HasPrefix(cost, "not measured") {
			t.Errorf("without a warm-up the timestamps cost %q", cost)
		}
	}
}

// TestTimestampsLoss: lost and doubled datagrams do not confuse whose timestamps are whose.
func TestTimestampsLoss(t *testing.T) {
	address := relay(t, func(n int64, toServer bool) int {
		switch {
		case toServer && n%100 == 99, !toServer && n%140 == 139:
			return 0
		case n%30 == 29:
			return 2
		}
		return 1
	})
	p := stampedParams(UDP)
	p.Duration = 2 * time.Second
	r, _, err := run(t, address, p)
	if err != nil {
		t.Fatal(err)
	}
	// The transactions around a lost one are not divided, and take longer than others: the record says by how much.
	checkPartsOf(t, r)
	if lost, again := value(t, r, result.Lost, "", ""), value(t, r, result.Duplicates, "", ""); lost == 0 || again == 0 {
		t.Errorf("lost %v, duplicates %v", lost, again)
	}
}

// TestTimestampsDoNotAllocate: the hot loop does not, with them either.
func TestTimestampsDoNotAllocate(t *testing.T) {
	for _, protocol := range []string{TCP, UDP} {
		tr, h := hotTransactor(t, stampedParams(protocol)), NewHistogram()
		failed := false
		if n := testing.AllocsPerRun(200, func() {
			_, ok := tr.run(h, 0)
			failed = failed || !ok
		}); n != 0 {
			t.Errorf("%s: a transaction allocates %v times", protocol, n)
		}
		if failed {
			t.Fatal(tr.err())
		}
	}
}

// TestStampedSocket: what this kernel gives over loopback, one datagram after the other, and nothing while turned off.
func TestStampedSocket(t *testing.T) {
	receiver, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	sender, err := net.Dial("udp", receiver.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	from, err := newSocket(sender.(rawConn))
	if err != nil {
		t.Fatal(err)
	}
	to, err := newSocket(receiver)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.close(); to.close() })
	tx, err := newStampedSocket(from, 1)
	if err != nil {
		t.Fatal(err)
	}
	rx, err := newStampedSocket(to, 1)
	if err != nil {
		t.Fatal(err)
	}
	message, previous := make([]byte, 64), stampedTransaction{}
	// exchange sends one datagram and gives its two timestamps.
	exchange := func() (sent, arrived int64) {
		t.Helper()
		if n := from.write(message); n != len(message) {
			t.Fatal(from.err())
		}
		if n := rx.read(message); n != len(message) {
			t.Fatal(to.err())
		}
		if !tx.on {
			return 0, rx.rx
		}
		tx.sent++
		current := stampedTransaction{id: tx.lastID()}
		tx.transmits(&current, &previous)
		return current.tx, rx.rx
	}
	for range 3 {
		if sent, arrived := exchange(); sent != 0 || arrived != 0 {
			t.Errorf("timestamps %d and %d of a socket that has none", sent, arrived)
		}
		for _, s := range []*stampedSocket{tx, rx} {
			if err := s.turn(true); err != nil {
				t.Fatal(err)
			}
		}
		var last int64
		for tries := 0; ; tries++ {
			sent, arrived := exchange()
			if sent <= last {
				t.Fatalf("sent at %d after %d", sent, last)
			}
			last = sent
			if arrived != 0 {
				if arrived < sent {
					t.Errorf("arrived at %d, sent at %d", arrived, sent)
				}
				break
			}
			if tries == 10_000 {
				t.Fatal("the kernel does not say when a datagram arrives")
			}
		}
		for _, s := range []*stampedSocket{tx, rx} {
			if err := s.turn(false); err != nil {
				t.Fatal(err)
			}
		}
	}
}
