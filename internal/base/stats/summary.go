package stats

import (
	"math"
	"slices"
)

// Summary describes the trials of one arm.
type Summary struct {
	// Count is the number of finite values.
	Count int
	// Median is the sample median. Interval contains the median of the distribution of trials with at least
	// Confidence, from order statistics; unknown with fewer than 6 trials.
	Median   Quantity
	Interval Interval
	Mean     Quantity
	// Stddev is the sample standard deviation with divisor Count - 1; unknown with fewer than 2 trials.
	Stddev   Quantity
	Min, Max Quantity
	sorted   []float64
}

// Rank gives the median of trials and its interval, as Summarize does, but includes lost trials: infinite values, as
// in a Pair. Both are unknown if the median is a lost value. trials counts all values but NaN.
func Rank(values []float64) (median Quantity, interval Interval, trials int) {
	e := EstimateLevel(values, 1)
	return e.Value, e.Interval, e.Trials
}

// Summarize describes values. It ignores values that are not finite.
func Summarize(values []float64) Summary {
	sorted := make([]float64, 0, len(values))
	for _, v := range values {
		if known(v).Known {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)
	s := Summary{Count: len(sorted), sorted: sorted}
	if s.Count == 0 {
		return s
	}
	s.Median = known(median(sorted))
	s.Interval = medianInterval(sorted, Confidence)
	s.Min, s.Max = known(sorted[0]), known(sorted[s.Count-1])
	s.Mean = known(meanOf(sorted))
	if s.Count > 1 {
		s.Stddev = known(math.Sqrt(sumSquares(sorted) / float64(s.Count-1)))
	}
	return s
}

// Quantile is the p-quantile of the trials, p from 0 to 1, linear between neighbours (type 7 of Hyndman and Fan,
// Sample Quantiles in Statistical Packages, The American Statistician 50, 1996). Unknown without trials.
func (s Summary) Quantile(p float64) Quantity {
	if s.Count == 0 || !(p >= 0 && p <= 1) {
		return Quantity{}
	}
	at := p * float64(s.Count-1)
	below := int(at)
	above := min(below+1, s.Count-1)
	part := at - float64(below)
	return known(s.sorted[below]*(1-part) + s.sorted[above]*part)
}

// meanOf is the arithmetic mean.
func meanOf(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// sumSquares is the sum of squared deviations from the mean.
func sumSquares(values []float64) float64 {
	mean, sum := meanOf(values), 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum
}
