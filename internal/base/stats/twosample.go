package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Samples are the trials of an arm and of a baseline that share no blocks: trials of two runs, or recorded elsewhere.
// NaN is ignored, and infinite values are lost values, as in a Pair.
type Samples struct {
	Arm, Baseline []float64
}

// SampleComparison is an arm against a baseline with which it shares no blocks.
//
// Difference is the median of all differences between a trial of the arm and a trial of the baseline (Hodges and
// Lehmann); Relative is the median of all ratios of these trials, minus 1, and needs values of the arm that are not
// below 0. Both are known from one trial a side on. The intervals contain the median of the difference, or of the
// ratio, of two such trials drawn at random. Detectable is approximate. Reason is ReasonNoTrials, ReasonLost or
// ReasonTooFewTrials.
type SampleComparison struct {
	Outcome
	// ArmTrials and BaselineTrials are how many trials have a value.
	ArmTrials, BaselineTrials int
	// TrialsNeeded is how many more trials on each side would resolve the observed difference: 0 if it is resolved,
	// -1 if unknown or more than MaxBlocks. With too few trials, it counts up to the fewest that can resolve any
	// difference.
	TrialsNeeded int

	sample twoSample
}

// ReasonTooFewTrials goes with FewTrials, or with SingleTrial if each side has one trial.
const ReasonTooFewTrials = "too-few-trials"

// CompareSamples compares every pair of samples of a table, in the same order, and corrects their p-values for the
// size of the table. Verdicts and intervals follow the rules of CompareAll.
//
// The interval is [d(k+1), d(mn-k)], where d are the sorted differences between all m n pairs of trials, and k =
// min(k1, k2). k1 is the critical count of the exact Mann-Whitney test, which requires that both sides scatter alike
// (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed. 2014, section 4.3). k2 is the critical
// count of a test that allows each side its own scatter and distribution (shift.deviation). The p-value is the larger
// of the two tests' p-values. It is at most the level exactly if the interval of that level excludes 0.
func CompareSamples(table []Samples) []SampleComparison {
	compared := make([]SampleComparison, len(table))
	for i, s := range table {
		compared[i] = compareSamples(s)
	}
	tests := correct(compared, func(c *SampleComparison) *Outcome { return &c.Outcome })
	for i := range compared {
		compared[i].decide(tests)
	}
	return compared
}

// compareSamples computes everything that depends on one pair of samples alone.
func compareSamples(s Samples) SampleComparison {
	t := newTwoSample(s)
	c := SampleComparison{ArmTrials: t.n, BaselineTrials: t.m, TrialsNeeded: -1, sample: t}
	if t.pairs() == 0 {
		return c
	}
	c.Difference = known(t.centre) // unknown if half of the differences or more are lost
	c.Interval = t.interval(t.differences, Alpha)
	if t.ratios.pairs() > 0 {
		c.Relative, c.RelativeInterval = known(t.ratios.median()), t.interval(t.ratios, Alpha)
	}
	if t.cut(Alpha) >= 0 {
		notAbove := t.differences.count(0, true)
		notBelow := t.pairs() - t.differences.count(0, false)
		c.RawPValue, c.MostlyBelow = known(t.p(min(notAbove, notBelow))), notAbove > notBelow
	}
	return c
}

// decide sets the verdict and the fields that depend on the size of the table.
func (c *SampleComparison) decide(tests int) {
	level := Alpha / float64(tests)
	switch {
	case c.sample.pairs() == 0:
		c.Verdict, c.Reason = NotComparable, ReasonNoTrials
		c.TrialsNeeded = MinTrials(tests, Alpha)
		return
	case !c.Difference.Known:
		if c.signOfLost() {
			c.TrialsNeeded = 0
		}
		return
	case c.sample.cut(level) < 0 && !c.significant():
		c.Verdict, c.Reason = FewTrials, ReasonTooFewTrials
		if max(c.ArmTrials, c.BaselineTrials) == 1 {
			c.Verdict = SingleTrial
		}
		c.TrialsNeeded = c.sample.missing(level)
		return
	}
	c.Detectable = c.sample.detectable(level)
	if c.judge() {
		c.TrialsNeeded = 0
		return
	}
	c.TrialsNeeded = c.sample.needed(c.sample.differences, c.Difference.Value, level)
	if c.TrialsNeeded == 0 {
		c.TrialsNeeded = 1 // as in Comparison.decide: 0 would mean that it is resolved
	}
}

// twoSample holds what a comparison of two samples needs at any level.
type twoSample struct {
	// m and n are the number of values of the baseline and of the arm.
	m, n                int
	differences, ratios shift
	null                rankCount
	// cuts caches cut by level.
	cuts map[float64]int
	// centre is the median of the differences. deviation is the standard error of the share of pairs above it, and
	// freedom its degrees of freedom, 0 if unknown.
	centre, deviation, freedom float64
}

func newTwoSample(s Samples) twoSample {
	arm, baseline := ranks(s.Arm), ranks(s.Baseline)
	t := twoSample{m: len(baseline), n: len(arm), cuts: map[float64]int{}}
	if t.m == 0 || t.n == 0 {
		return t
	}
	t.null = newRankCount(t.m, t.n)
	t.differences = shift{arm, baseline, difference}
	t.centre = t.differences.median()
	if a, b := finite(arm), finite(baseline); len(a) > 0 && len(b) > 0 && b[0] > 0 && a[0] >= 0 {
		t.ratios = shift{arm, baseline, ratio}
	}
	at := t.centre
	if !known(at).Known {
		at = 0 // half of the differences or more are lost: there is only a sign
	}
	if deviation, freedom, ok := t.differences.deviation(at); ok {
		t.deviation, t.freedom = deviation, freedom
	}
	// Use one count for differences and ratios, with the larger error of the two, so that their intervals never
	// contradict each other.
	if t.ratios.pairs() > 0 && known(t.centre).Known {
		if deviation, freedom, ok := t.ratios.deviation(t.ratios.median()); ok && deviation > t.deviation {
			t.deviation, t.freedom = deviation, freedom
		}
	}
	return t
}

func (t twoSample) pairs() int { return t.m * t.n }

// p is the two-sided p-value if c of the pairs have the rarer sign or are 0.
func (t twoSample) p(c int) float64 {
	if t.freedom == 0 {
		return 1
	}
	half, count := float64(t.pairs())/2, float64(c)+0.5
	if count >= half {
		return 1
	}
	p := t.null.p(c)
	if t.deviation > 0 {
		z := (half - count) / (t.deviation * float64(t.pairs()))
		p = math.Max(p, 2*distuv.StudentsT{Sigma: 1, Nu: t.freedom}.CDF(-z))
	}
	return p
}

// leastSide is the fewest trials on each side. With fewer, the test can reject only in draws in which one side's
// trials happen to lie close together. If that side scatters more than the other, only half of the intervals of these
// draws contain the truth.
const leastSide = 6

// cut is the largest count c for which p(c) is at most alpha. It is -1 if p(0) is larger than alpha, or if a side has
// fewer than leastSide trials.
func (t twoSample) cut(alpha float64) int {
	if min(t.m, t.n) < leastSide {
		return -1
	}
	k, ok := t.cuts[alpha]
	if !ok {
		k = sort.Search(t.pairs()/2+1, func(c int) bool { return t.p(c) > alpha }) - 1
		t.cuts[alpha] = k
	}
	return k
}

// interval is the interval of the median of all differences with confidence 1 - alpha.
func (t twoSample) interval(s shift, alpha float64) Interval {
	k := t.cut(alpha)
	if k < 0 {
		return Interval{}
	}
	return Interval{Low: s.at(k + 1), High: s.at(s.pairs() - k), Known: true}
}

// missing is how many more trials each side needs until any difference can be found at the level.
func (t twoSample) missing(level float64) int {
	return max(1, MinTrials(1, level)-min(t.m, t.n))
}

// detectable is the difference that is found with probability Power: the smallest for which the share of pairs with
// the wrong sign stays below the count that the level allows (Noether, JASA 82, 1987).
func (t twoSample) detectable(alpha float64) Quantity {
	k := t.cut(alpha)
	if k < 0 || t.deviation == 0 {
		return Quantity{}
	}
	allowed := allowedShare((float64(k)+0.5)/float64(t.pairs()), t.deviation)
	above, below := finite(t.differences.above), finite(t.differences.below)
	if len(above) == 0 || len(below) == 0 {
		return Quantity{}
	}
	low, high := 0.0, above[len(above)-1]-below[0]-(above[0]-below[len(below)-1])
	if !known(high).Known || t.differences.wrong(t.centre, 2*high) > allowed {
		return Quantity{} // with this many lost trials the test never reaches Power
	}
	for range 60 {
		if middle := low + (high-low)/2; t.differences.wrong(t.centre, middle) > allowed {
			low = middle
		} else {
			high = middle
		}
	}
	return known(high)
}

// allowedShare is the largest probability q of the wrong sign for which the observed share is at most limit with
// probability Power: q + z(Power) * deviation * 2 sqrt(q (1-q)) = limit. The last factor scales the share's standard
// error, which is deviation at q = 1/2 and smaller if one sign is rare.
func allowedShare(limit, deviation float64) float64 {
	z := distuv.UnitNormal.Quantile(Power)
	low, high := 0.0, limit
	for range 60 {
		if q := (low + high) / 2; q+z*deviation*2*math.Sqrt(q*(1-q)) > limit {
			high = q
		} else {
			low = q
		}
	}
	return low
}

// needed is how many more trials on each side find a true difference of this size with probability Power at level
// alpha: 0 if the present ones do, -1 if unknown or more than MaxBlocks.
func (t twoSample) needed(s shift, difference, alpha float64) int {
	difference = math.Abs(difference)
	if t.deviation == 0 || s.pairs() == 0 || !known(difference).Known {
		return -1
	}
	wrong := s.wrong(s.median(), difference)
	if wrong >= 0.5 {
		return -1
	}
	size := func(m, n float64) float64 { return m * n / (m + n) }
	now := size(float64(t.m), float64(t.n))
	enough := func(more int) bool {
		m, n := float64(t.m+more), float64(t.n+more)
		deviation := t.deviation * math.Sqrt(now/size(m, n))
		quantile := distuv.StudentsT{Sigma: 1, Nu: t.freedom * (m + n) / float64(t.m+t.n)}.Quantile(1 - alpha/2)
		return allowedShare(0.5-quantile*deviation-0.5/(m*n), deviation) >= wrong
	}
	fewest := max(0, MinTrials(1, alpha)-min(t.m, t.n))
	more := fewest + sort.Search(MaxBlocks+1-fewest, func(i int) bool { return enough(fewest + i) })
	if more > MaxBlocks {
		return -1
	}
	return more
}
