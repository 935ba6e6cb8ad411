package load

import (
	"encoding/binary"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// TestLoadForeignDatagrams: the data port of a load answers only the session's datagrams, each once.
func TestLoadForeignDatagrams(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	p := enginetest.Load(wire.UDP, 2)
	c, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret, Params: p})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sockets, err := c.OpenAll(2, func() (*sys.Socket, error) { return c.DialDatagrams(t.Context()) })
	if err != nil {
		t.Fatal(err)
	}
	if err := openUDP(t.Context(), c, sockets[0]); err != nil {
		t.Fatal(err)
	}
	if err := c.Frames.Write(wire.KindStart, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Frames.Expect(wire.KindBegin, nil); err != nil {
		t.Fatal(err)
	}
	datagram := enginetest.Datagram
	almost := c.Cookie
	almost[3] ^= 1
	say := func(s *sys.Socket, b []byte) {
		t.Helper()
		if n := s.Write(b); n != len(b) {
			t.Fatal(s.Err())
		}
	}
	if err := sockets[1].SetReceiveTimeout(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 2000)
	for sequence := uint64(2); sequence < 8; sequence += 2 {
		say(sockets[1], datagram(p.Request, almost, sequence))
		say(sockets[1], datagram(p.Request+1, c.Cookie, sequence))
		say(sockets[1], datagram(p.Request-1, c.Cookie, sequence))
		say(sockets[1], datagram(20, c.Cookie, sequence))
		say(sockets[1], datagram(p.Request, c.Cookie, sequence))
		say(sockets[1], datagram(p.Request, c.Cookie, sequence)) // again
		if n := sockets[1].Read(reply); n != p.Response || wire.Sequence(reply) != sequence {
			t.Errorf("a reply of %d bytes to %d, not to %d", n, wire.Sequence(reply), sequence)
		}
	}
}

// FuzzLoadReply: the counts stay possible, whatever comes as a reply.
func FuzzLoadReply(f *testing.F) {
	f.Add([]byte("some bytes"), uint64(1), uint8(1), 40)
	f.Add(make([]byte, 100), uint64(1<<63), uint8(0), 40)
	f.Fuzz(func(t *testing.T, content []byte, sequence uint64, flags uint8, size int) {
		u := &overUDP{tally: &tally{start: 10, end: 1 << 62, response: observe.NewRecorder(int64(time.Second),
			int64(time.Second)), service: &observe.Histogram{}, lateness: &observe.Histogram{}},
			slots: make([]slot, 8), newest: make([]uint64, 1), request: make([]byte, 64), response: make([]byte, 41)}
		for n := uint64(1); n <= 12; n++ { // the first four are forgotten
			u.slots[n&7] = slot{sequence: n, intended: int64(n) + 5, actual: timing.Now()}
		}
		u.sequence, u.open = 12, 8
		copy(u.response[wire.CookieSize:], content)
		binary.BigEndian.PutUint64(u.response[wire.CookieSize:], sequence)
		u.response[wire.FlagsOffset] = flags
		for range 2 {
			u.receive(0, u.response, min(max(size, 0), len(u.response)), timing.Now())
		}
		if u.open < 7 || u.tally.answered > 1 || u.tally.answered != u.tally.response.Current.Count() {
			t.Fatalf("%d open, %d answered", u.open, u.tally.answered)
		}
		if c := u.counts; c.Late+c.Duplicates+c.Foreign > 2 || c.Late < 0 || c.Duplicates < 0 {
			t.Fatalf("%+v", c)
		}
	})
}
