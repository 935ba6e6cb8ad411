package answer

import (
	"math"
	"slices"
	"testing"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// attempt makes a trial of the workload rr with a p50 in microseconds; 0 for one that failed.
func attempt(number, block int, arm string, p50 float64, replaces int) result.Trial {
	t := result.Trial{Trial: number, Block: block, Arm: arm, Workload: "rr", Replaces: replaces,
		Tool: result.ToolVersion{Name: "native"}, Mode: "rr", Protocol: "tcp", Definition: result.DefinitionRTT,
		ReportedAs: result.DefinitionRTT}
	if p50 == 0 {
		t.Error = "timed out"
		return t
	}
	t.Metrics = []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: p50 / 1e6}}
	return t
}

// triedOf divides trials into first attempts and good ones.
func triedOf(trials ...result.Trial) figures.Tried {
	good := slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Error != "" })
	return figures.Tried{Attempts: figures.FirstAttempts(trials), Good: good}
}

// TestReplacementsAreNoSecondDraw: a failed attempt is the worst of its block, whatever replaced it, unless attempts of
// both sides failed.
func TestReplacementsAreNoSecondDraw(t *testing.T) {
	q := figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	arm := triedOf(attempt(1, 1, "a", 10, 0), attempt(2, 2, "a", 0, 0), attempt(3, 3, "a", 0, 0),
		attempt(4, 4, "a", 0, 0),
		attempt(11, 2, "a", 5, 2), attempt(12, 3, "a", 6, 3), attempt(13, 4, "a", 0, 4))
	base := triedOf(attempt(5, 1, "b", 20, 0), attempt(6, 2, "b", 20, 0), attempt(7, 3, "b", 0, 0),
		attempt(8, 4, "b", 0, 0),
		attempt(14, 3, "b", 7, 7), attempt(15, 4, "b", 7, 8))
	p := figures.NewRanking(q, arm.Good, base.Good).InBlocks(arm, base)
	want := []stats.Value{{Block: 1, Value: 10e-6}, {Block: 2, Value: math.Inf(1)}, {Block: 3, Value: 6e-6}}
	if !slices.Equal(p.Arm, want) {
		t.Errorf("arm %v, want %v", p.Arm, want)
	}
	// Block 4 has no good trial of the arm at all, and tells nothing: both failed at first.
	want = []stats.Value{{Block: 1, Value: 20e-6}, {Block: 2, Value: 20e-6}, {Block: 3, Value: 7e-6},
		{Block: 4, Value: 7e-6}}
	if !slices.Equal(p.Baseline, want) {
		t.Errorf("baseline %v, want %v", p.Baseline, want)
	}
}

// TestOneFailedAttemptOfThree: the baseline that runs three times has the median of its attempts.
func TestOneFailedAttemptOfThree(t *testing.T) {
	q := figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	base := triedOf(attempt(1, 1, "b", 20, 0), attempt(2, 1, "b", 0, 0), attempt(3, 1, "b", 22, 0),
		attempt(4, 2, "b", 0, 0), attempt(5, 2, "b", 0, 0), attempt(6, 2, "b", 22, 0), attempt(7, 2, "b", 1, 4))
	got := figures.NewRanking(q, base.Good).Values(base.Attempts)
	if want := []stats.Value{{Block: 1, Value: 22e-6}, {Block: 2, Value: math.Inf(1)}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestWorseWithoutASize: trials of an arm that are too short for a p99 are worse than those of the baseline only if what
// they have shows it.
func TestWorseWithoutASize(t *testing.T) {
	for _, test := range []struct {
		p50    float64 // of the arm, in microseconds
		better string
	}{{300, "baseline"}, {30, ""}} {
		e := &experiment.Experiment{Baseline: "near", Arms: []experiment.Arm{{Name: "near"}, {Name: "far"}},
			Workloads: []experiment.Workload{{Name: "rr", Tool: "native", Mode: "rr"}},
			Schedule:  experiment.Schedule{Blocks: 12}}
		var trials []result.Trial
		for block := 1; block <= 12; block++ {
			near := attempt(2*block, block, "near", 20, 0)
			near.Metrics = append(near.Metrics, result.Metric{Name: result.RTT, Stat: result.P99,
				Unit: result.Seconds, Value: 100e-6 + 1e-6*float64(block%5)})
			trials = append(trials, near, attempt(2*block+1, block, "far", test.p50, 0))
		}
		a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
		c := comparisonOf(a, result.P99)
		if c == nil || c.Better != test.better || c.Difference != nil || c.Reason == "" ||
			(test.better != "") != (c.Verdict == figures.Higher) ||
			(c.Interval != nil) != (c.Verdict == figures.Higher) {
			t.Errorf("p50 %g us: %+v", test.p50, c)
		}
	}
}
