package answer

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// stalling makes 20 blocks of a baseline and an arm that is 7 % faster. The given numbers of their trials stalled: they
// have too few observations for a p99.
func stalling(armStalls, baselineStalls int) (*experiment.Experiment, []result.Trial) {
	e := overlay(20)
	e.Arms = []experiment.Arm{{Name: "l2"}, {Name: "fast"}}
	r := rand.New(rand.NewPCG(4, 9))
	var trials []result.Trial
	for i, slot := range e.Slots() {
		level, stalled := 10e-6, slot.Block*7%20 < baselineStalls
		if slot.Arm == "fast" {
			level, stalled = 9.3e-6, slot.Block*7%20 < armStalls
		}
		p50 := level * (1 + 0.01*r.NormFloat64())
		t := result.Trial{
			Trial: i + 1, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload,
			Tool: result.ToolVersion{Name: "native"},
			Mode: "rr", Protocol: "tcp", Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
			Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: p50}},
		}
		if !stalled {
			t.Metrics = append(t.Metrics, result.Metric{Name: result.RTT, Stat: result.P99,
				Unit: result.Seconds, Value: 1.4 * p50})
		}
		trials = append(trials, t)
	}
	return e, trials
}

func comparisonOf(a Answer, stat string) *figures.Comparison {
	for i := range a.Comparisons {
		if a.Comparisons[i].Stat == stat {
			return &a.Comparisons[i]
		}
	}
	return nil
}

// warningsOf finds the warnings with a code.
func warningsOf(a Answer, code string) (found []Warning) {
	for _, w := range a.Warnings {
		if w.Code == code {
			found = append(found, w)
		}
	}
	return found
}

// TestStalledTrialsCountAgainstTheirArm: an arm with 9 of 20 stalled trials is not better in p99.
func TestStalledTrialsCountAgainstTheirArm(t *testing.T) {
	e, trials := stalling(9, 0)
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	c := comparisonOf(a, result.P99)
	if c == nil {
		t.Fatal("p99 is not compared")
	}
	if c.Verdict != figures.NoDifference || c.Better != "" || c.Blocks != 20 || c.Missing == nil ||
		*c.Missing != [2]int{9, 0} {
		t.Errorf("%+v", c)
	}
	if c.Unbounded != figures.UnboundedAbove || c.Interval == nil || c.Interval[0] >= 0 ||
		!math.IsInf(c.Interval[1], 1) {
		t.Errorf("interval %v, unbounded %q", c.Interval, c.Unbounded)
	}
	if c := comparisonOf(a, result.P50); c.Verdict != figures.Lower || c.Missing != nil || c.Unbounded != "" {
		t.Errorf("p50: %+v", c)
	}
	for _, f := range a.Arms {
		if want := map[bool]int{true: 9}[f.Arm == "fast" && f.Stat == result.P99]; f.Trials != 20 ||
			f.Missing != want || (f.Unbounded != "") != (want > 0) {
			t.Errorf("%+v", f)
		}
	}
	w := warningsOf(a, CodeMissing)
	if len(w) != 1 || w[0].Arm != "fast" ||
		!strings.Contains(w[0].Message, "rtt p99 is missing in 0 of 20 trials of l2, 9 of 20 trials of fast") {
		t.Errorf("%+v", a.Warnings)
	}
	text, err := json.Marshal(a)
	if err != nil || strings.Contains(string(text), "Inf") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestMissingFigures: one stalled trial matters little, and with most trials stalled the comparison is refused. If no
// arm has the quantity, the trials are too short for it.
func TestMissingFigures(t *testing.T) {
	for _, test := range []struct {
		arm, baseline int
		verdict       string
		better        string
		reason        string
	}{
		{0, 0, figures.Lower, "arm", ""},
		{1, 0, figures.Lower, "arm", ""},
		{0, 9, figures.Lower, "arm", ""},
		{9, 9, figures.NoDifference, "", ""},
		{10, 0, figures.NotComparable, "",
			"rtt p99 is missing in 10 of 20 trials of fast and in 0 of 20 trials of l2: " +
				"there is no median to compare"},
		{15, 0, figures.NotComparable, "",
			"rtt p99 is missing in 15 of 20 trials of fast and in 0 of 20 trials of l2: " +
				"there is no median to compare"},
		{20, 0, figures.NotComparable, "",
			"rtt p99 is missing in 20 of 20 trials of fast and in 0 of 20 trials of l2: " +
				"there is no median to compare"},
		{0, 15, figures.NotComparable, "",
			"rtt p99 is missing in 0 of 20 trials of fast and in 15 of 20 trials of l2: " +
				"there is no median to compare"},
	} {
		t.Run(fmt.Sprintf("%d and %d", test.arm, test.baseline), func(t *testing.T) {
			e, trials := stalling(test.arm, test.baseline)
			a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
			c := comparisonOf(a, result.P99)
			if c == nil || c.Verdict != test.verdict || c.Better != test.better || c.Reason != test.reason {
				t.Errorf("%+v", c)
			}
			if (c.Missing != nil) != (test.arm+test.baseline > 0) ||
				len(warningsOf(a, CodeMissing)) > 0 != (c.Missing != nil) {
				t.Errorf("missing %v, warnings %+v", c.Missing, a.Warnings)
			}
		})
	}
	e, trials := stalling(20, 20)
	if a := Make(Input{Experiment: e, Trials: trials, State: "complete"}); comparisonOf(a, result.P99) != nil ||
		len(warningsOf(a, CodeMissing)) > 0 {
		t.Errorf("too short for a p99 everywhere: %+v, %+v", a.Comparisons, a.Warnings)
	}
	// A foreign tool prints percentiles for any number of observations: nothing is missing.
	e, trials = stalling(0, 0)
	for i := range trials {
		trials[i].Tool.Name = "sockperf"
	}
	if a := Make(Input{Experiment: e, Trials: trials, State: "complete"}); comparisonOf(a,
		result.P99).Verdict != figures.Lower || len(warningsOf(a, CodeMissing)) > 0 {
		t.Errorf("%+v, %+v", a.Comparisons, a.Warnings)
	}
}

// TestMissingWhereMoreIsBetter: a trial without goodput is worse than all others, also in a metric for which more is
// better.
func TestMissingWhereMoreIsBetter(t *testing.T) {
	e, trials := stalling(9, 0)
	for i := range trials {
		p99, ok := trials[i].Value(result.RTT, result.P99)
		trials[i].Mode, trials[i].Definition, trials[i].Metrics = "stream", result.DefinitionRate, nil
		if ok {
			trials[i].Metrics = []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 1e5 / p99}}
		}
	}
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if len(a.Comparisons) != 1 {
		t.Fatalf("%+v", a.Comparisons)
	}
	c := a.Comparisons[0]
	if c.Verdict != figures.NoDifference || c.Better != "" || c.Unbounded != figures.UnboundedBelow ||
		c.Interval[1] <= 0 || *c.Missing != [2]int{9, 0} {
		t.Errorf("%+v, %v", c, c.Interval)
	}
}

// TestCostsSayWhatTheyLeaveOut: costs are means, and leave out trials without the quantity.
func TestCostsSayWhatTheyLeaveOut(t *testing.T) {
	e := overlay(12)
	trials := model(e, perLayer, 5e-8)
	for i := range trials {
		if trials[i].Arm == "vxlan" && trials[i].Block <= 3 {
			trials[i].Metrics = []result.Metric{{Name: result.RTT, Stat: result.Mean, Unit: result.Seconds, Value: 1}}
		}
	}
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	w := warningsOf(a, "layers-leave-trials-out")
	if len(w) != 1 || !strings.Contains(w[0].Message, "leave out 3 of 12 trials of vxlan") {
		t.Errorf("%+v", a.Warnings)
	}
	if len(a.Layers) != 3 || a.Layers[0].Missing != 3 || len(a.Residual) != 1 || a.Residual[0].Missing != 3 {
		t.Errorf("%+v, %+v", a.Layers, a.Residual)
	}
}

// TestFiguresThatAToolNeverGivesAreNotMissing: arms may measure in different ways, and TCP counts no loss.
func TestFiguresThatAToolNeverGivesAreNotMissing(t *testing.T) {
	e, trials := stalling(0, 0)
	for i := range trials {
		trials[i].Mode, trials[i].Definition = "stream", result.DefinitionRate
		trials[i].Metrics = []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 1e9 + float64(i)}}
		if trials[i].Arm == "fast" {
			trials[i].Protocol = "udp"
			trials[i].Metrics = append(trials[i].Metrics, result.Metric{Name: result.Loss, Unit: result.One})
		}
	}
	if a := Make(Input{Experiment: e, Trials: trials, State: "complete"}); len(warningsOf(a, CodeMissing)) > 0 {
		t.Errorf("%+v", a.Warnings)
	}
}
