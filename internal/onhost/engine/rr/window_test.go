package rr

import (
	"errors"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// steps is a transactor whose transactions take given times on the real clock.
type steps struct {
	take []time.Duration
	next int
}

func (s *steps) run(h *observe.Histogram, until int64) (int64, bool) {
	for {
		if s.next == len(s.take) {
			return 0, false
		}
		start := timing.Now()
		for timing.Now()-start < int64(s.take[s.next]) {
		}
		s.next++
		now := timing.Now()
		if h != nil {
			h.Record(now - start)
		}
		if now >= until {
			return now, true
		}
	}
}

func (s *steps) err() error { return errors.New("no more") }

// TestWindow: the warm-up is discarded, the transaction in flight at the end is completed and counted, and a stall of
// several intervals is one interval.
func TestWindow(t *testing.T) {
	ms := time.Millisecond
	s := &steps{take: []time.Duration{30 * ms, 5 * ms, 60 * ms, 5 * ms, 30 * ms, 20 * ms}}
	rec := observe.NewRecorder(int64(100*ms), int64(20*ms))
	w := runWindow(s, rec, wire.Params{Warmup: 20 * ms, Duration: 100 * ms})
	if w.err != nil {
		t.Fatal(w.err)
	}
	closed := rec.Since(0)
	var counted int64
	last := w.start
	for i, c := range closed {
		if c.Start != last || c.End <= c.Start {
			t.Errorf("interval %d is from %d to %d, after %d", i, c.Start, c.End, last)
		}
		last = c.End
		counted += c.Count
	}
	if last != w.end || w.end-w.start < int64(100*ms) {
		t.Errorf("the window ends at %d, its last interval at %d", w.end-w.start, last-w.start)
	}
	// On a machine that pauses, fewer fit in. All that were taken in the window are counted nevertheless.
	if counted != int64(s.next-1) || rec.Total.Count() != counted {
		t.Errorf("%d counted in intervals, %d in all, %d taken after the warm-up", counted, rec.Total.Count(), s.next-1)
	}
	if longest := rec.Total.Percentile(100); longest < int64(60*ms) {
		t.Errorf("the longest is %v", time.Duration(longest))
	}
}

func TestWindowFails(t *testing.T) {
	for _, warmup := range []time.Duration{0, time.Second} {
		w := runWindow(&steps{take: []time.Duration{time.Millisecond}}, observe.NewRecorder(int64(time.Second),
			int64(time.Second)), wire.Params{Warmup: warmup, Duration: time.Second})
		if w.err == nil {
			t.Errorf("warm-up %v: no error", warmup)
		}
	}
}
