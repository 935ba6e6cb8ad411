package engine

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// relay passes a session on like relayDatagrams; filter says how many times each datagram is passed on.
func relay(t *testing.T, filter func(n int64, toServer bool) int) string {
	t.Helper()
	var up, down atomic.Int64
	return relayDatagrams(t, func(datagram []byte, toServer bool) [][]byte {
		n := &up
		if !toServer {
			n = &down
		}
		out := make([][]byte, filter(n.Add(1)-1, toServer))
		for i := range out {
			out[i] = datagram
		}
		return out
	})
}

// relayDatagrams passes a session on from 127.0.0.1 to a server on 127.0.0.2, datagrams through a filter that lists the
// datagrams to send for each. The data port is the same on both sides.
func relayDatagrams(t *testing.T, filter func(datagram []byte, toServer bool) [][]byte) string {
	t.Helper()
	const front, back = "127.0.0.1", "127.0.0.2"
	var fromClient *net.UDPConn
	var serverAddress string
	// A port that is free on both addresses.
	for fromClient == nil {
		c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(front)})
		if err != nil {
			t.Fatal(err)
		}
		probe, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(back), Port: c.LocalAddr().(*net.UDPAddr).Port})
		if err != nil {
			_ = c.Close()
			continue
		}
		_ = probe.Close()
		fromClient = c
	}
	port := fromClient.LocalAddr().(*net.UDPAddr).Port
	serverAddress, _ = enginetest.Start(t, back+":0", port)
	toServer, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(front)}, &net.UDPAddr{IP: net.ParseIP(back),
		Port: port})
	if err != nil {
		t.Fatal(err)
	}
	control, err := net.Listen("tcp", front+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = control.Close(); _ = fromClient.Close(); _ = toServer.Close() })
	go func() {
		c, err := control.Accept()
		if err != nil {
			return
		}
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(front)}}
		s, err := d.Dial("tcp", serverAddress)
		if err != nil {
			_ = c.Close()
			return
		}
		go func() { _, _ = io.Copy(s, c); _ = s.Close() }()
		_, _ = io.Copy(c, s)
		_ = c.Close()
	}()
	var client atomic.Pointer[netip.AddrPort]
	pass := func(from *net.UDPConn, isToServer bool, send func([]byte)) {
		b := make([]byte, 2048)
		for {
			size, address, err := from.ReadFromUDPAddrPort(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			if isToServer {
				client.Store(&address)
			}
			for _, datagram := range filter(b[:size], isToServer) {
				send(datagram)
			}
		}
	}
	go pass(fromClient, true, func(b []byte) { _, _ = toServer.Write(b) })
	go pass(toServer, false, func(b []byte) {
		if to := client.Load(); to != nil {
			_, _ = fromClient.WriteToUDPAddrPort(b, *to)
		}
	})
	return control.Addr().String()
}

// TestLoss: every 50th request and every 70th reply is dropped, every 30th reply comes twice. Nothing hangs, and the
// losses are counted.
func TestLoss(t *testing.T) {
	var dropped, doubled atomic.Int64
	address := relay(t, func(n int64, toServer bool) int {
		switch {
		case toServer && n%50 == 49, !toServer && n%70 == 69:
			dropped.Add(1)
			return 0
		case !toServer && n%30 == 29:
			doubled.Add(1)
			return 2
		}
		return 1
	})
	p := enginetest.RR(wire.UDP)
	p.Warmup, p.Duration = 0, 1500*time.Millisecond
	r, _, err := run(t, address, p)
	if err != nil {
		t.Fatal(err)
	}
	// A datagram that a stall of the machine delays is late, and not lost in either direction.
	lost := value(t, r, result.Lost, "", "up") + value(t, r, result.Lost, "", "down")
	duplicates := value(t, r, result.Duplicates, "", "")
	// The opening exchange, before the window, can have taken some of either.
	if got, want := int64(lost), dropped.Load(); got < want-2 || got > want || got == 0 {
		t.Errorf("lost %d, the relay dropped %d", got, want)
	}
	if got, want := int64(duplicates), doubled.Load(); got < want-2 || got > want || got == 0 {
		t.Errorf("%d duplicates, the relay made %d", got, want)
	}
	if loss := value(t, r, result.Loss, "", ""); loss <= 0 || loss >= 0.5 {
		t.Errorf("loss %v", loss)
	}
	if worst := value(t, r, result.RTT, "max", ""); worst >= 0.15 {
		t.Errorf("a round trip of %v s was recorded, for which nothing waited", worst)
	}
}

func TestAllLost(t *testing.T) {
	t.Parallel()
	address := relay(t, func(int64, bool) int { return 0 })
	started := time.Now()
	_, _, err := run(t, address, enginetest.RR(wire.UDP))
	if err == nil || time.Since(started) > 3*wire.HandshakeTime {
		t.Errorf("after %v: %v", time.Since(started), err)
	}
	t.Log(err)
}

// TestForeignDatagrams: the data port answers only the session's datagrams of the agreed size. A valid exchange that
// follows shows that it was silent.
func TestForeignDatagrams(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	c, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret,
		Params: enginetest.RR(wire.UDP)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	conn, err := net.Dial("udp", c.Server.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	datagram := enginetest.Datagram
	send := func(b []byte) {
		t.Helper()
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	almost := c.Cookie
	almost[wire.CookieSize-1] ^= 1
	foreign := func() {
		send(datagram(100, wire.Cookie{}, 1))
		send(datagram(100, almost, 2))
		send(datagram(99, c.Cookie, 3))
		send(datagram(101, c.Cookie, 4))
		send(datagram(5000, c.Cookie, 5))
		send(datagram(16, c.Cookie, 6))
		send(nil)
	}
	foreign()
	reply := make([]byte, 6000)
	next := func() (int, uint64) {
		t.Helper()
		n, err := conn.Read(reply)
		if err != nil {
			t.Fatal(err)
		}
		return n, wire.Sequence(reply)
	}
	send(datagram(100, c.Cookie, 7))
	if n, sequence := next(); sequence != 7 || n != 60 {
		t.Errorf("the opening reply is to %d, with %d bytes", sequence, n)
	}
	foreign()
	send(datagram(100, c.Cookie, 8))
	if n, sequence := next(); sequence != 8 || n != 60 || !wire.SameCookie(reply, c.Cookie[:]) {
		t.Errorf("the second reply is to %d, with %d bytes", sequence, n)
	}
	foreign()
	send(datagram(100, c.Cookie, 9))
	if n, sequence := next(); sequence != 9 || n != 60 {
		t.Errorf("the third reply is to %d, with %d bytes", sequence, n)
	}
}

// TestForeignConnections: a data connection without the cookie is closed, and does not take the session's place.
func TestForeignConnections(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	c, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret,
		Params: enginetest.RR(wire.TCP)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stranger, err := net.Dial("tcp", c.Server.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Close() }()
	if err := stranger.SetDeadline(time.Now().Add(wire.HandshakeTime)); err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if heard, err := io.ReadAll(stranger); len(heard) != 0 || wire.IsTimeout(err) {
		t.Errorf("a stranger on the data port heard %d bytes, %v", len(heard), err)
	}
	if r, err := measure(t.Context(), c, &collector{}); err != nil || len(r.Metrics) == 0 {
		t.Errorf("the session after the stranger: %v", err)
	}
}

// A script says what happens to the window's datagrams, numbered from 0 in each direction, and what that must yield.
type script struct {
	drop  map[uint64]bool
	twice map[uint64]int
	// The keys are datagrams that are held back until the datagram in the value has come. The held datagram is then
	// sent before that one (holdUntilBefore) or after it (holdUntilAfter).
	holdUntilBefore, holdUntilAfter map[uint64]uint64
}

// scripted carries out scripts, one for each direction.
type scripted struct {
	mu    sync.Mutex
	first uint64 // the sequence number of the window's first request
	sides [2]struct {
		script
		before, after map[uint64][]byte
	}
}

func (s *scripted) filter(datagram []byte, toServer bool) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(datagram) < wire.DatagramHeader || datagram[wire.FlagsOffset]&wire.FlagCounted == 0 {
		return [][]byte{datagram}
	}
	if s.first == 0 {
		s.first = wire.Sequence(datagram)
	}
	n := wire.Sequence(datagram) - s.first
	side := &s.sides[0]
	if !toServer {
		side = &s.sides[1]
	}
	if side.before == nil {
		side.before, side.after = map[uint64][]byte{}, map[uint64][]byte{}
	}
	if until, ok := side.holdUntilBefore[n]; ok {
		side.before[until] = append([]byte(nil), datagram...)
		return nil
	}
	if until, ok := side.holdUntilAfter[n]; ok {
		side.after[until] = append([]byte(nil), datagram...)
		return nil
	}
	var out [][]byte
	if held := side.before[n]; held != nil {
		out = append(out, held)
	}
	if !side.drop[n] {
		for range 1 + side.twice[n] {
			out = append(out, datagram)
		}
	}
	if held := side.after[n]; held != nil {
		out = append(out, held)
	}
	return out
}

// TestDatagramCounts: known datagrams are dropped, doubled and held back in each direction, and each count is exact.
func TestDatagramCounts(t *testing.T) {
	s := &scripted{}
	up, down := &s.sides[0].script, &s.sides[1].script
	up.drop = map[uint64]bool{10: true, 20: true}
	up.twice = map[uint64]int{30: 1, 31: 2}
	up.holdUntilBefore = map[uint64]uint64{40: 41} // answered late, in order
	up.holdUntilAfter = map[uint64]uint64{45: 47}  // arrives out of order, and so does its reply
	down.drop = map[uint64]bool{50: true, 60: true, 70: true}
	down.twice = map[uint64]int{80: 2}
	down.holdUntilBefore = map[uint64]uint64{90: 91}
	down.holdUntilAfter = map[uint64]uint64{100: 103}
	address := relayDatagrams(t, s.filter)
	p := enginetest.RR(wire.UDP)
	p.Warmup, p.Duration = 10*time.Millisecond, 4500*time.Millisecond // nine losses of 400 ms each, and the rest
	c, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret, Params: p})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.RoundTrip = 40 * time.Millisecond // waits for 400 ms: no stall of the machine counts as a loss
	r, err := measure(t.Context(), c, &collector{})
	if err != nil {
		t.Fatal(err)
	}
	sent := value(t, r, result.Sent, "", "")
	if sent < 120 {
		t.Fatalf("%v were sent: the script was not carried out", sent)
	}
	for _, want := range []struct {
		name, scope string
		value       float64
	}{
		{result.Lost, "up", 2}, {result.Lost, "down", 3}, {result.Late, "", 4}, {result.Lost, "", 9},
		{result.Received, "", sent - 9}, {result.Loss, "", 9 / sent}, {result.Loss, "up", 2 / sent}, {result.Loss,
			"down", 3 / (sent - 2)},
		{result.Duplicates, "up", 3}, {result.Duplicates, "down", 2}, {result.Duplicates, "", 5},
		{result.OutOfOrder, "up", 1}, {result.OutOfOrder, "down", 2}, {result.OutOfOrder, "", 3},
	} {
		if got := value(t, r, want.name, "", want.scope); got != want.value {
			t.Errorf("%s %s: %v, want %v", want.name, want.scope, got, want.value)
		}
	}
}
