package engine

import (
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
)

func TestIntervalsAreAsLongAsAskedFor(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	p := enginetest.Stream(1)
	p.Duration, p.Interval = 300*time.Millisecond, 20*time.Millisecond
	r, c, err := run(t, address, p)
	if err != nil {
		t.Fatal(err)
	}
	// Each is at least as long as asked for, and longer where the machine is busy.
	if n := len(c.Intervals); n < 2 || n > 15 {
		t.Errorf("%d intervals of 20 ms in 300 ms", n)
	}
	end := 0.0
	for _, i := range c.Intervals {
		if i.Start != end || i.End < i.Start {
			t.Errorf("an interval from %v to %v follows one that ends at %v", i.Start, i.End, end)
		}
		end = i.End
	}
	if end < r.Duration-1e-9 {
		t.Errorf("the intervals end at %v in a window of %v", end, r.Duration)
	}
}
