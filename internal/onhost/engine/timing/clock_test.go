package timing

import (
	"testing"
	"time"
)

// The clock agrees with nanotime, whichever of the two sources it reads.
func TestClockKeepsTime(t *testing.T) {
	for name, c := range map[string]Clock{"calibrated": NewClock(), "nanotime": {}} {
		t.Run(name, func(t *testing.T) {
			t.Logf("reads the %s", c.Name())
			last := c.Start()
			for end := last + int64(100*time.Millisecond); last < end; {
				before := Now()
				now := c.Time()
				after := Now()
				if now < last {
					t.Fatalf("went back by %d ns", last-now)
				}
				last = now
				// A hundredth of a percent of the time since the start: ten times the expected error of the
				// calibration.
				if slack := 1000 + (now-c.base)/10_000; now < before-slack || now > after+slack {
					t.Fatalf("says %d between %d and %d", now, before, after)
				}
			}
		})
	}
}

func BenchmarkClock(b *testing.B) {
	c := NewClock()
	c.Start()
	b.ReportAllocs()
	var sum int64
	for b.Loop() {
		sum += c.Time()
	}
	if sum == 0 {
		b.Error("the clock stands")
	}
}

// A time is converted to the tick at which the clock shows that time.
func TestClockTick(t *testing.T) {
	for name, c := range map[string]Clock{"calibrated": NewClock(), "nanotime": {}} {
		t.Run(name, func(t *testing.T) {
			start := c.Start()
			for _, after := range []time.Duration{0, time.Microsecond, time.Second, time.Hour} {
				at := start + int64(after)
				if got := c.At(c.Ticks(at)); got < at-10 || got > at+10 {
					t.Errorf("%v after the start: the tick shows %d, want %d", after, got, at)
				}
			}
			if got := c.Ticks(start - 1000); c.At(got) > start {
				t.Errorf("a time before the start is %d ns after it", c.At(got)-start)
			}
		})
	}
}
