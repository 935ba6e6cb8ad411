package observe

import (
	"testing"

	"nearfar/internal/onhost/engine/timing"
)

// A loop that records late gives the same record as a loop that records at once, for both kinds of clock.
func TestMomentsRecordEachTransaction(t *testing.T) {
	for name, c := range map[string]timing.Clock{"calibrated": timing.NewClock(), "nanotime": {}} {
		t.Run(name, func(t *testing.T) {
			start := c.Start()
			var m Moments
			h, want := NewHistogram(), NewHistogram()
			last, n := start, 0
			for m.Add(c.Read()) {
				now := c.At(m.Ticks[n])
				want.Record(now - last)
				last = now
				n++
			}
			now := c.At(m.Ticks[n])
			want.Record(now - last)
			if got := m.Record(h, &c, start); got != now {
				t.Errorf("the last ended at %d, want %d", got, now)
			}
			if h.Count() != MomentsLen || h.sum != want.sum || h.max != want.max || h.min != want.min {
				t.Errorf("recorded %d in %d ns, want %d in %d", h.Count(), h.sum, want.Count(), want.sum)
			}
			if got := m.Record(h, &c, now); got != now || h.Count() != MomentsLen {
				t.Errorf("readings are recorded twice: %d", h.Count())
			}
		})
	}
}
