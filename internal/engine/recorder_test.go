package engine

import (
	"errors"
	"testing"
	"time"
)

// steps is a transactor whose transactions take given times on the real clock.
type steps struct {
	take []time.Duration
	next int
}

func (s *steps) run(h *Histogram, until int64) (int64, bool) {
	for {
		if s.next == len(s.take) {
			return 0, false
		}
		start := nanotime()
		for nanotime()-start < int64(s.take[s.next]) {
		}
		s.next++
		now := nanotime()
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
	rec := newRecorder(100 * ms)
	rec.length = int64(20 * ms)
	rec.slots = make([]interval, 10)
	w := runWindow(s, rec, Params{Warmup: 20 * ms, Duration: 100 * ms})
	if w.err != nil {
		t.Fatal(w.err)
	}
	closed := rec.since(0)
	var counted int64
	last := w.start
	for i, c := range closed {
		if c.start != last || c.end <= c.start {
			t.Errorf("interval %d is from %d to %d, after %d", i, c.start, c.end, last)
		}
		last = c.end
		counted += c.count
	}
	if last != w.end || w.end-w.start < int64(100*ms) {
		t.Errorf("the window ends at %d, its last interval at %d", w.end-w.start, last-w.start)
	}
	// On a machine that pauses, fewer fit in; what was taken in the window is counted all the same.
	if counted != int64(s.next-1) || rec.total.Count() != counted {
		t.Errorf("%d counted in intervals, %d in all, %d taken after the warm-up", counted, rec.total.Count(), s.next-1)
	}
	if rec.total.max < int64(60*ms) {
		t.Errorf("the longest is %v", time.Duration(rec.total.max))
	}
}

func TestWindowFails(t *testing.T) {
	for _, warmup := range []time.Duration{0, time.Second} {
		w := runWindow(&steps{take: []time.Duration{time.Millisecond}}, newRecorder(time.Second), Params{Warmup: warmup, Duration: time.Second})
		if w.err == nil {
			t.Errorf("warm-up %v: no error", warmup)
		}
	}
}

func TestIntervalLength(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{time.Millisecond: time.Second, time.Hour: time.Second, 24 * time.Hour: 24 * time.Second} {
		if got := intervalLength(window); got != int64(want) {
			t.Errorf("a window of %v has intervals of %v", window, time.Duration(got))
		}
	}
}

func TestPreemptionOff(t *testing.T) {
	for text, want := range map[string]bool{"": false, "asyncpreemptoff=1": true, "a=b, asyncpreemptoff=1": true, "asyncpreemptoff=0": false} {
		if preemptionOff(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	env := withPreemptionOff([]string{"A=1", "GODEBUG=x=y"})
	if len(env) != 2 || env[0] != "A=1" || env[1] != "GODEBUG=asyncpreemptoff=1,x=y" {
		t.Errorf("%q", env)
	}
}

func TestReplyTimeout(t *testing.T) {
	for roundTrip, want := range map[time.Duration]time.Duration{0: leastReplyTimeout, 50 * time.Millisecond: 500 * time.Millisecond, time.Second: mostReplyTimeout} {
		if got := replyTimeout(roundTrip); got != want {
			t.Errorf("%v for a round trip of %v", got, roundTrip)
		}
	}
}
