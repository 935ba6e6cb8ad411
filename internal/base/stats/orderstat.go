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

// known makes a Quantity, which is unknown if the value is not finite.
func known(v float64) Quantity {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Quantity{}
	}
	return Quantity{Value: v, Known: true}
}

// Interval is a confidence interval, both ends included. If it is not Known, Low and High are 0. Low may be -Inf and
// High +Inf if the order statistic at that end is a lost value (see Pair): the interval then has no bound there.
type Interval struct {
	Low, High float64
	Known     bool
}

// knownInterval makes an Interval, which is unknown if an end is not finite.
func knownInterval(low, high float64) Interval {
	if !known(low).Known || !known(high).Known {
		return Interval{}
	}
	return Interval{Low: low, High: high, Known: true}
}

// Contains says whether v is in the interval; false if the interval is unknown.
func (i Interval) Contains(v float64) bool { return i.Known && i.Low <= v && v <= i.High }

// extend extends the interval to v.
func (i Interval) extend(v float64) Interval {
	return Interval{Low: math.Min(i.Low, v), High: math.Max(i.High, v), Known: i.Known}
}

// oneSided replaces an end that is a lost value on the far side, +Inf as the lower end or -Inf as the upper end, by 0:
// the difference has that sign, and nothing says how large it is.
func (i Interval) oneSided() Interval {
	if math.IsInf(i.Low, 1) {
		i.Low = 0
	}
	if math.IsInf(i.High, -1) {
		i.High = 0
	}
	return i
}

// reachZero extends intervals that exclude 0 to it, and says whether there is one.
func reachZero(intervals ...*Interval) (widened bool) {
	for _, i := range intervals {
		if i.Known && !i.Contains(0) {
			*i, widened = i.extend(0), true
		}
	}
	return widened
}

// median is the sample median of sorted values: the middle value, or the mean of the two middle values.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	// Halving first avoids overflow.
	return sorted[n/2-1]/2 + sorted[n/2]/2
}

// mostSummed is the largest number of tosses for which criticalCount adds up probabilities: 2^-n is a normal float64.
const mostSummed = 1000

// criticalCount is the largest k for which 2 P(K <= k) <= alpha, where K is binomial with n tosses of a fair coin; -1
// if even k = 0 is too likely. A sum over k takes a tenth of the time of a search with signP.
func criticalCount(n int, alpha float64) int {
	if n > mostSummed {
		return sort.Search(n/2+1, func(k int) bool { return signP(n, k) > alpha }) - 1
	}
	one := math.Ldexp(1, -n) // P(K = k)
	sum, k := one, 0
	for k <= n/2 && math.Min(1, 2*sum) <= alpha {
		k++
		one *= float64(n-k+1) / float64(k)
		sum += one
	}
	return k - 1
}

// signP is the two-sided p-value of a sign test: k of n differences have the rarer sign or are 0.
func signP(n, k int) float64 {
	return math.Min(1, 2*distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(k)))
}

// medianInterval is the exact interval of a median from order statistics: [x(k+1), x(n-k)], where x is sorted and k =
// criticalCount(n, 1 - confidence). It contains the distribution's median with at least the given confidence for any
// distribution, ties included (Conover, Practical Nonparametric Statistics, 3rd ed. 1999, section 3.2). It is unknown
// with too few values.
func medianInterval(sorted []float64, confidence float64) Interval {
	k := criticalCount(len(sorted), 1-confidence)
	if k < 0 {
		return Interval{}
	}
	return Interval{Low: sorted[k], High: sorted[len(sorted)-1-k], Known: true}
}

// difference is a - b. Two infinities of one sign are lost values with the same rank: their difference is 0.
func difference(a, b float64) float64 {
	if a == b {
		return 0
	}
	return a - b
}

// ratio is a/b - 1. If a or b is a lost value, it is ordered as difference is. NaN if b is 0 or less.
func ratio(a, b float64) float64 {
	switch {
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return difference(a, b)
	case b <= 0:
		return math.NaN()
	}
	return a/b - 1
}

// ranks sorts values. Lost values (infinities) stay; NaN is left out.
func ranks(values []float64) []float64 {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	return sorted
}

// finite is sorted values without the lost values at both ends.
func finite(sorted []float64) []float64 {
	from := sort.Search(len(sorted), func(i int) bool { return !math.IsInf(sorted[i], -1) })
	to := sort.Search(len(sorted), func(i int) bool { return math.IsInf(sorted[i], 1) })
	return sorted[from:max(from, to)]
}
