package answer

import (
	"math"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
)

// The answer of a run that goes on, was stopped or ended by itself holds at any time, and says so. Its layers have no
// intervals, and need smaller p-values. A complete run has neither.
func TestAnswersThatWereLookedAt(t *testing.T) {
	e := overlay(12)
	trials := model(e, perLayer, 5e-8)
	complete := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if complete.AnyTime || strings.Contains(complete.Verdict, "at any time") {
		t.Errorf("a complete run: %v, %q", complete.AnyTime, complete.Verdict)
	}
	for state, want := range map[string]string{
		"interrupted": " The run was stopped early: these intervals and differences hold with 95 % at any time",
		"running":     " The run is not over: these intervals and differences hold with 95 % at any time",
	} {
		a := Make(Input{Experiment: e, Trials: trials, State: state})
		if !a.AnyTime || !strings.Contains(a.Verdict, want) {
			t.Errorf("%s: %v, %q", state, a.AnyTime, a.Verdict)
		}
		for i, c := range a.Comparisons {
			before := complete.Comparisons[i]
			if c.Interval == nil || c.Interval[0] > before.Interval[0] || c.Interval[1] < before.Interval[1] ||
				*c.PValue < *before.PValue || c.BlocksNeeded != nil && c.Verdict != figures.FewBlocks ||
				c.Detectable != nil {
				t.Errorf("%s: %s has %v, p %v; complete %v, p %v", state, c.Arm, *c.Interval, *c.PValue,
					*before.Interval, *before.PValue)
			}
		}
		for i, l := range a.Layers {
			if l.Arm == "" && (l.Interval != nil || *l.PValue < *complete.Layers[i].PValue) {
				t.Errorf("%s: layer %s has %v, p %v", state, l.Layer, l.Interval, *l.PValue)
			}
		}
	}
	e.Schedule.Until, e.Schedule.Blocks = "5%", 40
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if want := " The run ended after 12 blocks because every difference was known within 5%"; !a.AnyTime ||
		a.Blocks != 12 || !strings.Contains(a.Verdict, want) {
		t.Errorf("--until: %v, %d blocks, %q", a.AnyTime, a.Blocks, a.Verdict)
	}
	for _, w := range a.Warnings {
		if w.Code == "incomplete" {
			t.Errorf("a run that ended by itself is incomplete: %q", w.Message)
		}
	}
}

// The weights of the tables add up to 1, and the first quantity of the first workload has most.
func TestWeightsOfTables(t *testing.T) {
	p := 0.5
	test := func(kind, workload, stat string, main bool) tested {
		return tested{familyOf{kind, workload, figures.Quantity{Stat: stat}}, &p, main}
	}
	for _, all := range [][]tested{
		{test(OfArm, "a", "p50", true)},
		{test(OfArm, "a", "p50", true), test(OfArm, "a", "p99", false)},
		{test(OfArm, "a", "p50", true), test(OfArm, "b", "p50", true), test(OfArm, "c", "p50", true),
			test(OfArm, "c", "p99", false), test(OfFailures, "a", "", false)},
		{test(OfArm, "a", "p50", true), test(OfArm, "a", "p50", true), test(OfLayer, "a", "", true)},
		{test(OfFailures, "a", "", false)},
	} {
		var sum float64
		w := weights(all)
		for _, weight := range w {
			sum += weight
			if weight > w[all[0].family] {
				t.Errorf("%+v: %v is more than the first has", w, weight)
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("%+v add up to %v", w, sum)
		}
	}
	if w := weights([]tested{{familyOf{kind: OfArm}, nil, true}}); len(w) > 0 {
		t.Errorf("a table without a test has a weight: %v", w)
	}
}
