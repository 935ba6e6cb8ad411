package rr

import (
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// The hot loops against a server in another process: nothing is allocated per transaction or message.

// hotTransactor opens a session and returns its transactor.
func hotTransactor(t testing.TB, p wire.Params) transactor {
	t.Helper()
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	p.Duration = time.Hour // the session stays open
	c, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret, Params: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	process.Reserve(1)
	tr, err := open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// hotParams are the modes of one transaction at a time.
func hotParams() map[string]wire.Params {
	small := wire.Params{Mode: wire.ModeRR, Protocol: wire.TCP, Request: 64, Response: 64, Connections: 1}
	udp, crr := small, small
	udp.Protocol = wire.UDP
	crr.Mode = wire.ModeCRR
	return map[string]wire.Params{"rr-tcp": small, "rr-udp": udp, "crr": crr}
}

func TestTransactionsDoNotAllocate(t *testing.T) {
	for name, p := range hotParams() {
		t.Run(name, func(t *testing.T) {
			tr, rec := hotTransactor(t, p), observe.NewRecorder(int64(time.Hour), int64(time.Second))
			failed := false
			var end int64
			n := testing.AllocsPerRun(200, func() {
				var ok bool
				start := end
				end, ok = tr.run(rec.Current, 0) // one transaction
				rec.CloseInterval(start, end)
				failed = failed || !ok
			})
			if failed {
				t.Fatal(tr.err())
			}
			if n != 0 {
				t.Errorf("a transaction allocates %v times", n)
			}
			if rec.Total.Count() != 201 { // AllocsPerRun warms up once
				t.Errorf("%d transactions were recorded", rec.Total.Count())
			}
		})
	}
}

func BenchmarkTransaction(b *testing.B) {
	for name, p := range hotParams() {
		b.Run(name, func(b *testing.B) {
			tr, h := hotTransactor(b, p), observe.NewHistogram()
			b.ReportAllocs()
			b.ResetTimer()
			for h.Count() < int64(b.N) {
				if _, ok := tr.run(h, timing.Now()+int64(time.Millisecond)); !ok {
					b.Fatal(tr.err())
				}
			}
			b.ReportMetric(float64(h.Percentile(50)), "p50-ns")
		})
	}
}

// TestTimestampsDoNotAllocate: the hot loop does not, with them either.
func TestTimestampsDoNotAllocate(t *testing.T) {
	for _, protocol := range []string{wire.TCP, wire.UDP} {
		tr, h := hotTransactor(t, enginetest.Stamped(protocol)), observe.NewHistogram()
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

// TestEpollDoesNotAllocate: waiting in epoll is on the hot path, of a client that has a time limit for its replies
// (UDP) and of one that has none.
func TestEpollDoesNotAllocate(t *testing.T) {
	for _, protocol := range []string{wire.TCP, wire.UDP} {
		p := enginetest.RR(protocol)
		p.Wait = wire.WaitEpoll
		tr, rec := hotTransactor(t, p), observe.NewRecorder(int64(time.Hour), int64(time.Second))
		failed := false
		n := testing.AllocsPerRun(200, func() {
			_, ok := tr.run(rec.Current, 0) // one transaction
			failed = failed || !ok
		})
		if failed {
			t.Fatal(tr.err())
		}
		if n != 0 || rec.Current.Count() != 201 { // AllocsPerRun warms up once
			t.Errorf("%s: a transaction allocates %v times, and %d were recorded", protocol, n, rec.Current.Count())
		}
	}
}

func TestMain(m *testing.M) { enginetest.Main(m, Serve) }
