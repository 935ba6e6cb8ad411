package engine

import (
	"net"
	"testing"
	"time"

	"nearfar/internal/engine/record"
	"nearfar/internal/result"
)

func messageParams(protocol string, message, batch int) Params {
	p := Params{Mode: ModeMessages, Protocol: protocol, Message: message, Connections: 1,
		Warmup: 50 * time.Millisecond, Duration: 400 * time.Millisecond}
	p.Batch = batch
	return p
}

// TestMessages: over both protocols, in batches and one by one, with segmentation and without.
func TestMessages(t *testing.T) {
	unsegmented, spinning, busy, large := messageParams(UDP, 64, 32), messageParams(UDP, 64, 8), messageParams(UDP, 100, 4), messageParams(UDP, 9000, 3)
	unsegmented.Unsegmented = true
	spinning.Wait = WaitSpin
	busy.Wait = WaitBusyPoll
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		address, _ := startServer(t, listen, 0)
		for name, p := range map[string]Params{
			"udp": messageParams(UDP, 64, 32), "one by one": messageParams(UDP, 32, 1), "many": messageParams(UDP, 64, 1000), "unsegmented": unsegmented,
			"spinning": spinning, "busy": busy, "large": large, "tcp": messageParams(TCP, 64, 32), "tcp, one byte": messageParams(TCP, 1, 1),
		} {
			t.Run(name+" "+listen, func(t *testing.T) {
				if p.waiting() != WaitBlock {
					onLinux(t)
				}
				r, c, err := run(t, address, p)
				if err != nil {
					t.Fatal(err)
				}
				checkMessages(t, p, r, c)
			})
		}
	}
}

func checkMessages(t *testing.T, p Params, r record.Result, c *collector) {
	t.Helper()
	var inIntervals int64
	for _, i := range c.intervals {
		inIntervals += i.Messages
	}
	received := value(t, r, result.Received, "", "")
	if received <= 0 || received != float64(inIntervals) {
		t.Errorf("%v received, %d in the intervals", received, inIntervals)
	}
	if got, want := value(t, r, result.MessageRate, "", ""), received/r.Duration; got < want*0.9999 || got > want*1.0001 {
		t.Errorf("%v messages a second, not %v", got, want)
	}
	if got, want := value(t, r, result.Goodput, "", ""), received*8*float64(p.Message)/r.Duration; got < want*0.9999 || got > want*1.0001 {
		t.Errorf("goodput %v, not %v", got, want)
	}
	sent := value(t, r, result.Sent, "", "")
	if p.Protocol == UDP {
		if lost := value(t, r, result.Lost, "", ""); sent != received+lost {
			t.Errorf("%v sent, %v received, %v lost", sent, received, lost)
		}
		if r.Facts["server.foreign"] != "0" || value(t, r, result.OutOfOrder, "", "") != 0 {
			t.Errorf("facts %v", r.Facts)
		}
	}
	for _, side := range []string{"", "server."} {
		if r.Facts[side+"wait"] != p.waiting() || p.Protocol == UDP && r.Facts[side+"batching"] == "" {
			t.Errorf("facts %v", r.Facts)
		}
	}
}

// TestMessageRate: at a rate far below what goes, nothing is lost and the rate is kept.
func TestMessageRate(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	for _, protocol := range []string{UDP, TCP} {
		p := messageParams(protocol, 64, 8)
		p.MessageRate, p.Duration = 2000, time.Second
		r, c, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		checkMessages(t, p, r, c)
		// A machine that pauses shifts messages over the edges of the window.
		if got := value(t, r, result.MessageRate, "", ""); got < 1800 || got > 2200 {
			t.Errorf("%s: %v messages a second, not 2000", protocol, got)
		}
		if protocol == UDP && value(t, r, result.Lost, "", "") != 0 {
			t.Errorf("%v of 2000 a second were lost over loopback", value(t, r, result.Lost, "", ""))
		}
	}
}

// TestMessagesServerKilled: the sender does not go on for nobody.
func TestMessagesServerKilled(t *testing.T) {
	for _, protocol := range []string{UDP, TCP} {
		address, kill := startServer(t, "127.0.0.1:0", 0)
		p := messageParams(protocol, 64, 32)
		p.Duration = time.Minute
		started := time.Now()
		_, err := Run(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: p}, &collector{onStart: func() {
			time.AfterFunc(300*time.Millisecond, kill)
		}})
		if err == nil || time.Since(started) > 30*time.Second {
			t.Errorf("%s: after %v: %v", protocol, time.Since(started), err)
		}
	}
}

// datagramPair is a connected pair of UDP sockets of the engine over loopback.
func datagramPair(t testing.TB) (from, to *socket) {
	t.Helper()
	listener, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	dialed, err := net.DialUDP("udp", nil, listener.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	peer, err := addrPort(dialed.LocalAddr())
	if err != nil {
		t.Fatal(err)
	}
	if to, err = newSocket(listener); err != nil {
		t.Fatal(err)
	}
	if err := to.connectTo(peer); err != nil {
		t.Fatal(err)
	}
	if from, err = newSocket(dialed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.close(); to.close() })
	return from, to
}

// batchPair sends batches and receives them on one thread: a batch fits into the socket's buffer.
type batchPair struct {
	sender   *messageSender
	receiver *messageReceiver
}

func newBatchPair(t testing.TB, p Params) batchPair {
	t.Helper()
	from, to := datagramPair(t)
	c := newCookie()
	s, err := newMessageSender(from, c, p)
	if err != nil {
		t.Fatal(err)
	}
	return batchPair{s, newMessageReceiver(to, c, p)}
}

// pass sends one batch and gives the number of whole messages that came out.
func (b batchPair) pass() (whole int) {
	took := b.sender.send(b.sender.batch)
	b.sender.sequence += uint64(max(took, 0))
	for whole < took {
		n := b.receiver.in.receive()
		if n < 0 {
			return -1
		}
		for i := range n {
			d := b.receiver.in.datagrams(i)
			if d == nil {
				return -1
			}
			for ; len(d) >= b.receiver.message; d = d[b.receiver.message:] {
				if sameCookie(d, b.receiver.cookie[:]) && sequenceOf(d) != 0 {
					whole++
				}
			}
		}
	}
	return whole
}

func TestMessagesDoNotAllocate(t *testing.T) {
	for name, unsegmented := range map[string]bool{"segmented": false, "one by one": true} {
		p := messageParams(UDP, 64, 32)
		p.Unsegmented = unsegmented
		b := newBatchPair(t, p)
		failed := false
		if n := testing.AllocsPerRun(200, func() { failed = failed || b.pass() != 32 }); n != 0 {
			t.Errorf("%s: a batch allocates %v times", name, n)
		}
		if failed {
			t.Errorf("%s: a batch did not arrive whole", name)
		}
	}
}

func BenchmarkMessageBatch(b *testing.B) {
	for name, unsegmented := range map[string]bool{"segmented": false, "one by one": true} {
		b.Run(name, func(b *testing.B) {
			p := messageParams(UDP, 64, 32)
			p.Unsegmented = unsegmented
			pair := newBatchPair(b, p)
			b.ReportAllocs()
			for b.Loop() {
				if pair.pass() != 32 {
					b.Fatal("a batch did not arrive whole")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32, "ns/message")
		})
	}
}

// TestForeignMessages: what does not carry the cookie, or has another size, or is a large datagram that nothing has cut,
// does not count.
func TestForeignMessages(t *testing.T) {
	for name, batch := range map[string]int{"one by one": 1, "coalesced": 32} {
		from, to := datagramPair(t)
		c := newCookie()
		r := newMessageReceiver(to, c, messageParams(UDP, 64, batch))
		done := onThread(to, r.runUDP)
		datagram := func(size int, with cookie, sequence uint64) {
			b := make([]byte, size)
			for ; size >= 64; size -= 64 {
				copy(b[size-64:], with[:])
				putSequence(b[size-64:], sequence)
			}
			if n := from.write(b); n != len(b) {
				t.Fatalf("%s: %v", name, from.err())
			}
		}
		datagram(64, c, 0) // the opening: neither
		datagram(64, c, 1)
		datagram(64, cookie{}, 2)
		datagram(128, c, 3)
		datagram(63, c, 4)
		datagram(64, c, 9)
		datagram(64, c, 8) // out of order
		want := messageTally{Received: 3, Sent: 9, OutOfOrder: 1, Foreign: 3}
		deadline := time.Now().Add(10 * time.Second)
		for r.counts.read() != want && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		if got := r.counts.read(); got != want {
			t.Errorf("%s: %+v, not %+v", name, got, want)
		}
		r.stop()
		<-done
		if r.failed {
			t.Errorf("%s: %v", name, to.err())
		}
	}
}

// TestPublishedTally: what is read is of one moment, while the writer goes on.
func TestPublishedTally(t *testing.T) {
	var p publishedTally
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range int64(200_000) {
			p.publish(i, 2*i, 3*i, 4*i)
		}
	}()
	for {
		if m := p.read(); m.Sent != 2*m.Received || m.OutOfOrder != 3*m.Received || m.Foreign != 4*m.Received {
			t.Fatalf("%+v", m)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}
