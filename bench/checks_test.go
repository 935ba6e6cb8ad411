package main

import (
	"slices"
	"testing"

	"nearfar/internal/declare/result"
)

// checkOf is a check of the workload "theirs" of made.
func checkOf(b *bound) check {
	p50 := func(t result.Trial) (float64, bool) { return t.Value(result.RTT, result.P50) }
	return check{What: "the p50", With: "other", Workload: "theirs", Value: p50, Unit: result.Seconds, Bound: b}
}

func TestEvaluate(t *testing.T) {
	same := made(nil, []float64{2, 2, 2, 2, 2, 2})
	apart := made(nil, []float64{1, 2, 3, 1, 2, 3})
	for _, c := range []struct {
		name            string
		check           check
		trials          trials
		verdict, within string
	}{
		{"kept", checkOf(atMost(2)), same, reached, "wholly within"},
		{"too much", checkOf(atMost(1.9)), same, short, "wholly outside"},
		{"too little", checkOf(&bound{Low: 2.1, High: 3}), same, short, "wholly outside"},
		{"around", checkOf(atMost(2)), apart, reached, "on both sides"},
		{"the interval holds the span", checkOf(near(2, 0.05)), apart, reached, "on both sides"},
		{"for information", checkOf(nil), same, noBound, ""},
		{"too few blocks", checkOf(atMost(2)), made(nil, []float64{2, 2, 2, 2, 2, 0}), cannotTell, ""},
		{"failed", checkOf(atMost(2)), made(nil, []float64{0}), "not measured: no block has it", ""},
	} {
		got := evaluate(c.check, c.trials)
		if got.verdict() != c.verdict || got.within() != c.within {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, got.verdict(), got.within(), c.verdict, c.within)
		}
	}
}

// The workloads of every check exist, and their tools can plan them.
func TestChecksAreComplete(t *testing.T) {
	tools := newTools(nil)
	bounded := 0
	for _, g := range checks(1) {
		var names []string
		for _, w := range g.Workloads {
			names = append(names, w.Name)
			one, ok := tools.Lookup(w.Tool)
			if !ok {
				t.Fatalf("%s: no tool %s", w.Name, w.Tool)
			}
			if _, err := one.Plan(w, testPair()); err != nil {
				t.Errorf("%s: %v", w.Name, err)
			}
		}
		for _, c := range g.Checks {
			if c.Bound != nil {
				bounded++
			}
			for _, name := range c.needs() {
				if !slices.Contains(names, name) {
					t.Errorf("%s: no workload %s", c.What, name)
				}
			}
			if v, ok := c.Value(result.Trial{}); ok {
				t.Errorf("%s: nothing was measured, and it is %v", c.What, v)
			}
		}
	}
	if bounded != 4 {
		t.Errorf("%d checks have a bound, want 4", bounded)
	}
}
