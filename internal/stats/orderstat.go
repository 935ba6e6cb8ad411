package stats

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Quantity is a value that may be unknown; Value is then 0.
type Quantity struct {
	Value float64
	Known bool
}

// known makes a Quantity, which is unknown where the value is no finite number.
func known(v float64) Quantity {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Quantity{}
	}
	return Quantity{Value: v, Known: true}
}

// Interval is a confidence interval, both ends included. Where it is not Known there is none, and Low and High are 0. Low may be
// -Inf and High +Inf: the order statistic at that end is a lost value (see Pair), so that the interval has no bound there.
type Interval struct {
	Low, High float64
	Known     bool
}

// knownInterval makes an Interval, which is unknown where an end is no finite number.
func knownInterval(low, high float64) Interval {
	if !known(low).Known || !known(high).Known {
		return Interval{}
	}
	return Interval{Low: low, High: high, Known: true}
}

// Contains says whether v lies in the interval; false where there is none.
func (i Interval) Contains(v float64) bool { return i.Known && i.Low <= v && v <= i.High }

// extend makes the interval reach to v.
func (i Interval) extend(v float64) Interval {
	return Interval{Low: math.Min(i.Low, v), High: math.Max(i.High, v), Known: i.Known}
}

// median is the sample median of sorted values: the middle one, or the mean of the two in the middle.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	// Halving first keeps the largest numbers from overflowing.
	return sorted[n/2-1]/2 + sorted[n/2]/2
}

// criticalCount is the largest k for which 2 P(K <= k) <= alpha, K binomial with n tosses of a fair coin; -1 where
// even k = 0 is too likely.
func criticalCount(n int, alpha float64) int {
	return sort.Search(n/2+1, func(k int) bool { return signP(n, k) > alpha }) - 1
}

// signP is the two-sided p-value of a sign test: of n differences, k have the rarer sign or none.
func signP(n, k int) float64 {
	return math.Min(1, 2*distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(k)))
}

// medianInterval is the exact interval of a median from order statistics: it goes from the (k+1)th smallest value to the
// (k+1)th largest, and holds the distribution's median with at least the given confidence whatever the distribution, ties
// included (Conover, Practical Nonparametric Statistics, 3rd ed. 1999, section 3.2). Unknown where the values are too few.
func medianInterval(sorted []float64, confidence float64) Interval {
	k := criticalCount(len(sorted), 1-confidence)
	if k < 0 {
		return Interval{}
	}
	return Interval{Low: sorted[k], High: sorted[len(sorted)-1-k], Known: true}
}

// difference is a less b. Two infinities of one sign are two lost values, which rank alike: their difference is 0.
func difference(a, b float64) float64 {
	if a == b {
		return 0
	}
	return a - b
}

// ratio is the difference of a from b relative to b, in the same order as difference where a or b is a lost value. NaN where b is
// 0 or less.
func ratio(a, b float64) float64 {
	switch {
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return difference(a, b)
	case b <= 0:
		return math.NaN()
	}
	return a/b - 1
}

// ranks sorts values. Lost ones (infinities) stay, NaN is left out.
func ranks(values []float64) []float64 {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	return sorted
}

// finite is the part of sorted values without the lost ones at its ends.
func finite(sorted []float64) []float64 {
	from := sort.Search(len(sorted), func(i int) bool { return !math.IsInf(sorted[i], -1) })
	to := sort.Search(len(sorted), func(i int) bool { return math.IsInf(sorted[i], 1) })
	return sorted[from:max(from, to)]
}
