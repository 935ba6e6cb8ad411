package stats

import (
	stdcmp "cmp"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestRankCounts compares with the critical values at 0.05, two-sided, in tables of the Mann-Whitney test (Conover,
// table A7), and checks the sum of all counts.
func TestRankCounts(t *testing.T) {
	for _, test := range []struct{ m, n, want int }{
		{3, 3, -1}, {4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {7, 7, 8}, {10, 10, 23}, {20, 20, 127},
		{8, 15, 29}, {5, 20, 20}, {2, 8, 0},
	} {
		r := newRankCount(test.m, test.n)
		k := -1
		for r.p(k+1) <= 0.05 {
			k++
		}
		if k != test.want {
			t.Errorf("%d and %d: %d, want %d", test.m, test.n, k, test.want)
		}
	}
	// P(all of one side above the other), two-sided: 2 / (m+n choose m).
	if got, want := newRankCount(5, 5).p(0), 2.0/252; !near(got, want) {
		t.Errorf("5 and 5: %v, want %v", got, want)
	}
	// The approximation is close to the exact values where it takes over.
	exact, approximate := newRankCount(20, 20), rankCount{m: 20, n: 20}
	for _, c := range []int{60, 100, 127, 150, 199} {
		if a, b := exact.p(c), approximate.p(c); math.Abs(a-b) > 0.003 || a < 0.01 && b < 0.8*a {
			t.Errorf("20 and 20, %d: %v exact, %v approximated", c, a, b)
		}
	}
}

func TestMinTrials(t *testing.T) {
	for comparisons, want := range map[int]int{0: 6, 1: 6, 2: 7, 5: 9, 10: 10, 20: 11} {
		if got := MinTrials(comparisons, Alpha); got != want {
			t.Errorf("MinTrials(%d) = %d, want %d", comparisons, got, want)
		}
	}
	if got := MinTrials(1, 0); got != MaxBlocks {
		t.Errorf("at level 0: %d", got)
	}
}

func drawSide(t *rapid.T, name string) []float64 {
	// Few different values, so that there are many ties.
	value := rapid.Map(rapid.IntRange(1, 40), func(i int) float64 { return float64(i) / 4 })
	return rapid.SliceOfN(value, 1, 25).Draw(t, name)
}

// TestShiftCountsAllPairs: counting gives the same differences as listing all of them.
func TestShiftCountsAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arm, baseline := drawSide(t, "arm"), drawSide(t, "baseline")
		sample := newTwoSample(Samples{arm, baseline})
		for _, s := range []shift{sample.differences, sample.ratios} {
			var all []float64
			above := 0.0
			centre := s.median()
			for _, a := range arm {
				for _, b := range baseline {
					d := s.of(a, b)
					all = append(all, d)
					if d > centre {
						above++
					} else if d == centre {
						above += 0.5
					}
				}
			}
			slices.Sort(all)
			if !near(centre, median(all)) {
				t.Fatalf("median %v, want %v", centre, median(all))
			}
			for _, k := range []int{1, (len(all) + 1) / 2, len(all)} {
				if s.at(k) != all[k-1] {
					t.Fatalf("the %d. difference is %v, want %v", k, s.at(k), all[k-1])
				}
			}
			below, atMost := s.count(centre, false), s.count(centre, true)
			share, want := 1-(float64(below)+float64(atMost))/2/float64(len(all)), above/float64(len(all))
			if !near(share, want) {
				t.Fatalf("share above %v, want %v", share, want)
			}
		}
	})
}

// TestDeviationByHand has two samples of three. For the baseline's 1, 2 and 6 the shares of 3, 4, 5 above them are 1,
// 1 and 0. For 3, 4 and 5 the share of the baseline below is 2/3 each.
func TestDeviationByHand(t *testing.T) {
	s := newTwoSample(Samples{Arm: []float64{3, 4, 5}, Baseline: []float64{1, 2, 6}}).differences
	deviation, freedom, ok := s.deviation(0)
	if want := math.Sqrt(1.0 / 3 / 3); !ok || !near(deviation, want) || !near(freedom, 2) {
		t.Errorf("deviation %v with %v degrees of freedom, want %v with 2", deviation, freedom, want)
	}
	if _, _, ok := newTwoSample(Samples{Arm: []float64{3}, Baseline: []float64{1, 2}}).differences.deviation(0); ok {
		t.Error("one value has a scatter")
	}
}

func TestSamplesTooFew(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, test := range []struct {
		name    string
		samples Samples
		verdict Verdict
		reason  string
		needed  int
	}{
		{"none", Samples{}, NotComparable, ReasonNoTrials, 6},
		{"one side", Samples{Arm: []float64{1, 2}}, NotComparable, ReasonNoTrials, 6},
		{"no numbers", Samples{Arm: []float64{math.NaN()}, Baseline: []float64{math.NaN()}}, NotComparable,
			ReasonNoTrials, 6},
		{"one each", Samples{Arm: []float64{3}, Baseline: []float64{2}}, SingleTrial, ReasonTooFewTrials, 5},
		{"one against many", Samples{Arm: []float64{3}, Baseline: ten}, FewTrials, ReasonTooFewTrials, 5},
		{"two against many, far apart", Samples{Arm: []float64{30, 30.1}, Baseline: ten}, FewTrials,
			ReasonTooFewTrials, 4},
		{"three each", Samples{Arm: []float64{3, 4, 5}, Baseline: []float64{1, 2, 2.5}}, FewTrials,
			ReasonTooFewTrials, 3},
	} {
		c := CompareSamples([]Samples{test.samples})[0]
		if c.Verdict != test.verdict || c.Reason != test.reason || c.TrialsNeeded != test.needed {
			t.Errorf("%s: %s (%s), %d needed; want %s (%s), %d",
				test.name, c.Verdict, c.Reason, c.TrialsNeeded, test.verdict, test.reason, test.needed)
		}
		if c.Interval.Known || c.RawPValue.Known || c.Detectable.Known ||
			c.Difference.Known != (test.reason == ReasonTooFewTrials) {
			t.Errorf("%s: claims to know %+v", test.name, c)
		}
	}
	if c := CompareSamples([]Samples{{Arm: []float64{3}, Baseline: []float64{2}}})[0]; c.Difference.Value != 1 ||
		c.Relative.Value != 0.5 {
		t.Errorf("one each: %+v", c)
	}
}

func TestSamplesWithoutSpread(t *testing.T) {
	same := []float64{2, 2, 2, 2, 2, 2, 2}
	c := CompareSamples([]Samples{{same, same}})[0]
	if c.Verdict != NoDifference || c.Interval != (Interval{0, 0, true}) || c.RawPValue.Value != 1 ||
		c.Detectable.Known || c.TrialsNeeded != -1 {
		t.Errorf("alike: %+v", c)
	}
	c = CompareSamples([]Samples{{[]float64{3, 3, 3, 3, 3, 3, 3}, same}})[0]
	if c.Verdict != Higher || c.Interval != (Interval{1, 1, true}) || c.RelativeInterval != (Interval{0.5, 0.5, true}) {
		t.Errorf("apart: %+v", c)
	}
	c = CompareSamples([]Samples{{same, []float64{0, 1, 1, 1, 1, 1, 1}}})[0]
	if c.Relative.Known || c.RelativeInterval.Known || c.Verdict != Higher {
		t.Errorf("relative to 0: %+v", c)
	}
}

// TestSampleVerdictAndIntervalAgree draws tables of any size with any counts and many ties.
func TestSampleVerdictAndIntervalAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := make([]Samples, rapid.IntRange(1, 8).Draw(t, "comparisons"))
		for i := range table {
			table[i] = Samples{drawSide(t, "arm"), drawSide(t, "baseline")}
			shift := rapid.SampledFrom([]float64{0, 4, 100}).Draw(t, "shift")
			for j := range table[i].Arm {
				table[i].Arm[j] += shift
			}
		}
		for _, c := range CompareSamples(table) {
			significant := c.PValue.Known && c.PValue.Value <= Alpha
			excludes := c.Interval.Known && !c.Interval.Contains(0)
			switch c.Verdict {
			case Higher:
				if !significant || c.Interval.Low <= 0 || c.RelativeInterval.Low <= 0 || c.Difference.Value <= 0 ||
					c.TrialsNeeded != 0 {
					t.Fatalf("%+v", c)
				}
			case Lower:
				if !significant || c.Interval.High >= 0 || c.RelativeInterval.High >= 0 || c.Difference.Value >= 0 {
					t.Fatalf("%+v", c)
				}
			case NoDifference:
				if significant || excludes || c.TrialsNeeded == 0 {
					t.Fatalf("%+v", c)
				}
			case FewTrials, SingleTrial:
				single := max(c.ArmTrials, c.BaselineTrials) == 1
				if significant || (c.Verdict == SingleTrial) != single || c.Reason != ReasonTooFewTrials ||
					c.TrialsNeeded < 1 {
					t.Fatalf("%+v", c)
				}
			}
			if c.Interval.Known && !c.Interval.Contains(c.Difference.Value) {
				t.Fatalf("the interval does not contain the difference: %+v", c)
			}
		}
	})
}

func TestSamplesScaleSignAndOrder(t *testing.T) {
	opposite := map[Verdict]Verdict{Higher: Lower, Lower: Higher}
	rapid.Check(t, func(t *rapid.T) {
		s := Samples{drawSide(t, "arm"), drawSide(t, "baseline")}
		c := CompareSamples([]Samples{s})[0]
		shuffled := CompareSamples([]Samples{{
			Arm: rapid.Permutation(s.Arm).Draw(t, "a"), Baseline: rapid.Permutation(s.Baseline).Draw(t, "b"),
		}})[0]
		if diff := cmp.Diff(c, shuffled, cmpopts.IgnoreUnexported(SampleComparison{})); diff != "" {
			t.Fatal(diff)
		}
		swapped := CompareSamples([]Samples{{s.Baseline, s.Arm}})[0]
		if swapped.Verdict != stdcmp.Or(opposite[c.Verdict], c.Verdict) ||
			!near(swapped.Difference.Value, -c.Difference.Value) || !near(swapped.Interval.Low, -c.Interval.High) {
			t.Fatalf("swapped:\n%+v\n%+v", c, swapped)
		}
		for i := range s.Arm {
			s.Arm[i] *= 1024 // without rounding
		}
		for i := range s.Baseline {
			s.Baseline[i] *= 1024
		}
		scaled := CompareSamples([]Samples{s})[0]
		if scaled.Verdict != c.Verdict || scaled.PValue != c.PValue || scaled.Interval.Low != 1024*c.Interval.Low ||
			scaled.RelativeInterval != c.RelativeInterval {
			t.Fatalf("scaled:\n%+v\n%+v", c, scaled)
		}
	})
}

// TestEstimates: with one check, a gate's estimates equal the comparison's; with more checks the intervals are wider.
func TestEstimates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Samples{drawSide(t, "arm"), drawSide(t, "baseline")}
		c := compareSamples(s)
		change, relative := EstimateSamples(s, 1)
		if change.Value != c.Difference || change.Interval != c.Interval ||
			relative.Value != c.Relative || relative.Interval != c.RelativeInterval {
			t.Fatalf("one check: %+v, %+v, and the comparison %+v", change, relative, c)
		}
		many, _ := EstimateSamples(s, 20)
		if many.Interval.Known && (many.Interval.Low > change.Interval.Low ||
			many.Interval.High < change.Interval.High) {
			t.Fatalf("20 checks: %v, one: %v", many.Interval, change.Interval)
		}
		for _, e := range []Estimate{change, relative, many} {
			if n := e.Needed(e.Value.Value + 1); n == 0 || n < -1 || n > MaxBlocks {
				t.Fatalf("%d needed", n)
			}
		}
	})
	pair := pairOf(1.2, -0.3, 2.5, 0.8, 1.9, 0.4, 3.1, 1.1, -0.1, 2.2)
	c := Compare(pair.Arm, pair.Baseline)
	change, relative := EstimatePaired(pair, 1)
	if change.Value != c.Difference || change.Interval != c.Interval ||
		relative.Value != c.Relative || relative.Interval != c.RelativeInterval || change.Trials != 10 {
		t.Errorf("paired: %+v, %+v, and the comparison %+v", change, relative, c)
	}
	if change, _ := EstimatePaired(pair, 40); change.Interval.Known || change.Needed(0) != 1 {
		t.Errorf("10 blocks and 40 checks: %+v, %d needed", change.Interval, change.Needed(0))
	}
	e := EstimateLevel([]float64{5, 1, 3, 2, 4, 6}, 1)
	if e.Value.Value != 3.5 || e.Interval != (Interval{1, 6, true}) || e.Needed(3) < 1 {
		t.Errorf("level: %+v", e)
	}
	if e := EstimateLevel(nil, 1); e.Value.Known || e.Needed(1) != -1 {
		t.Errorf("of nothing: %+v", e)
	}
}

// BenchmarkCompareSamples compares two runs of 1,000 trials a side.
func BenchmarkCompareSamples(b *testing.B) {
	s := Samples{Arm: make([]float64, 1000), Baseline: make([]float64, 1000)}
	for i := range s.Arm {
		s.Arm[i], s.Baseline[i] = 10+math.Sin(float64(i)*1.7), 10.1+math.Cos(float64(i)*2.3)
	}
	for b.Loop() {
		CompareSamples([]Samples{s})
	}
}
