package engine

import (
	"testing"
	"time"
)

// What is recorded late is what a loop that records at once would have recorded, for both kinds of clock.
func TestMomentsRecordEachTransaction(t *testing.T) {
	for name, c := range map[string]clock{"calibrated": newClock(), "nanotime": {}} {
		t.Run(name, func(t *testing.T) {
			start := c.start()
			var m moments
			h, want := NewHistogram(), NewHistogram()
			last, n := start, 0
			for m.add(c.read()) {
				now := c.at(m.ticks[n])
				want.Record(now - last)
				last = now
				n++
			}
			now := c.at(m.ticks[n])
			want.Record(now - last)
			if got := m.record(h, &c, start); got != now {
				t.Errorf("the last ended at %d, want %d", got, now)
			}
			if h.Count() != momentsLen || h.sum != want.sum || h.max != want.max || h.min != want.min {
				t.Errorf("recorded %d in %d ns, want %d in %d", h.Count(), h.sum, want.Count(), want.sum)
			}
			if got := m.record(h, &c, now); got != now || h.Count() != momentsLen {
				t.Errorf("readings are recorded twice: %d", h.Count())
			}
		})
	}
}

// A time comes out as the tick at which the clock shows it.
func TestClockTick(t *testing.T) {
	for name, c := range map[string]clock{"calibrated": newClock(), "nanotime": {}} {
		t.Run(name, func(t *testing.T) {
			start := c.start()
			for _, after := range []time.Duration{0, time.Microsecond, time.Second, time.Hour} {
				at := start + int64(after)
				if got := c.at(c.tick(at)); got < at-10 || got > at+10 {
					t.Errorf("%v after the start: the tick shows %d, want %d", after, got, at)
				}
			}
			if got := c.tick(start - 1000); c.at(got) > start {
				t.Errorf("a time before the start is %d ns after it", c.at(got)-start)
			}
		})
	}
}
