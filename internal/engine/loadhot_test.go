package engine

import (
	"io"
	"testing"
	"time"

	"nearfar/internal/engine/samples"
)

// hotLoad opens a session of load and returns its transport and tally, with the server answering.
func hotLoad(t testing.TB, protocol string, connections int) (transport, *tally) {
	t.Helper()
	address, _ := startServer(t, "127.0.0.1:0", 0)
	p := loadParams(protocol, connections)
	p.Duration = time.Hour // the session stays open
	c, err := dial(t.Context(), loadOptions(address, p, 1000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	tl := &tally{end: 1 << 62, response: newRecorder(time.Hour), service: NewHistogram(), lateness: NewHistogram()}
	tr, err := c.loadTransport(t.Context(), tl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.close)
	if err := c.frames.write(frameStart, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.frames.expect(frameBegin, nil); err != nil {
		t.Fatal(err)
	}
	return tr, tl
}

// exchange sends one request and waits for its reply.
func exchangeLoad(tr transport, tl *tally) bool {
	if !tr.send(nanotime()) {
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
	for _, protocol := range []string{TCP, UDP} {
		tr, tl := hotLoad(t, protocol, 3)
		failed := false
		n := testing.AllocsPerRun(200, func() {
			start := nanotime()
			failed = failed || !exchangeLoad(tr, tl)
			tl.response.closeInterval(start, nanotime())
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

// TestFilesDoNotAllocate: the hot thread's side of the samples and the histogram log. Nobody writes meanwhile, so the
// ring overflows: what does not fit is counted.
func TestFilesDoNotAllocate(t *testing.T) {
	ring, err := newSampleRing(io.Discard, samples.Header{})
	if err != nil {
		t.Fatal(err)
	}
	h, log := NewHistogram(), newHistogramLog(io.Discard)
	h.samples = ring
	const some = sampleSlots/1000 + 1
	if n := testing.AllocsPerRun(1000, func() {
		for range some {
			h.observe(5, 10)
		}
		log.add(h, 5, 10)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if want := int64(1001*some - sampleSlots); ring.dropped != want {
		t.Errorf("%d observations dropped, not %d", ring.dropped, want)
	}
	ring.start()
	if dropped, err := ring.finish(nil); err != nil || dropped != ring.dropped || ring.read.Load() != sampleSlots {
		t.Errorf("%d dropped, %d written, %v", dropped, ring.read.Load(), err)
	}
}

func BenchmarkLoadExchange(b *testing.B) {
	for _, protocol := range []string{TCP, UDP} {
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

func BenchmarkSample(b *testing.B) {
	ring, err := newSampleRing(io.Discard, samples.Header{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		ring.add(1, 2, 3)
		if ring.count%sampleSlots == 0 { // as if it had been written
			ring.read.Store(ring.count)
		}
	}
}

// TestEncoderKeepsItsMemory: an interval takes no more memory than the one before it.
func TestEncoderKeepsItsMemory(t *testing.T) {
	var e histogramEncoder
	h := NewHistogram()
	for v := int64(1); v < 1e10; v += v/3 + 1 {
		h.Record(v)
	}
	var failed error
	n := testing.AllocsPerRun(100, func() {
		if _, err := e.encode(h); err != nil {
			failed = err
		}
	})
	if n > 0 || failed != nil {
		t.Errorf("encoding again allocates %v times: %v", n, failed)
	}
}
