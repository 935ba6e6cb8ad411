package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// predictionConfidence is the confidence of DetectableInterval.
const predictionConfidence = 0.9

// DetectableInterval holds, with a confidence of 90 %, the difference that Detectable would give if the scatter were
// known from endless blocks. High is +Inf if the measured blocks do not bound it. Unknown if Detectable is.
//
// Detectable is about the 1-2q quantile of the absolute deviations, where q is the share of blocks that may have the
// wrong sign. The interval is that of order statistics for a quantile, which holds for any distribution (Conover,
// section 3.2), extended to Detectable. It assumes that the measured blocks do not depend on each other.
func (n Noise) DetectableInterval() Interval {
	detectable, q := n.Detectable(), n.mostWrong()
	if !detectable.Known || !q.Known {
		return Interval{}
	}
	sorted := absolute(n.deviations)
	below := distuv.Binomial{N: float64(len(sorted)), P: 1 - 2*q.Value}
	const tail = (1 - predictionConfidence) / 2
	i := Interval{Low: 0, High: math.Inf(1), Known: true}
	// The l-th smallest is above the quantile if fewer than l deviations are below it, the u-th is below the quantile
	// if at least u are.
	for l := 1; l <= len(sorted) && below.CDF(float64(l-1)) <= tail; l++ {
		i.Low = sorted[l-1]
	}
	for u := len(sorted); u >= 1 && 1-below.CDF(float64(u-1)) <= tail; u-- {
		i.High = sorted[u-1]
	}
	return i.extend(detectable.Value)
}
