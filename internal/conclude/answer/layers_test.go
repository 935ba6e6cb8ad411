package answer

import (
	"math"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// change adds an amount that depends on the block to the values of one arm, in seconds.
func change(trials []result.Trial, arm string, by func(block int) float64) []result.Trial {
	for i, t := range trials {
		if t.Arm == arm {
			trials[i].Metrics[0].Value += by(t.Block)
		}
	}
	return trials
}

func coded(warnings []Warning, code string) []Warning {
	var found []Warning
	for _, w := range warnings {
		if w.Code == code {
			found = append(found, w)
		}
	}
	return found
}

// nearFar has one layer, which only one arm has.
func nearFar(blocks, routers int) *experiment.Experiment {
	e := overlay(blocks)
	e.Baseline = "near"
	e.Arms = []experiment.Arm{{Name: "near"}, {Name: "far", Layers: map[string]int{"router": routers}}}
	return e
}

// A layer that is one arm's difference has that comparison's figures, so that the two sections of an answer never
// contradict each other. Here the median shows no difference, but a t-interval of the mean would.
func TestLayerThatIsOneArmQuotesItsComparison(t *testing.T) {
	e := nearFar(10, 2)
	a := Make(Input{Experiment: e, State: "complete",
		Trials: change(model(e, nil, 1e-9), "far", func(block int) float64 {
			if block%5 < 2 {
				return -1e-7
			}
			return 2e-6
		})})
	c, l := a.Comparisons[0], a.Layers[0]
	if c.Verdict != figures.NoDifference {
		t.Fatalf("%+v", c)
	}
	if l.Arm != "far" || l.Verdict != figures.NoDifference || l.Interval == nil || l.Interval[0] > 0 ||
		*l.PValue != *c.PValue ||
		math.Abs(l.Cost-*c.Difference/2) > 1e-15 || l.Interval[1] != c.Interval[1]/2 {
		t.Errorf("layer %+v\nof %+v", l, c)
	}
	if r := a.Residual[0]; l.Mean == l.Cost || math.Abs(l.Adds[0].Adds-r.Whole) > 1e-15 || r.Additive != nil {
		t.Errorf("what adds up is the mean: %+v, %+v", l, r)
	}
}

// One arm costs 2 us more than its layers. It is found although it is not the fullest arm, and all results that
// depend on the sum are marked.
func TestLayersThatDoNotAddUp(t *testing.T) {
	e := overlay(12)
	a := Make(Input{Experiment: e, State: "complete",
		Trials: change(model(e, perLayer, 3e-7), "routed", func(int) float64 { return 2e-6 })})
	got := coded(a.Warnings, "layers-do-not-add-up")
	if len(got) != 1 || !strings.Contains(got[0].Message, "routed by +") || len(a.Additivity) != 1 ||
		a.Additivity[0].Additive ||
		a.Additivity[0].PValue > 0.05 || a.Additivity[0].Blocks != 12 {
		t.Fatalf("%+v %+v", got, a.Additivity)
	}
	for _, l := range a.Layers {
		if l.Additive == nil || *l.Additive {
			t.Errorf("not marked: %+v", l)
		}
	}
	if r := a.Residual[0]; r.Additive == nil || *r.Additive {
		t.Errorf("the headline does not say it: %+v", r)
	}
}

// Arms that are alike have no sum of layers to test.
func TestIdenticalArmsDoNotFailToAddUp(t *testing.T) {
	for seed := range 30 {
		e := overlay(12)
		for i := range e.Arms {
			e.Arms[i].Layers = map[string]int{"bridge": 1}
		}
		trials := model(e, nil, 5e-8)
		change(trials, e.Arms[seed%5].Name, func(block int) float64 { return float64((block*7+seed)%5) * 3e-8 })
		a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
		if got := coded(a.Warnings, "layers-do-not-add-up"); len(got) > 0 || len(a.Additivity) > 0 {
			t.Fatalf("%+v %+v", got, a.Additivity)
		}
	}
}

// A drift of one arm gives a warning about that arm only.
func TestDriftWarnsOfTheArmThatDrifts(t *testing.T) {
	drift := func(block int) float64 { return 8e-6 * 0.3 * float64(block) / 12 }
	for _, blocks := range []int{12, 20} {
		e := nearFar(blocks, 1)
		a := Make(Input{Experiment: e, State: "complete", Trials: change(model(e, nil, 5e-8), "far", drift)})
		if got := coded(a.Warnings, "drift"); len(got) > 0 {
			t.Errorf("%+v", got)
		}
		got := coded(a.Warnings, "arm-drift")
		if len(got) != 1 || got[0].Arm != "far" ||
			!strings.Contains(got[0].Message, "the difference from near in rtt p50 changes during the run") {
			t.Errorf("%+v", got)
		}
	}
	// All arms: one common warning, and none of a changing difference.
	e := overlay(12)
	trials := model(e, nil, 5e-8)
	for _, arm := range e.Arms {
		change(trials, arm.Name, drift)
	}
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if got := coded(a.Warnings, "drift"); len(got) != 1 ||
		!strings.Contains(got[0].Message, "in all arms; pairing within blocks takes it out") {
		t.Errorf("%+v", a.Warnings)
	}
	if got := coded(a.Warnings, "arm-drift"); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	// All arms but the baseline: every difference changes, and pairing does not remove that.
	e = overlay(12)
	trials = model(e, nil, 5e-8)
	for _, arm := range e.Arms[1:] {
		change(trials, arm.Name, drift)
	}
	a = Make(Input{Experiment: e, Trials: trials, State: "complete"})
	got := coded(a.Warnings, "arm-drift")
	if len(got) != 1 || got[0].Arm != "l2" ||
		!strings.HasPrefix(got[0].Message, "every difference from l2 in rtt p50 changes") {
		t.Errorf("%+v", a.Warnings)
	}
	for _, w := range coded(a.Warnings, "drift") {
		if strings.Contains(w.Message, "takes it out") || !strings.Contains(w.Message, "not clearly in l2") {
			t.Errorf("%+v", w)
		}
	}
}

// Blocks in two long states have a smaller effective number, and the answer says so.
func TestDependentBlocksWarning(t *testing.T) {
	e := nearFar(20, 1)
	a := Make(Input{Experiment: e, State: "complete",
		Trials: change(model(e, nil, 5e-8), "far", func(block int) float64 {
			return 1e-6 * float64(block/5%2)
		})})
	c := a.Comparisons[0]
	if c.Dependence == nil || c.Dependence.Counted >= 20 || c.Blocks != 20 || c.Dependence.PValue > 0.05 {
		t.Fatalf("%+v", c.Dependence)
	}
	got := coded(a.Warnings, "blocks-depend")
	if len(got) != 1 || !strings.Contains(got[0].Message, "20 blocks count as") {
		t.Errorf("%+v", a.Warnings)
	}
	e = nearFar(20, 1)
	a = Make(Input{Experiment: e, State: "complete", Trials: model(e, perLayer, 5e-8)})
	if got := coded(a.Warnings, "blocks-depend"); len(got) > 0 || a.Comparisons[0].Dependence == nil {
		t.Errorf("independent: %+v %+v", got, a.Comparisons[0].Dependence)
	}
}

// TestLayersHaveADetectableCost: a layer without a cost says which cost would have been found, in its finding and in
// the sentence. A layer that is one arm has the comparison's figure, for one unit of the layer.
func TestLayersHaveADetectableCost(t *testing.T) {
	e := overlay(12)
	a := Make(Input{Experiment: e, Trials: model(e, map[string]float64{"vtep": 2e-6}, 5e-8), State: "complete"})
	unseen := 0
	for _, l := range a.Layers {
		if l.Detectable == nil || !(*l.Detectable > 1e-8 && *l.Detectable < 2e-7) {
			t.Errorf("layer %s: detectable %v", l.Layer, l.Detectable)
		}
		if l.Verdict == figures.NoDifference {
			unseen++
		}
	}
	said := 0
	for _, f := range a.Findings {
		if f.Kind == OfLayer && f.Verdict == figures.NoDifference &&
			strings.Contains(f.Text, "would likely show") {
			said++
		}
	}
	if unseen != 2 || said != unseen {
		t.Errorf("%d layers without a difference, and %d findings say what would have been seen", unseen, said)
	}

	far := nearFar(12, 2)
	a = Make(Input{Experiment: far, Trials: model(far, nil, 5e-8), State: "complete"})
	l, c := a.Layers[0], a.Comparisons[0]
	if c.Detectable == nil || l.Detectable == nil || math.Abs(*l.Detectable-*c.Detectable/2) > 1e-15 {
		t.Errorf("layer %+v, comparison %+v", l.Detectable, c.Detectable)
	}

	few := overlay(5)
	for _, l := range Make(Input{Experiment: few, Trials: model(few, nil, 5e-8), State: "complete"}).Layers {
		if l.Detectable != nil {
			t.Errorf("5 blocks: layer %s: detectable %v", l.Layer, *l.Detectable)
		}
	}
}
