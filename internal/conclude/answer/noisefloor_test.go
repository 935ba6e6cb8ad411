package answer

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

const floorFile = `baseline: l2
arms:
  l2:     {lab: {path: [bridge]}}
  routed: {lab: {path: [router]}}
  far:    {lab: {path: [router, router]}}
workloads:
  - {name: rr, tool: native, duration: 2s}
schedule: {blocks: 12, seed: 4}
`

// withSelf compares the baseline of a file with itself.
func withSelf(t *testing.T, text string) *experiment.Experiment {
	t.Helper()
	e := parsed(t, text)
	self, err := e.CompareWithSelf(e.Baseline, "5%", 30, tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// scattered makes trials of rtt p50 that scatter, as shares of the level: by block from block to block, by between from
// trial to trial, and by within in trials of 2 s, which falls as the square root of the duration. A trial takes 0.5 s
// beyond its duration. The second arm is higher by the share effect.
func scattered(e *experiment.Experiment, seed uint64, block, between, within, effect float64) []result.Trial {
	r := rand.New(rand.NewPCG(seed, 61))
	started := time.Date(2026, 11, 21, 19, 22, 0, 0, time.UTC)
	effects := map[int]float64{}
	var trials []result.Trial
	for _, slot := range e.Slots() {
		if _, ok := effects[slot.Block]; !ok {
			effects[slot.Block] = block * r.NormFloat64()
		}
		w, _ := e.Workload(slot.Workload)
		length := w.Duration.Seconds() / 2
		v := 20e-6 * math.Exp(effects[slot.Block]+between*r.NormFloat64()+within/math.Sqrt(length)*r.NormFloat64())
		if slot.Arm != e.Baseline {
			v += effect * 20e-6
		}
		trials = append(trials, result.Trial{
			Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload, Repeat: slot.Repeat,
			Tool: result.ToolVersion{Name: "native"}, Mode: "rr", Protocol: "tcp", Started: started,
			DurationSeconds: w.Duration.Seconds(), Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
			Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: v}},
		})
		started = started.Add(w.Duration + 500*time.Millisecond)
	}
	return trials
}

func floorFor(e *experiment.Experiment, trials []result.Trial) Answer {
	return Make(Input{Experiment: e, Trials: trials, State: "complete"})
}

// TestNoiseFloor: the parts of the scatter are those of the trials, and the recommendation fits them.
func TestNoiseFloor(t *testing.T) {
	for _, c := range []struct {
		name                   string
		block, between, within float64
	}{
		{"scatter between trials", 0.1, 0.04, 0.005},
		{"scatter within trials", 0.1, 0.005, 0.04},
	} {
		a := floorFor(withSelf(t, floorFile), scattered(withSelf(t, floorFile), 2, c.block, c.between, c.within, 0))
		n := a.NoiseFloor
		if n == nil || !n.Sound || n.Arm != "l2" || n.Experiment != "x" || n.Comparisons != 2 || n.Blocks != 12 ||
			len(n.Figures) != 1 {
			t.Fatalf("%s: %+v", c.name, n)
		}
		f := n.Figures[0]
		near := func(what string, got *float64, want, by float64) {
			t.Helper()
			if got == nil || math.Abs(*got/want-1) > by {
				t.Errorf("%s: %s is %s, want about %v", c.name, what, textOf(got), want)
			}
		}
		near("the level", &f.Level, 20e-6, 0.1)
		near("the scatter of blocks", f.Between, c.block*20e-6, 0.5)
		near("the scatter within blocks", f.Within, math.Hypot(c.between, c.within)*20e-6, 0.4)
		near("the scatter of short trials", f.WithinShort, math.Hypot(c.between, 2*c.within)*20e-6, 0.4)
		near("the overall scatter", f.Overall, math.Hypot(c.block, math.Hypot(c.between, c.within))*20e-6, 0.4)
		fixed := c.between * c.between / (c.between*c.between + c.within*c.within)
		if f.Fixed == nil || math.Abs(*f.Fixed-fixed) > 0.5 {
			t.Errorf("%s: longer trials do not shrink %s, want about %v", c.name, textOf(f.Fixed), fixed)
		}
		blocks := []int{5, 10, 12, 20, 40}
		for i, d := range f.Detectable {
			if d.Blocks != blocks[i] || (d.Difference == nil) != (d.Blocks == 5) ||
				d.Difference != nil && math.Abs(*d.Relative-*d.Difference/f.Level) > 1e-9 {
				t.Errorf("%s: detectable %+v", c.name, d)
			}
		}
		// 12 blocks for two comparisons reject at 2.5 %, with at most 1 block against. Of 12 blocks at most one has the
		// wrong sign with 80 % probability if each has it with 0.0695, which for normal noise takes a shift of 1.48
		// standard deviations of a difference.
		near("what 12 blocks find", f.Detectable[2].Difference, 1.48*math.Sqrt2**f.Within, 0.25)
		r := n.Recommended
		if r == nil || !r.Reached || len(r.Workloads) != 1 || r.Seconds <= 0 ||
			!strings.Contains(r.Text, "5% four times in five") {
			t.Fatalf("%s: recommended %+v", c.name, r)
		}
		trial := r.Workloads[0].Seconds + 0.5 // and three trials in each block
		if math.Abs(r.Seconds-float64(3*r.Blocks)*trial) > 0.1 {
			t.Errorf("%s: %d blocks of three trials of %v s take %v s", c.name, r.Blocks, trial, r.Seconds)
		}
		short := r.Workloads[0].Seconds <= 1
		if short != (c.between > c.within) {
			t.Errorf("%s: trials of %v s are recommended", c.name, r.Workloads[0].Seconds)
		}
		if text, err := json.Marshal(a); err != nil || !strings.Contains(string(text), `"noise_floor":{"arm":"l2"`) {
			t.Errorf("%v: %s", err, text)
		}
	}
}

// textOf writes a value that may be unknown.
func textOf(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

// TestUnsound: an arm that differs from itself is said plainly; a difference that is not, is not.
func TestUnsound(t *testing.T) {
	e := withSelf(t, floorFile)
	a := floorFor(e, scattered(e, 2, 0.01, 0.01, 0.01, 0.2))
	if a.NoiseFloor.Sound || len(a.NoiseFloor.Differs) != 2 || !strings.Contains(a.Verdict, "l2 differs from itself") ||
		!strings.Contains(a.Verdict, "at most 5 % of such runs") {
		t.Errorf("%+v: %s", a.NoiseFloor.Differs, a.Verdict)
	}
	a = floorFor(e, scattered(e, 2, 0.01, 0.01, 0.01, 0))
	if !a.NoiseFloor.Sound || !strings.Contains(a.Verdict, "does not differ from itself") {
		t.Errorf("%+v: %s", a.NoiseFloor.Differs, a.Verdict)
	}
}

// TestUnsoundByChance: how often arms that do not differ are called unsound.
func TestUnsoundByChance(t *testing.T) {
	e := withSelf(t, floorFile)
	const draws = 400
	unsound := 0
	for seed := range uint64(draws) {
		in := Input{Experiment: e, Trials: scattered(e, 100+seed, 0.05, 0.05, 0.02, 0)}
		if len(selfDiffers(figures.CompareArms(in.figured(), figures.Tables(in.figured())))) > 0 {
			unsound++
		}
	}
	t.Logf("%d of %d", unsound, draws)
	if unsound > 32 { // by chance once in 200 at a true rate of 5 %
		t.Errorf("%d of %d runs of equal arms are called unsound", unsound, draws)
	}
}

// TestNothingReaches: a difference that no plan finds is not promised.
func TestNothingReaches(t *testing.T) {
	e := withSelf(t, floorFile)
	a := floorFor(e, scattered(e, 3, 0, 0.9, 0.05, 0))
	r := a.NoiseFloor.Recommended
	if r == nil || r.Reached || !strings.Contains(r.Reason, "No plan of up to 500 blocks finds 5% in rr rtt p50") ||
		!strings.Contains(r.Reason, "Longer trials help little") {
		t.Errorf("%+v", r)
	}
	if f := a.NoiseFloor.Figures[0].Resolve; f == nil || f.Blocks != nil || f.CheapestBlocks != nil {
		t.Errorf("%+v", f)
	}
}

// TestShortTrialsThatDiffer: trials whose figure depends on their duration are not recommended to be shorter.
func TestShortTrialsThatDiffer(t *testing.T) {
	e := withSelf(t, floorFile)
	trials := scattered(e, 4, 0.01, 0.02, 0.001, 0)
	for i := range trials {
		if strings.HasSuffix(trials[i].Workload, "-short") {
			trials[i].Metrics[0].Value *= 1.2
		}
	}
	a := floorFor(e, trials)
	if r := a.NoiseFloor.Recommended; r == nil || !r.Reached || r.Workloads[0].Seconds < 2 {
		t.Errorf("recommended %+v", r)
	}
	if !hasWarning(a, "short-trials-differ") {
		t.Errorf("no warning: %+v", a.Warnings)
	}
}

func hasWarning(a Answer, code string) bool {
	for _, w := range a.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

// TestUncertainPredictions: a difference that few of the baseline's blocks tell is marked, and others are not.
func TestUncertainPredictions(t *testing.T) {
	e := withSelf(t, floorFile)
	trials := scattered(e, 1, 0.1, 0.01, 0.04, 0)
	find := func() DetectableAt { return floorFor(e, trials).NoiseFloor.Figures[0].Detectable[2] }
	if d := find(); d.Uncertain() || d.Interval == nil || d.Interval[0] > *d.Difference ||
		d.Interval[1] < *d.Difference {
		t.Errorf("normal noise: %v in %v", textOf(d.Difference), d.Interval)
	}
	for i := range trials {
		if i%20 == 0 {
			trials[i].Metrics[0].Value *= 50
		}
	}
	if d := find(); !d.Uncertain() {
		t.Errorf("some stalls: %v in %v", textOf(d.Difference), d.Interval)
	}
	if (DetectableAt{}).Uncertain() {
		t.Error("no difference is uncertain")
	}
}

// TestEarlierFloor: a later run quotes the earlier noise for its own blocks, comparisons and duration.
func TestEarlierFloor(t *testing.T) {
	e := withSelf(t, floorFile)
	in := Input{Experiment: e, Trials: scattered(e, 1, 0.1, 0.01, 0.04, 0)}
	at := time.Date(2026, 11, 21, 19, 22, 0, 0, time.UTC)
	floor := floorFor(e, in.Trials).NoiseFloor.Figures[0]

	plan := parsed(t, floorFile)
	same := EarlierFloor(in, "runs/x", at, plan, "l2")
	if same == nil || len(same.Figures) != 1 || *same.Figures[0].Difference != *floor.Detectable[2].Difference {
		t.Fatalf("%+v, want %+v", same, floor.Detectable[2])
	}
	lines := same.Lines()
	if len(lines) != 1 ||
		!strings.Contains(lines[0], "a baseline of these hosts on 2026-11-21 (runs/x) saw differences of") ||
		!strings.Contains(lines[0], "of rr rtt p50 at 12 blocks") {
		t.Errorf("%q", lines)
	}
	shorter := parsed(t, strings.Replace(floorFile, "2s", "1s", 1))
	s := EarlierFloor(in, "runs/x", at, shorter, "l2")
	if s == nil || *s.Figures[0].Difference <= *floor.Detectable[2].Difference {
		t.Errorf("shorter trials find as much: %+v", s)
	}
	for what, change := range map[string][2]string{
		"other requests":        {"duration: 2s", "duration: 2s, request: 1KiB"},
		"far longer trials":     {"duration: 2s", "duration: 60s"},
		"deployments":           {"blocks: 12", "blocks: 12, deployments: 2"},
		"a repeated baseline":   {"blocks: 12", "blocks: 12, baseline_repeats: 3"},
		"another tool entirely": {"tool: native, duration: 2s", "tool: netperf, duration: 2s"},
	} {
		other := parsed(t, strings.Replace(floorFile, change[0], change[1], 1))
		if s := EarlierFloor(in, "runs/x", at, other, "l2"); s != nil {
			t.Errorf("%s: %+v", what, s)
		}
	}

	// The quote is the same after it was in a record, and a run like the baseline has no warning.
	text, err := json.Marshal(same)
	if err != nil {
		t.Fatal(err)
	}
	kept := &Earlier{}
	if err := json.Unmarshal(text, kept); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		scatter float64
		unlike  bool
	}{{0.04, false}, {0.4, true}} {
		a := Make(Input{Experiment: plan, Trials: scattered(plan, 9, 2.5*c.scatter, 0.01, c.scatter, 0), Earlier: kept})
		if hasWarning(a, "noise-unlike-baseline") != c.unlike {
			t.Errorf("scatter %v: %+v", c.scatter, a.Warnings)
		}
		if a.Earlier != kept {
			t.Error("the answer does not quote it")
		}
	}
}

// TestUnlikeFalseAlarms: how often a run on hosts that have not changed is called unlike its baseline, for noise whose
// trials stall in 3 % of cases.
func TestUnlikeFalseAlarms(t *testing.T) {
	e, plan := withSelf(t, floorFile), parsed(t, floorFile)
	stall := func(trials []result.Trial, seed uint64) []result.Trial {
		r := rand.New(rand.NewPCG(seed, 62))
		for i := range trials {
			if r.Float64() < 0.03 {
				trials[i].Metrics[0].Value *= 1 + 2*r.Float64()
			}
		}
		return trials
	}
	const draws = 200
	alarms := 0
	for seed := range uint64(draws) {
		in := Input{Experiment: e, Trials: stall(scattered(e, 1000+seed, 0.05, 0.05, 0.02, 0), seed)}
		earlier := EarlierFloor(in, "runs/x", time.Now(), plan, "l2")
		later := Input{Experiment: plan, Earlier: earlier,
			Trials: stall(scattered(plan, 5000+seed, 0.05, 0.05, 0.02, 0), 900+seed)}
		if len(unlike(later, figures.Tables(later.figured()))) > 0 {
			alarms++
		}
	}
	t.Logf("%d of %d", alarms, draws)
	if alarms > 6 { // by chance once in 1,000 at a true rate of 1 %
		t.Errorf("%d of %d runs are called unlike", alarms, draws)
	}
}
