package engine

import (
	"net"
	"testing"
	"time"
)

// The hot loops against a server in another process: nothing is allocated per transaction or message.

// hotTransactor opens a session and returns its transactor.
func hotTransactor(t testing.TB, p Params) transactor {
	t.Helper()
	address, _ := startServer(t, "127.0.0.1:0", 0)
	p.Duration = time.Hour // the session stays open
	c, err := dial(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	reserveThreads(1)
	tr, err := c.transactor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// hotParams are the modes of one transaction at a time.
func hotParams() map[string]Params {
	small := Params{Mode: ModeRR, Protocol: TCP, Request: 64, Response: 64, Connections: 1}
	udp, crr := small, small
	udp.Protocol = UDP
	crr.Mode = ModeCRR
	return map[string]Params{"rr-tcp": small, "rr-udp": udp, "crr": crr}
}

func TestTransactionsDoNotAllocate(t *testing.T) {
	for name, p := range hotParams() {
		t.Run(name, func(t *testing.T) {
			tr, rec := hotTransactor(t, p), newRecorder(time.Hour)
			failed := false
			var end int64
			n := testing.AllocsPerRun(200, func() {
				var ok bool
				start := end
				end, ok = tr.run(rec.current, 0) // one transaction
				rec.closeInterval(start, end)
				failed = failed || !ok
			})
			if failed {
				t.Fatal(tr.err())
			}
			if n != 0 {
				t.Errorf("a transaction allocates %v times", n)
			}
			if rec.total.Count() != 201 { // AllocsPerRun warms up once
				t.Errorf("%d transactions were recorded", rec.total.Count())
			}
		})
	}
}

func BenchmarkTransaction(b *testing.B) {
	for name, p := range hotParams() {
		b.Run(name, func(b *testing.B) {
			tr, h := hotTransactor(b, p), NewHistogram()
			b.ReportAllocs()
			b.ResetTimer()
			for h.Count() < int64(b.N) {
				if _, ok := tr.run(h, nanotime()+int64(time.Millisecond)); !ok {
					b.Fatal(tr.err())
				}
			}
			b.ReportMetric(float64(h.Percentile(50)), "p50-ns")
		})
	}
}

// streamPair is a connection over loopback of which both ends are sockets of the engine.
func streamPair(t testing.TB) (from, to *socket) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if from, err = newSocket(dialed.(rawConn)); err != nil {
		t.Fatal(err)
	}
	if to, err = newSocket(accepted.(rawConn)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.close(); to.close() })
	return from, to
}

// streamMessage sends one message and receives it, on one thread: it fits into the socket's buffers.
func streamMessage(s *streamSender, to *socket, buffer []byte) bool {
	return s.send() && readRest(to, buffer, to.read(buffer))
}

func TestStreamDoesNotAllocate(t *testing.T) {
	from, to := streamPair(t)
	s, buffer := newStreamSender(from, newBuffer(8<<10)), newBuffer(8<<10)
	failed := false
	if n := testing.AllocsPerRun(200, func() { failed = failed || !streamMessage(s, to, buffer) }); n != 0 {
		t.Errorf("a message allocates %v times", n)
	}
	if failed {
		t.Error("a message did not arrive")
	}
}

func BenchmarkStreamMessage(b *testing.B) {
	from, to := streamPair(b)
	s, buffer := newStreamSender(from, newBuffer(8<<10)), newBuffer(8<<10)
	b.ReportAllocs()
	b.SetBytes(int64(len(s.message)))
	for b.Loop() {
		if !streamMessage(s, to, buffer) {
			b.Fatal("a message did not arrive")
		}
	}
}
