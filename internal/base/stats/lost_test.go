package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var lost = math.Inf(1)

// stalledPair is 20 blocks in which an arm is 7 % faster than its baseline, except in blocks with a lost value.
func stalledPair(armLost, baselineLost int) Pair {
	var p Pair
	for block := range 20 {
		b := 15e-6 + 1e-8*float64(block%7)
		a := b - 1e-6 - 1e-8*float64(block%5)
		if block < armLost {
			a = lost
		}
		if block >= 20-baselineLost {
			b = lost
		}
		p.Arm, p.Baseline = append(p.Arm, Value{block, a}), append(p.Baseline, Value{block, b})
	}
	return p
}

func samplesOf(p Pair) Samples {
	var s Samples
	for i := range p.Arm {
		s.Arm, s.Baseline = append(s.Arm, p.Arm[i].Value), append(s.Baseline, p.Baseline[i].Value)
	}
	return s
}

// TestLostTrialsCount: trials without a tail rank as the worst, so that an arm that stalls is not called faster. An arm
// of which most trials are lost has no figure, but it can be worse for sure.
func TestLostTrialsCount(t *testing.T) {
	for _, test := range []struct {
		name                  string
		armLost, baselineLost int
		paired, apart         Verdict
		low, high             bool // whether the interval has this bound
	}{
		{"none", 0, 0, Lower, Lower, true, true},
		{"one of 20", 1, 0, Lower, Lower, true, true},
		{"9 of 20", 9, 0, NoDifference, NoDifference, true, false},
		{"half", 10, 0, NotComparable, NotComparable, false, false},
		// The blocks, lost ones first, count as 6.
		{"15 of 20", 15, 0, NotComparable, Higher, false, false},
		{"all", 20, 0, Higher, Higher, true, false},
		{"all of the baseline", 0, 20, Lower, Lower, false, true},
		{"9 of 20 of the baseline", 0, 9, Lower, Lower, false, true},
	} {
		p := stalledPair(test.armLost, test.baselineLost)
		c := Compare(p.Arm, p.Baseline)
		if c.Verdict != test.paired || c.Blocks != 20 {
			t.Errorf("%s: %+v", test.name, c)
		}
		if c.Verdict != NotComparable && (!c.Interval.Known || math.IsInf(c.Interval.Low, 0) == test.low ||
			math.IsInf(c.Interval.High, 0) == test.high) {
			t.Errorf("%s: interval %v", test.name, c.Interval)
		}
		if c.Difference.Known == (c.Reason == ReasonLost) {
			t.Errorf("%s: %+v", test.name, c)
		}
		if c.Verdict == NotComparable && (c.Reason != ReasonLost || c.Interval.Known ||
			c.PValue.Known || c.BlocksNeeded != -1) {
			t.Errorf("%s: %+v", test.name, c)
		}
		s := CompareSamples([]Samples{samplesOf(p)})[0]
		if s.Verdict != test.apart || s.ArmTrials != 20 || s.Difference.Known == (s.Reason == ReasonLost) {
			t.Errorf("%s, without blocks: %+v", test.name, s)
		}
		change, relative := EstimatePaired(p, 1)
		if change.Lost != (c.Reason == ReasonLost) || relative.Lost != change.Lost ||
			change.Value != c.Difference || !change.Lost && change.Interval != c.Interval {
			t.Errorf("%s: estimates %+v, %+v, and the comparison %+v", test.name, change, relative, c)
		}
	}
	if m, i, n := Rank([]float64{1, 2, 3, 4, lost, lost, lost, math.NaN()}); m.Value != 4 || n != 7 ||
		i.Low != 1 || i.High != lost {
		t.Errorf("median %v %v of %d", m, i, n)
	}
	if m, i, n := Rank([]float64{1, lost, 2, lost}); m.Known || i.Known || n != 4 {
		t.Errorf("median %v %v of %d", m, i, n)
	}
}

// TestLostRanksAsHuge: a lost value gives the same verdict, p-value and finite bounds as a value above all others.
func TestLostRanksAsHuge(t *testing.T) {
	const huge = 1e6
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Custom(func(t *rapid.T) float64 {
			if rapid.IntRange(0, 5).Draw(t, "lost") == 0 {
				return lost
			}
			return rapid.Float64Range(1, 1000).Draw(t, "value")
		})
		var p, h Pair
		// From 15 blocks on the test for dependence matters. In that test lost values are ties, and huge values are
		// not.
		for block := range rapid.IntRange(1, FewestCorrected-1).Draw(t, "blocks") {
			a, b := value.Draw(t, "arm"), value.Draw(t, "baseline")
			p.Arm, p.Baseline = append(p.Arm, Value{block, a}), append(p.Baseline, Value{block, b})
			h.Arm, h.Baseline = append(h.Arm, Value{block, min(a, huge)}),
				append(h.Baseline, Value{block, min(b, huge)})
		}
		same := func(what string, got, want Interval) {
			bound := func(v, w float64) bool { return v == w || math.IsInf(v, 0) && math.Abs(w) > 500 }
			if got.Known != want.Known || !bound(got.Low, want.Low) || !bound(got.High, want.High) {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		c, d := Compare(p.Arm, p.Baseline), Compare(h.Arm, h.Baseline)
		differences, _ := p.differences()
		slices.Sort(differences)
		n := len(differences)
		refused := math.IsInf(differences[(n-1)/2], 0) || math.IsInf(differences[n/2], 0)
		if refused != (c.Reason == ReasonLost) {
			t.Fatalf("%+v of %v", c, differences)
		}
		if !refused {
			if c.Verdict != d.Verdict || c.RawPValue != d.RawPValue || c.Difference != d.Difference {
				t.Fatalf("%+v, want %+v", c, d)
			}
			same("paired", c.Interval, d.Interval)
			if c.Detectable.Known && (math.IsInf(c.Detectable.Value, 0) || c.Detectable.Value <= 0) {
				t.Fatalf("detectable %v", c.Detectable)
			}
		}
		u, v := compareSamples(samplesOf(p)), compareSamples(samplesOf(h))
		if !u.Difference.Known {
			return
		}
		if u.Difference != v.Difference {
			t.Fatalf("%+v, want %+v", u, v)
		}
		same("without blocks", u.Interval, v.Interval)
	})
}

// stalledRun draws blocks of a baseline and of an arm whose tail is lower by gain. Each trial stalls with the given
// probability; its value is then lost.
func stalledRun(r *rand.Rand, blocks int, gain, armStalls, baselineStalls float64) Pair {
	var p Pair
	draw := func(level, stalls float64) float64 {
		v := level * math.Exp(0.03*r.NormFloat64())
		if r.Float64() < stalls {
			return lost
		}
		return v
	}
	for block := range blocks {
		level := math.Exp(0.1 * r.NormFloat64())
		p.Arm = append(p.Arm, Value{block, draw(level*(1-gain), armStalls)})
		p.Baseline = append(p.Baseline, Value{block, draw(level, baselineStalls)})
	}
	return p
}

// dropped is the pair without its lost trials.
func dropped(p Pair) Pair {
	drop := func(values []Value) (kept []Value) {
		for _, v := range values {
			if !math.IsInf(v.Value, 0) {
				kept = append(kept, v)
			}
		}
		return kept
	}
	return Pair{drop(p.Arm), drop(p.Baseline)}
}

// TestStalledArmsAreNotBetter: how often an arm is called lower although some of its trials stall. Lost trials count as
// the worst; NEARFAR_SIMULATE also reports the rate with lost trials left out, for docs/statistics.md.
func TestStalledArmsAreNotBetter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(17, 4))
	for _, blocks := range []int{10, 20} {
		for _, stalls := range []float64{0, 0.05, 0.25, 0.45, 0.65} {
			right, wrong := 0.5, math.NaN()
			switch {
			case stalls >= 0.45:
				right, wrong = 0.035, 0.07
			case blocks == 20 && stalls <= 0.05:
				right, wrong = 0.97, 0.93
			}
			s := newSimulation(t)
			what := fmt.Sprintf("%d blocks, %2.0f %% of the arm's trials stall: ", blocks, 100*stalls)
			lower, leftOut := s.rate(what+"called lower", right, wrong), s.rate(what+"left out", 0.5, math.NaN())
			s.run(func() {
				p := stalledRun(r, blocks, 0.07, stalls, 0)
				lower.add(Compare(p.Arm, p.Baseline).Verdict == Lower)
				if s.least > 0 {
					d := dropped(p)
					leftOut.add(Compare(d.Arm, d.Baseline).Verdict == Lower)
				}
			})
		}
		for _, stalls := range []float64{0.05, 0.25, 0.4} {
			s := newSimulation(t)
			alarm := s.rate(fmt.Sprintf("%d blocks, %2.0f %% of the trials of both stall, no difference: called higher",
				blocks, 100*stalls), 0.03, 0.06)
			s.run(func() {
				p := stalledRun(r, blocks, 0, stalls, stalls)
				alarm.add(Compare(p.Arm, p.Baseline).Verdict == Higher)
			})
		}
	}
}

// TestLostRuns: a run with mostly lost trials is a lost run. Ranks can use it, means cannot.
func TestLostRuns(t *testing.T) {
	run := func(level float64, lostTrials int) []float64 {
		var values []float64
		for i := range 8 {
			v := level * (1 + 0.001*float64(i*3%8))
			if i < lostTrials {
				v = lost
			}
			values = append(values, v)
		}
		return values
	}
	side := func(runs int, level float64, lostTrials int) (all [][]float64) {
		for i := range runs {
			n := 0
			if i == 0 {
				n = lostTrials
			}
			all = append(all, run(level*(1+0.01*float64(i*5%7)), n))
		}
		return all
	}
	for _, test := range []struct {
		runs, lostTrials int
		want             Verdict
	}{{4, 0, Lower}, {4, 3, Lower}, {4, 6, NotComparable}, {12, 6, Lower}} {
		r := Runs{Arm: side(test.runs, 8, test.lostTrials), Baseline: side(test.runs, 10, 0)}
		c := CompareRuns([]Runs{r})[0]
		if c.Verdict != test.want || (c.Reason == ReasonLost) != (test.want == NotComparable) ||
			c.Verdict == NotComparable && (c.PValue.Known || c.Interval.Known) {
			t.Errorf("%d runs, %d trials of one lost: %+v", test.runs, test.lostTrials, c.SampleComparison)
		}
		change, relative, _ := EstimateRuns(r, 1)
		level, _ := EstimateRunLevel(r.Arm, 1)
		if refused := test.want == NotComparable; change.Lost != refused ||
			relative.Lost != refused || level.Lost != refused {
			t.Errorf("%d runs, %d trials of one lost: %+v, %+v, %+v", test.runs, test.lostTrials,
				change, relative, level)
		}
	}
	// One run a side, with the scatter of other runs: half of the arm's trials are lost.
	r := Runs{Arm: [][]float64{run(8, 4)}, Baseline: [][]float64{run(10, 0)},
		Between: Scatter{SD: 0.1, LogSD: known(0.01), Runs: 9}}
	if c := CompareRuns([]Runs{r})[0]; c.Verdict != NotComparable || c.Reason != ReasonLost {
		t.Errorf("%+v", c.SampleComparison)
	}
	if change, _, _ := EstimateRuns(r, 1); !change.Lost {
		t.Errorf("%+v", change)
	}
}
