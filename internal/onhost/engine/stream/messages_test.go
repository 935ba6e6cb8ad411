package stream

import (
	"net"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

// datagramPair is a connected pair of UDP sockets of the engine over loopback.
func datagramPair(t testing.TB) (from, to *sys.Socket) {
	t.Helper()
	listener, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	dialed, err := net.DialUDP("udp", nil, listener.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	peer, err := wire.AddrPort(dialed.LocalAddr())
	if err != nil {
		t.Fatal(err)
	}
	if to, err = sys.New(listener); err != nil {
		t.Fatal(err)
	}
	if err := to.ConnectTo(peer); err != nil {
		t.Fatal(err)
	}
	if from, err = sys.New(dialed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}

// batchPair sends batches and receives them on one thread: a batch fits into the socket's buffer.
type batchPair struct {
	sender   *messageSender
	receiver *messageReceiver
}

func newBatchPair(t testing.TB, p wire.Params) batchPair {
	t.Helper()
	from, to := datagramPair(t)
	c := wire.NewCookie()
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
		n := b.receiver.in.Receive()
		if n < 0 {
			return -1
		}
		for i := range n {
			d := b.receiver.in.Datagrams(i)
			if d == nil {
				return -1
			}
			for ; len(d) >= b.receiver.message; d = d[b.receiver.message:] {
				if wire.SameCookie(d, b.receiver.cookie[:]) && wire.Sequence(d) != 0 {
					whole++
				}
			}
		}
	}
	return whole
}

func TestMessagesDoNotAllocate(t *testing.T) {
	for name, unsegmented := range map[string]bool{"segmented": false, "one by one": true} {
		p := enginetest.Messages(wire.UDP, 64, 32)
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
			p := enginetest.Messages(wire.UDP, 64, 32)
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

// TestForeignMessages: a datagram without the cookie, of another size, or large because nothing has cut it, does not
// count.
func TestForeignMessages(t *testing.T) {
	for name, batch := range map[string]int{"one by one": 1, "coalesced": 32} {
		from, to := datagramPair(t)
		c := wire.NewCookie()
		r := newMessageReceiver(to, c, enginetest.Messages(wire.UDP, 64, batch))
		process.Reserve(1)
		done := process.OnThread(to.Close, r.runUDP)
		datagram := func(size int, with wire.Cookie, sequence uint64) {
			b := make([]byte, size)
			for ; size >= 64; size -= 64 {
				copy(b[size-64:], with[:])
				wire.PutSequence(b[size-64:], sequence)
			}
			if n := from.Write(b); n != len(b) {
				t.Fatalf("%s: %v", name, from.Err())
			}
		}
		datagram(64, c, 0) // the opening: neither
		datagram(64, c, 1)
		datagram(64, wire.Cookie{}, 2)
		datagram(128, c, 3)
		datagram(63, c, 4)
		datagram(64, c, 9)
		datagram(64, c, 8) // out of order
		want := wire.Tally{Received: 3, Sent: 9, OutOfOrder: 1, Foreign: 3}
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
			t.Errorf("%s: %v", name, to.Err())
		}
	}
}

// TestPublishedTally: the values that are read belong to one moment, although the writer continues.
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
