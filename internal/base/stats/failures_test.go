package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// blocks makes strata of one attempt a side: both failed, only the arm, only the baseline, neither.
func blocksOf(both, arm, baseline, neither int) Failures {
	var f Failures
	add := func(n, a, b int) {
		for range n {
			f.Strata = append(f.Strata, Stratum{Attempts{a, 1}, Attempts{b, 1}})
		}
	}
	add(both, 1, 1)
	add(arm, 1, 0)
	add(baseline, 0, 1)
	add(neither, 0, 0)
	return f
}

func apart(arm, of, baseline, ofBaseline int) Failures {
	return Failures{Strata: []Stratum{{Attempts{arm, of}, Attempts{baseline, ofBaseline}}}}
}

// The reference values come from their definitions, computed with whole numbers and by bisection of binomial sums: the
// ends of an interval are the probabilities at which so many failures, or more (or fewer), have a probability of 2.5 %.
func TestFailuresAgainstReferences(t *testing.T) {
	for _, c := range []struct {
		a         Attempts
		low, high float64
	}{
		{Attempts{0, 12}, 0, 0.264648}, {Attempts{5, 17}, 0.103136, 0.559583}, {Attempts{12, 12}, 0.735352, 1},
		{Attempts{20, 57}, 0.229146, 0.488687},
	} {
		if i := c.a.Interval(0.05); math.Abs(i.Low-c.low) > 1e-5 || math.Abs(i.High-c.high) > 1e-5 {
			t.Errorf("%v: %v, want [%g, %g]", c.a, i, c.low, c.high)
		}
	}
	for _, c := range []struct {
		f    Failures
		p    float64
		want Verdict
	}{
		{apart(20, 57, 0, 57), 2 * 1.2587532e-07, Higher}, // C(57,20)/C(114,20)
		{apart(5, 17, 0, 17), 2 * 0.0222387, Higher},      // C(17,5)/C(34,5) = 6188/278256
		{apart(0, 17, 5, 17), 2 * 0.0222387, Lower},
		{apart(1, 12, 0, 12), 1, NoDifference},
		{apart(0, 57, 0, 57), 1, NoDifference},
		{blocksOf(0, 6, 0, 6), 2 * math.Pow(0.5, 6), Higher},
		{blocksOf(0, 5, 0, 7), 2 * math.Pow(0.5, 5), NoDifference},
		{blocksOf(30, 6, 0, 21), 2 * math.Pow(0.5, 6), Higher},
		{blocksOf(30, 0, 0, 27), 1, NoDifference},
	} {
		got := CompareFailures([]Failures{c.f})[0]
		if math.Abs(got.RawPValue.Value-c.p) > 1e-3*c.p || got.Verdict != c.want {
			t.Errorf("%+v: p %g, want %g", got, got.RawPValue.Value, c.p)
		}
	}
	if c := CompareFailures([]Failures{apart(0, 0, 1, 3)})[0]; c.Verdict != NotComparable || c.Interval.Known {
		t.Errorf("no attempts: %+v", c)
	}
}

// A baseline that runs three times a block has three times the attempts, and no more weight than they give.
func TestFailuresOfRepeatedBaseline(t *testing.T) {
	var f Failures
	for range 12 {
		f.Strata = append(f.Strata, Stratum{Attempts{1, 1}, Attempts{0, 3}})
	}
	// In each block one of four attempts failed, and it was the arm's.
	if c := CompareFailures([]Failures{f})[0]; math.Abs(c.RawPValue.Value-2*math.Pow(0.25, 12)) > 1e-12 {
		t.Errorf("%+v", c)
	}
}

// Runs that fail as a whole are not as many independent failures as they have trials.
func TestFailuresOfRunsThatFailAsAWhole(t *testing.T) {
	f := apart(20, 60, 0, 60)
	alone := CompareFailures([]Failures{f})[0]
	f.Arm, f.Baseline = []Attempts{{20, 20}, {0, 20}, {0, 20}}, []Attempts{{0, 20}, {0, 20}, {0, 20}}
	if c := CompareFailures([]Failures{f})[0]; alone.Verdict != Higher || c.Verdict != NoDifference ||
		!c.Interval.Contains(0) {
		t.Errorf("one run of three failed: %+v; as trials: %+v", c, alone)
	}
	f.Arm = []Attempts{{7, 20}, {6, 20}, {7, 20}}
	if c := CompareFailures([]Failures{f})[0]; c.Verdict != Higher {
		t.Errorf("all three fail alike: %+v", c)
	}
	f.Paired = true
	if c := CompareFailures([]Failures{f})[0]; c.Verdict != Higher {
		t.Errorf("all three deployments fail alike: %+v", c)
	}
}

// The share of one side is no surer than its runs are alike.
func TestShareOfRuns(t *testing.T) {
	one, apart := EstimateShare([]Attempts{{20, 60}}, 1), EstimateShare([]Attempts{{20, 20}, {0, 20}, {0, 20}}, 1)
	if one.Interval.Low < 0.2 || apart.Interval.Low > 1e-6 || apart.Interval.Low <= 0 || apart.Interval.High != 1 ||
		one.Value != apart.Value {
		t.Errorf("%+v, %+v", one, apart)
	}
	none := EstimateShare([]Attempts{{0, 20}, {0, 20}}, 1)
	if none.Interval.Low != 0 || none.Value.Value != 0 || none.Trials != 40 {
		t.Errorf("%+v", none)
	}
}

// The interval excludes 0 exactly if the test rejects, at the level of any number of checks, and holds the estimate.
func TestFailureIntervalsAgreeWithTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Failures
		if rapid.Bool().Draw(t, "paired") {
			n := rapid.SliceOfN(rapid.IntRange(0, 12), 4, 4).Draw(t, "blocks")
			f = blocksOf(n[0], n[1], n[2], n[3]+1)
		} else {
			m, n := rapid.IntRange(1, 60).Draw(t, "arm"), rapid.IntRange(1, 60).Draw(t, "baseline")
			f = apart(rapid.IntRange(0, m).Draw(t, "a"), m, rapid.IntRange(0, n).Draw(t, "b"), n)
		}
		checks := rapid.IntRange(1, 5).Draw(t, "checks")
		change, _ := EstimateFailures(f, checks)
		p := CompareFailures([]Failures{f})[0].RawPValue.Value
		if change.Interval.Contains(0) != (p > Level(checks)) || !change.Interval.Contains(change.Value.Value) {
			t.Fatalf("p %g of %d checks, %+v", p, checks, change)
		}
	})
}
