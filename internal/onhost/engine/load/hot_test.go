package load

import (
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// hotLoad opens a session of load and returns its transport and tally, with the server answering.
func hotLoad(t testing.TB, protocol string, connections int) (transport, *tally) {
	t.Helper()
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	p := enginetest.Load(protocol, connections)
	p.Duration = time.Hour // the session stays open
	c, err := session.Dial(t.Context(), enginetest.LoadOptions(address, p, 1000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	tl := &tally{end: 1 << 62, response: observe.NewRecorder(int64(time.Hour), int64(time.Second)),
		service: observe.NewHistogram(), lateness: observe.NewHistogram()}
	tr, err := open(t.Context(), c, tl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.close)
	if err := c.Frames.Write(wire.KindStart, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Frames.Expect(wire.KindBegin, nil); err != nil {
		t.Fatal(err)
	}
	return tr, tl
}

// exchange sends one request and waits for its reply.
func exchangeLoad(tr transport, tl *tally) bool {
	if !tr.send(timing.Now()) {
		return false
	}
	for before := tl.answered; tl.answered == before; {
		if !tr.poll(int64(time.Second)) {
			return false
		}
	}
	return true
}

func TestLoadDoesNotAllocate(t *testing.T) {
	for _, protocol := range []string{wire.TCP, wire.UDP} {
		tr, tl := hotLoad(t, protocol, 3)
		failed := false
		n := testing.AllocsPerRun(200, func() {
			start := timing.Now()
			failed = failed || !exchangeLoad(tr, tl)
			tl.response.CloseInterval(start, timing.Now())
		})
		if failed {
			t.Fatal(tr.err())
		}
		if n != 0 {
			t.Errorf("%s: a request allocates %v times", protocol, n)
		}
		if tl.answered != 201 { // AllocsPerRun warms up once
			t.Errorf("%s: %d were answered", protocol, tl.answered)
		}
	}
}

func BenchmarkLoadExchange(b *testing.B) {
	for _, protocol := range []string{wire.TCP, wire.UDP} {
		b.Run(protocol, func(b *testing.B) {
			tr, tl := hotLoad(b, protocol, 1)
			b.ReportAllocs()
			for b.Loop() {
				if !exchangeLoad(tr, tl) {
					b.Fatal(tr.err())
				}
			}
		})
	}
}

func TestMain(m *testing.M) { enginetest.Main(m, Serve) }
