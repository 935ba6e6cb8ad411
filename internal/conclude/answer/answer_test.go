package answer

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// model makes trials of an experiment. The test gives the costs of the layers, in seconds.
func model(e *experiment.Experiment, costs map[string]float64, noise float64) []result.Trial {
	random := rand.New(rand.NewPCG(1, 2))
	var trials []result.Trial
	for i, slot := range e.Slots() {
		arm, _ := e.Arm(slot.Arm)
		value := 8e-6 + float64(slot.Block%3)*1e-7
		for layer, count := range arm.Layers {
			value += float64(count) * costs[layer]
		}
		value += noise * random.NormFloat64()
		trials = append(trials, result.Trial{
			Trial: i + 1, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload,
			Tool: result.ToolVersion{Name: "native"},
			Mode: "rr", Protocol: "tcp", Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
			Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: value}},
		})
	}
	return trials
}

func overlay(blocks int) *experiment.Experiment {
	arm := func(name string, layers map[string]int) experiment.Arm {
		return experiment.Arm{Name: name, Layers: layers}
	}
	return &experiment.Experiment{
		Name: "overlay", Question: "How much?", Baseline: "l2",
		Arms: []experiment.Arm{
			arm("l2", map[string]int{"bridge": 1}),
			arm("switched", map[string]int{"bridge": 2}),
			arm("routed", map[string]int{"bridge": 2, "router": 1}),
			arm("vxlan", map[string]int{"bridge": 2, "router": 1, "vtep": 2}),
			arm("flat", map[string]int{"bridge": 1, "vtep": 2}),
		},
		Workloads: []experiment.Workload{{Name: "rr", Tool: "native",
			Placement: experiment.Placement{Kind: experiment.PlacementShared}}},
		Schedule: experiment.Schedule{Blocks: blocks, Seed: 5},
	}
}

var perLayer = map[string]float64{"bridge": 0.6e-6, "router": 1.5e-6, "vtep": 2e-6}

func TestLayersAndDifferencesAreFound(t *testing.T) {
	e := overlay(12)
	a := Make(Input{Experiment: e, Trials: model(e, perLayer, 5e-8), State: "complete"})
	if len(a.Layers) != 3 {
		t.Fatalf("layers %+v, want bridge, router and vtep", a.Layers)
	}
	for i, name := range []string{"bridge", "router", "vtep"} {
		l := a.Layers[i]
		if l.Layer != name || l.Interval == nil || math.Abs(l.Cost-perLayer[name]) > 1e-7 {
			t.Errorf("layer %d is %+v, want %s at %g", i, l, name, perLayer[name])
		}
	}
	for _, c := range a.Comparisons {
		if c.Verdict != figures.Higher || c.Better != "baseline" || c.Interval == nil || c.Detectable == nil {
			t.Errorf("%s: %+v", c.Arm, c)
		}
	}
	if len(a.Residual) != 1 || a.Residual[0].Arm != "vxlan" {
		t.Fatalf("residual %+v", a.Residual)
	}
	if r := a.Residual[0]; math.Abs(r.Whole-r.Parts-r.Value) > 1e-12 {
		t.Errorf("whole %g is not parts %g + residual %g", r.Whole, r.Parts, r.Value)
	}
	if len(a.Warnings) != 0 {
		t.Errorf("warnings %+v", a.Warnings)
	}
	if want := "Each vtep adds 2.0"; !strings.HasPrefix(a.Headline, want) ||
		!strings.HasSuffix(a.Verdict, " 3 more differences below. The layers add up to within 1.4 % (85 ns).") {
		t.Errorf("verdict %q", a.Verdict)
	}
}

func TestNoDifferenceStatesTheSmallestThatCouldHaveBeenSeen(t *testing.T) {
	e := overlay(12)
	a := Make(Input{Experiment: e, Trials: model(e, nil, 5e-8), State: "complete"})
	for _, c := range a.Comparisons {
		if c.Verdict != figures.NoDifference || c.Detectable == nil || *c.Detectable <= 0 {
			t.Errorf("%s: %+v", c.Arm, c)
		}
	}
	if !strings.Contains(a.Verdict, "With switched, routed, vxlan and flat, no difference seen in the median round trip ") ||
		!strings.Contains(a.Verdict, "; one above 0.1") {
		t.Errorf("verdict %q", a.Verdict)
	}
}

func TestDifferentDefinitionsAreRefused(t *testing.T) {
	e := overlay(12)
	trials := model(e, perLayer, 5e-8)
	for i := range trials {
		if trials[i].Arm == "vxlan" {
			trials[i].Definition = result.DefinitionSmoothedRTT
		}
	}
	for _, c := range Make(Input{Experiment: e, Trials: trials, State: "complete"}).Comparisons {
		if c.Arm == "vxlan" {
			if c.Verdict != figures.NotComparable || !strings.Contains(c.Reason,
				"definition: smoothed-rtt against rtt") ||
				c.Difference != nil {
				t.Errorf("%+v", c)
			}
		} else if c.Verdict != figures.Higher {
			t.Errorf("%+v", c)
		}
	}
}

func TestLayersThatCannotBeSeparatedAreRefused(t *testing.T) {
	e := overlay(12)
	e.Arms = []experiment.Arm{e.Arms[0], e.Arms[2], e.Arms[3]} // as in the example of the design
	a := Make(Input{Experiment: e, Trials: model(e, perLayer, 5e-8), State: "complete"})
	if len(a.Layers) != 2 || a.Layers[0].Layer != "bridge+router" || a.Layers[1].Layer != "vtep" {
		t.Errorf("layers %+v", a.Layers)
	}
	found := false
	for _, w := range a.Warnings {
		found = found || w.Code == "layers-not-separable" && strings.Contains(w.Message, "bridge and router")
	}
	if !found {
		t.Errorf("no warning in %+v", a.Warnings)
	}
}

// TestFailedTrialsCountAndAreReported: a block in which an arm failed is a block in which it was the worst.
func TestFailedTrialsCountAndAreReported(t *testing.T) {
	e := overlay(12)
	trials := model(e, perLayer, 5e-8)
	for i := range trials {
		if trials[i].Arm == "flat" && trials[i].Block <= 2 {
			trials[i].Error = "connection refused"
			trials[i].Metrics = nil
		}
	}
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if a.Failed != 2 {
		t.Errorf("%d failed", a.Failed)
	}
	for _, c := range a.Comparisons {
		if failed := c.Failed != nil && *c.Failed == [2]int{2, 0}; c.Blocks != 12 || failed != (c.Arm == "flat") {
			t.Errorf("%s rests on %d blocks, failed %v", c.Arm, c.Blocks, c.Failed)
		}
	}
	for _, f := range a.Failures.Arms {
		if want := map[bool]int{true: 2}[f.Arm == "flat"]; f.Failed != want || f.Attempts != 12 || f.Interval == nil {
			t.Errorf("%+v", f)
		}
	}
	if len(a.Warnings) == 0 || a.Warnings[0].Code != "failed-trials" ||
		!strings.Contains(a.Warnings[0].Message, "2 of 12 trials failed; the first: connection refused") {
		t.Errorf("warnings %+v", a.Warnings)
	}
}

// An interrupted run, even without trials, still gives an answer that says what is missing.
func TestEveryPrefixOfARunHasAnAnswer(t *testing.T) {
	e := overlay(3)
	trials := model(e, perLayer, 5e-8)
	for n := range len(trials) + 1 {
		a := Make(Input{Experiment: e, Trials: trials[:n], State: "interrupted"})
		if _, err := json.Marshal(a); err != nil {
			t.Fatalf("%d trials: %v", n, err)
		}
		if len(a.Warnings) == 0 || a.Warnings[0].Code != "incomplete" {
			t.Errorf("%d trials: warnings %+v", n, a.Warnings)
		}
		if n == len(trials) && !strings.Contains(a.Verdict,
			"too few blocks to tell whether the median round trip differs with switched, routed, vxlan and flat") {
			t.Errorf("verdict %q", a.Verdict)
		}
		for _, c := range a.Comparisons {
			if c.Verdict == figures.Higher || c.Verdict == figures.Lower {
				t.Errorf("%d trials: 3 blocks cannot show that %s is %s", n, c.Arm, c.Verdict)
			}
		}
	}
}

// A background's goodput is among the figures, but not compared: nobody asked about it, and it would make the other
// differences harder to prove.
func TestBackgroundIsReportedAndNotCompared(t *testing.T) {
	e := overlay(12)
	trials := model(e, perLayer, 5e-8)
	plain := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	for i := range trials {
		trials[i].Metrics = append(trials[i].Metrics,
			result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 9e7 + float64(i),
				Scope: result.Background})
	}
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	beside := 0
	for _, f := range a.Arms {
		if f.Scope == result.Background {
			beside++
			if f.Metric != result.Goodput || f.Median < 9e7 || f.Trials != 12 {
				t.Errorf("%+v", f)
			}
		}
	}
	if beside != len(e.Arms) {
		t.Errorf("%d figures of the background, want one for each arm", beside)
	}
	if len(a.Comparisons) != len(plain.Comparisons) || *a.Comparisons[0].PValue != *plain.Comparisons[0].PValue ||
		a.Verdict != plain.Verdict {
		t.Errorf("the background changed the comparisons: %+v, without it %+v", a.Comparisons, plain.Comparisons)
	}
}

func TestDifferentLoadsAreRefused(t *testing.T) {
	e := overlay(12)
	trials := model(e, perLayer, 5e-8)
	for i := range trials {
		trials[i].Facts = map[string]string{"schedule": "constant 1000/s:2s"}
		if trials[i].Arm == "vxlan" {
			trials[i].Facts["schedule"] = "constant 2000/s:2s"
		}
	}
	for _, c := range Make(Input{Experiment: e, Trials: trials, State: "complete"}).Comparisons {
		if refused := c.Verdict == figures.NotComparable; refused != (c.Arm == "vxlan") {
			t.Errorf("%+v", c)
		} else if want := "offered load: constant 2000/s:2s against constant 1000/s:2s"; refused && c.Reason != want {
			t.Errorf("reason %q, want %q", c.Reason, want)
		}
	}
}
