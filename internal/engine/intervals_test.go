package engine

import (
	"testing"
	"time"
)

func TestIntervalsAreAsLongAsAskedFor(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	p := streamParams(1)
	p.Duration, p.Interval = 300*time.Millisecond, 20*time.Millisecond
	r, c, err := run(t, address, p)
	if err != nil {
		t.Fatal(err)
	}
	// Each is at least as long as asked for, and longer where the machine is busy.
	if n := len(c.intervals); n < 2 || n > 15 {
		t.Errorf("%d intervals of 20 ms in 300 ms", n)
	}
	end := 0.0
	for _, i := range c.intervals {
		if i.Start != end || i.End < i.Start {
			t.Errorf("an interval from %v to %v follows one that ends at %v", i.Start, i.End, end)
		}
		end = i.End
	}
	if end < r.Duration-1e-9 {
		t.Errorf("the intervals end at %v in a window of %v", end, r.Duration)
	}
}

func TestLengthOfIntervals(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*Params)
		interval time.Duration
		ok       bool
	}{
		{"the engine's choice", func(*Params) {}, time.Second, true},
		{"of a long window", func(p *Params) { p.Duration = 2 * time.Hour }, 2 * time.Second, true},
		{"asked for", func(p *Params) { p.Interval = 100 * time.Millisecond }, 100 * time.Millisecond, true},
		{"too short", func(p *Params) { p.Interval = time.Millisecond }, 0, false},
		{"negative", func(p *Params) { p.Interval = -time.Second }, 0, false},
		{"too many", func(p *Params) { p.Interval, p.Duration = 10*time.Millisecond, time.Minute }, 0, false},
		{"of another mode", func(p *Params) { *p = rrParams(TCP); p.Interval = time.Second }, 0, false},
	} {
		p := streamParams(1)
		c.change(&p)
		if err := p.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.ok && time.Duration(p.interval()) != c.interval {
			t.Errorf("%s: intervals of %v, want %v", c.name, time.Duration(p.interval()), c.interval)
		}
	}
}
