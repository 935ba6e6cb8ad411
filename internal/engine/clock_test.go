package engine

import (
	"testing"
	"time"
)

// The clock keeps nanotime's time, whichever of the two it reads.
func TestClockKeepsTime(t *testing.T) {
	for name, c := range map[string]clock{"calibrated": newClock(), "nanotime": {}} {
		t.Run(name, func(t *testing.T) {
			t.Logf("reads the %s", c.name())
			last := c.start()
			for end := last + int64(100*time.Millisecond); last < end; {
				before := nanotime()
				now := c.now()
				after := nanotime()
				if now < last {
					t.Fatalf("went back by %d ns", last-now)
				}
				last = now
				// A hundredth of a percent of what has passed since the start: ten times what the calibration should be wrong by.
				if slack := 1000 + (now-c.base)/10_000; now < before-slack || now > after+slack {
					t.Fatalf("says %d between %d and %d", now, before, after)
				}
			}
		})
	}
}

func BenchmarkClock(b *testing.B) {
	c := newClock()
	c.start()
	b.ReportAllocs()
	var sum int64
	for b.Loop() {
		sum += c.now()
	}
	if sum == 0 {
		b.Error("the clock stands")
	}
}
