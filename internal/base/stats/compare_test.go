package stats

import (
	stdcmp "cmp"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// pairOf gives a baseline of 10 in every block and an arm that differs by the given amounts.
func pairOf(differences ...float64) Pair {
	var p Pair
	for block, d := range differences {
		p.Baseline = append(p.Baseline, Value{block, 10})
		p.Arm = append(p.Arm, Value{block, 10 + d})
	}
	return p
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }

// TestCompareAgainstReference compares with scipy 1.17: numpy.median, stats.quantile_test(d,
// p=0.5).confidence_interval(0.95) and stats.binomtest(2, 10).pvalue of the same ten differences.
func TestCompareAgainstReference(t *testing.T) {
	p := pairOf(1.2, -0.3, 2.5, 0.8, 1.9, 0.4, 3.1, 1.1, -0.1, 2.2)
	c := Compare(p.Arm, p.Baseline)
	if !near(c.Difference.Value, 1.15) || !near(c.Interval.Low, -0.1) || !near(c.Interval.High, 2.5) {
		t.Errorf("difference %v, interval %v; want 1.15, [-0.1, 2.5]", c.Difference, c.Interval)
	}
	if !near(c.RawPValue.Value, 0.109375) || c.PValue != c.RawPValue {
		t.Errorf("p-value %v, corrected %v; want 0.109375 for both", c.RawPValue, c.PValue)
	}
	if !near(c.Relative.Value, 0.115) || !near(c.RelativeInterval.Low, -0.01) || !near(c.RelativeInterval.High, 0.25) {
		t.Errorf("relative %v, interval %v; want 0.115, [-0.01, 0.25]", c.Relative, c.RelativeInterval)
	}
	if c.Verdict != NoDifference || c.Widened || c.Blocks != 10 || !c.Detectable.Known || c.BlocksNeeded < 1 {
		t.Errorf("%+v", c)
	}
}

// TestCriticalCounts: the largest k with 2 scipy.stats.binom.cdf(k, n, 0.5) <= alpha.
func TestCriticalCounts(t *testing.T) {
	for _, test := range []struct {
		n     int
		alpha float64
		want  int
	}{
		{5, 0.05, -1}, {6, 0.05, 0}, {10, 0.05, 1}, {10, 0.0025, 0}, {9, 0.0025, -1},
		{20, 0.05, 5}, {100, 0.05, 39}, {1000, 0.05, 468},
	} {
		if got := criticalCount(test.n, test.alpha); got != test.want {
			t.Errorf("criticalCount(%d, %v) = %d, want %d", test.n, test.alpha, got, test.want)
		}
	}
	// It agrees with the p-values: signP(n, k) is at most alpha, signP(n, k+1) is not.
	for _, n := range []int{0, 1, 2, 5, 6, 7, 12, 61, 100, 999, 1000, 1001, 5000} {
		for _, alpha := range []float64{1, 0.5001, 0.2, Alpha, Alpha / 3, Alpha / 20, 1e-9, 0} {
			k := criticalCount(n, alpha)
			if k < -1 || k > n/2 || k >= 0 && signP(n, k) > alpha || k < n/2 && signP(n, k+1) <= alpha {
				t.Errorf("criticalCount(%d, %v) = %d: p-values are %v and %v", n, alpha, k, signP(n, max(k, 0)),
					signP(n, k+1))
			}
		}
	}
}

// TestHolm compares with statsmodels' multipletests(..., method="holm").
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005, 0.2})
	want := []float64{0.04, 0.09, 0.09, 0.025, 0.2}
	for i := range want {
		if !near(got[i], want[i]) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestMinBlocks(t *testing.T) {
	for comparisons, want := range map[int]int{0: 6, 1: 6, 2: 7, 5: 8, 10: 9, 20: 10, 25: 10, 26: 11, 40: 11, 100: 12} {
		if got := MinBlocks(comparisons, Alpha); got != want {
			t.Errorf("MinBlocks(%d) = %d, want %d", comparisons, got, want)
		}
	}
	if got := MinBlocks(1, 0); got != MaxBlocks {
		t.Errorf("at level 0: %d", got)
	}
}

// TestTableOfTwenty: with ten blocks, Holm's correction can still reject in a table of twenty.
func TestTableOfTwenty(t *testing.T) {
	pairs := make([]Pair, 20)
	for i := range pairs {
		pairs[i] = pairOf(1, -1, 2, -2, 3, -3, 4, -4, 5, -5)
	}
	pairs[7] = pairOf(1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9)
	pairs[8] = pairOf(-1, -1.1, -1.2, -1.3, -1.4, -1.5, -1.6, -1.7, -1.8, -1.9)
	// One block has the other sign: the interval of this comparison alone excludes 0, but the table does not allow
	// that.
	pairs[9] = pairOf(-0.1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9)
	table := CompareAll(pairs)
	if c := table[7]; c.Verdict != Higher || !near(c.PValue.Value, 20*2.0/1024) || c.BlocksNeeded != 0 ||
		c.Interval.Low != 1.0999999999999996 {
		t.Errorf("all higher: %+v", c)
	}
	if c := table[8]; c.Verdict != Lower {
		t.Errorf("all lower: %+v", c)
	}
	c := table[9]
	if c.Verdict != NoDifference || !c.Widened || c.Interval.Low != 0 || c.RelativeInterval.Low != 0 ||
		c.BlocksNeeded < 1 {
		t.Errorf("one of the other sign: %+v", c)
	}
	if alone := Compare(pairs[9].Arm, pairs[9].Baseline); alone.Verdict != Higher || alone.Widened ||
		alone.Interval.Low <= 0 {
		t.Errorf("the same alone: %+v", alone)
	}
}

func TestTooFew(t *testing.T) {
	for _, test := range []struct {
		name    string
		pair    Pair
		verdict Verdict
		reason  string
		needed  int
	}{
		{"none", Pair{}, NotComparable, ReasonNoPairs, 6},
		{"no block in common", Pair{[]Value{{1, 1}}, []Value{{2, 1}}}, NotComparable, ReasonNoPairs, 6},
		{"only failures", Pair{[]Value{{1, math.NaN()}}, []Value{{1, 1}}}, NotComparable, ReasonNoPairs, 6},
		{"one", pairOf(1), SingleTrial, ReasonTooFewBlocks, 5},
		{"five", pairOf(1, 2, 3, 4, 5), FewBlocks, ReasonTooFewBlocks, 1},
	} {
		c := Compare(test.pair.Arm, test.pair.Baseline)
		if c.Verdict != test.verdict || c.Reason != test.reason || c.BlocksNeeded != test.needed {
			t.Errorf("%s: %s (%s), %d needed; want %s (%s), %d",
				test.name, c.Verdict, c.Reason, c.BlocksNeeded, test.verdict, test.reason, test.needed)
		}
		if c.Interval.Known || c.RawPValue.Known || c.Detectable.Known || c.Difference.Known != (c.Blocks > 0) {
			t.Errorf("%s: claims to know %+v", test.name, c)
		}
	}
	// Ten blocks are too few for a table of 40 comparisons, whatever the data.
	var table []Pair
	for range 40 {
		table = append(table, pairOf(1, -1, 2, -2, 3, -3, 4, -4, 5, -5))
	}
	if c := CompareAll(table)[0]; c.Verdict != FewBlocks || c.Reason != ReasonTooFewBlocks || c.BlocksNeeded != 1 {
		t.Errorf("table of 40 with 10 blocks: %+v", c)
	}
}

func TestDifferencesOfZero(t *testing.T) {
	p := pairOf(0, 0, 0, 0, 0, 0, 0, 0)
	c := Compare(p.Arm, p.Baseline)
	if c.Verdict != NoDifference || c.RawPValue.Value != 1 || c.Detectable.Known || c.BlocksNeeded != -1 ||
		!c.Interval.Contains(0) {
		t.Errorf("%+v", c)
	}
	p = pairOf(2, 2, 2, 2, 2, 2)
	if c := Compare(p.Arm, p.Baseline); c.Verdict != Higher || c.Detectable.Known ||
		c.Interval != (Interval{2, 2, true}) {
		t.Errorf("%+v", c)
	}
	for i := range p.Baseline {
		p.Baseline[i].Value = 0
	}
	if c := Compare(p.Arm, p.Baseline); c.Relative.Known || c.RelativeInterval.Known || c.Verdict != Higher {
		t.Errorf("relative to 0: %+v", c)
	}
}

func TestFailedTrialsLeaveThePair(t *testing.T) {
	p := pairOf(1, 2, 3, 4, 5, 6, 7, 8)
	p.Arm = append(p.Arm[:2], p.Arm[3:]...)
	p.Baseline[5].Value = math.NaN()
	p.Arm = append(p.Arm, Value{0, 99})
	c := Compare(p.Arm, p.Baseline)
	if c.Blocks != 6 || c.Difference.Value != 4.5 {
		t.Errorf("%d blocks, difference %v; want 6 and 4.5", c.Blocks, c.Difference)
	}
}

// TestDetectableByHand: the differences are symmetric about 0, so the kernel estimate is a plain mixture. The share
// of it beyond the result is the beta quantile for 10 blocks, scipy.stats.beta.ppf(0.2, 2, 9).
func TestDetectableByHand(t *testing.T) {
	n := newNoise([]float64{-5, -4, -3, -2, -1, 1, 2, 3, 4, 5})
	d := n.Detectable().Value
	var beyond float64
	for _, v := range n.deviations {
		beyond += distuv.Normal{Mu: v, Sigma: n.bandwidth}.CDF(-d) / 10
	}
	if math.Abs(beyond-0.0832599365558711) > 1e-6 {
		t.Errorf("detectable %v leaves %v on the wrong side", d, beyond)
	}
	// scale = sqrt(pi/2) * 30/9, bandwidth = 0.8 * scale * 10^-0.2.
	if !near(n.bandwidth, 0.8*math.Sqrt(math.Pi/2)*30/9*math.Pow(10, -0.2)) {
		t.Errorf("bandwidth %v", n.bandwidth)
	}
	if more := n.BlocksNeeded(d * 1.0001); more != 0 {
		t.Errorf("the detectable difference needs %d more blocks", more)
	}
	if n.BlocksNeeded(d/3) < 10 || n.BlocksNeeded(d/1e6) != -1 || n.BlocksNeeded(0) != -1 ||
		n.BlocksNeeded(math.NaN()) != -1 {
		t.Errorf("needed: %d, %d, %d", n.BlocksNeeded(d/3), n.BlocksNeeded(d/1e6), n.BlocksNeeded(0))
	}
}

func drawPairs(t *rapid.T) Pair {
	value := rapid.Float64Range(1, 1000)
	var p Pair
	for block := range rapid.IntRange(0, 30).Draw(t, "blocks") {
		p.Arm = append(p.Arm, Value{block, value.Draw(t, "arm")})
		p.Baseline = append(p.Baseline, Value{block, value.Draw(t, "baseline")})
	}
	return p
}

var compareOptions = cmp.AllowUnexported(Noise{})

func TestOrderOfBlocksDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPairs(t)
		shuffled := Pair{rapid.Permutation(p.Arm).Draw(t, "arm"), rapid.Permutation(p.Baseline).Draw(t, "baseline")}
		if diff := cmp.Diff(Compare(p.Arm, p.Baseline), Compare(shuffled.Arm, shuffled.Baseline),
			compareOptions); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestScaleAndSign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPairs(t)
		c := Compare(p.Arm, p.Baseline)
		// A power of two scales without rounding.
		scaled := Compare(times(p.Arm, 0.125), times(p.Baseline, 0.125))
		if scaled.Verdict != c.Verdict || scaled.PValue != c.PValue || scaled.BlocksNeeded != c.BlocksNeeded ||
			!near(scaled.Difference.Value, c.Difference.Value/8) || !near(scaled.Interval.Low, c.Interval.Low/8) ||
			!near(scaled.Detectable.Value, c.Detectable.Value/8) || !near(scaled.Relative.Value, c.Relative.Value) {
			t.Fatalf("scaled by 1/8:\n%+v\n%+v", c, scaled)
		}
		swapped := Compare(p.Baseline, p.Arm)
		opposite := map[Verdict]Verdict{Higher: Lower, Lower: Higher}
		if swapped.Verdict != stdcmp.Or(opposite[c.Verdict], c.Verdict) || swapped.PValue != c.PValue ||
			!near(swapped.Difference.Value, -c.Difference.Value) ||
			!near(swapped.Interval.Low, -c.Interval.High) || !near(swapped.Detectable.Value, c.Detectable.Value) {
			t.Fatalf("swapped:\n%+v\n%+v", c, swapped)
		}
	})
}

func times(values []Value, factor float64) []Value {
	var scaled []Value
	for _, v := range values {
		scaled = append(scaled, Value{v.Block, v.Value * factor})
	}
	return scaled
}

// TestVerdictAndIntervalAgree draws tables of any size with any number of blocks.
func TestVerdictAndIntervalAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := make([]Pair, rapid.IntRange(1, 12).Draw(t, "comparisons"))
		for i := range pairs {
			pairs[i] = drawPairs(t)
			// Shift most of them so that differences are found.
			shift := rapid.SampledFrom([]float64{0, 300, 2000}).Draw(t, "shift")
			for j := range pairs[i].Arm {
				pairs[i].Arm[j].Value += shift
			}
		}
		for _, c := range CompareAll(pairs) {
			significant := c.PValue.Known && c.PValue.Value <= Alpha
			excludes := c.Interval.Known && !c.Interval.Contains(0)
			switch c.Verdict {
			case Higher:
				if !significant || !excludes || c.Interval.Low <= 0 || c.RelativeInterval.Low <= 0 ||
					c.Difference.Value <= 0 {
					t.Fatalf("%+v", c)
				}
			case Lower:
				if !significant || !excludes || c.Interval.High >= 0 || c.RelativeInterval.High >= 0 ||
					c.Difference.Value >= 0 {
					t.Fatalf("%+v", c)
				}
			case NoDifference:
				if significant || excludes || c.BlocksNeeded == 0 {
					t.Fatalf("%+v", c)
				}
			case NotComparable, FewBlocks, SingleTrial:
				if significant || c.Reason == "" || (c.Verdict == NotComparable) != (c.Blocks == 0) ||
					(c.Verdict == SingleTrial) != (c.Blocks == 1) {
					t.Fatalf("%+v", c)
				}
			default:
				t.Fatalf("verdict %q", c.Verdict)
			}
			if c.Interval.Known && !c.Interval.Contains(c.Difference.Value) {
				t.Fatalf("the interval does not contain the difference: %+v", c)
			}
		}
	})
}

func BenchmarkCompareAll(b *testing.B) {
	var pairs []Pair
	for i := range 40 {
		var differences []float64
		for block := range 100 {
			differences = append(differences, math.Sin(float64(i*100+block)*1.7))
		}
		pairs = append(pairs, pairOf(differences...))
	}
	for b.Loop() {
		CompareAll(pairs)
	}
}
