package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// wrongAtSD is the probability that a normal variable exceeds the shift from which SD is computed.
const wrongAtSD = 0.2

// SD is the standard deviation of a normal distribution that is as wide as the bulk of the paired differences: the
// shift that leaves a fifth of the differences with the wrong sign, divided by the normal distribution's 0.84. A few
// stalled trials hardly move it, as they hardly move the sign test. The widening by the kernels is taken out, as for a
// normal distribution. Unknown if the scatter is.
func (n Noise) SD() Quantity {
	if n.bandwidth == 0 {
		return Quantity{}
	}
	n.step = 0 // the scatter itself, and not which difference is seen
	shift := n.shiftFor(wrongAtSD)
	if !shift.Known {
		return shift
	}
	widened := math.Sqrt(1 + bandwidthFactor*bandwidthFactor*math.Pow(float64(len(n.deviations)), -0.4))
	return known(shift.Value / distuv.UnitNormal.Quantile(1-wrongAtSD) / widened)
}

// Independent gives the same noise for blocks that do not depend on each other.
func (n Noise) Independent() Noise {
	n.blocks = n.measuredBlocks
	return n
}

// Times gives the same noise, scaled by a positive factor.
func (n Noise) Times(factor float64) Noise {
	deviations := make([]float64, len(n.deviations))
	for i, d := range n.deviations {
		deviations[i] = factor * d
	}
	n.deviations, n.bandwidth = deviations, factor*n.bandwidth
	return n
}

// NoiseOf is the scatter of values that belong to no pairs, such as all trials of one arm.
func NoiseOf(values []float64) Noise {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return newNoise(sorted)
}

// ByLength says how the scatter of a trial's figure depends on how long the trial measures. The variance is a part that
// every trial has, however long it is, and a part that falls as 1/length.
type ByLength struct {
	// Long and Short are the lengths that were measured, in seconds.
	Long, Short float64
	// Ratio is the variance at Short divided by the variance at Long.
	Ratio float64
	// LeastRatio is Ratio less one standard error, and at least 1.
	LeastRatio float64
}

// scaleError is the standard error of the logarithm of SD, times the square root of the number of differences:
// 0.9 to 1.0 in simulations (TestScatterByLength).
const scaleError = 0.95

// ErrorOfScatters is about the standard error of the logarithm of the ratio of two SDs, one of n and one of m values.
func ErrorOfScatters(n, m int) float64 { return scaleError * math.Sqrt(1/float64(n)+1/float64(m)) }

// FitLength compares the noise of long and short trials of one arm. Lengths are in seconds. The second result is false
// if the scatter of one of them is unknown, or if short is not shorter than long.
func FitLength(longNoise, shortNoise Noise, long, short float64) (ByLength, bool) {
	a, b := longNoise.SD(), shortNoise.SD()
	if !a.Known || !b.Known || a.Value == 0 || b.Value == 0 || !(short > 0 && short < long) {
		return ByLength{}, false
	}
	ratio := b.Value * b.Value / (a.Value * a.Value)
	deviation := 2 * ErrorOfScatters(len(longNoise.deviations), len(shortNoise.deviations))
	return ByLength{Long: long, Short: short, Ratio: ratio, LeastRatio: math.Max(1, ratio*math.Exp(-deviation))}, true
}

// Fixed is the part of the variance at Long that longer trials do not shrink, 0 to 1.
func (b ByLength) Fixed() float64 { return 1 - b.shrinking(b.Ratio) }

// shrinking is the part of the variance at Long that falls as 1/length, 0 to 1, for a ratio of the variances.
func (b ByLength) shrinking(ratio float64) float64 {
	return math.Min(1, math.Max(0, (ratio-1)/(b.Long/b.Short-1)))
}

// Factor is the scatter of trials of this length in seconds, divided by the scatter of trials of the length Long.
// Between both measured lengths it is interpolated. For longer trials it is extrapolated from LeastRatio, so that
// chance in the two measured scatters rarely promises more than longer trials give.
func (b ByLength) Factor(length float64) float64 {
	if length > b.Long {
		falls := b.shrinking(b.LeastRatio)
		return math.Sqrt(1 - falls + falls*b.Long/length)
	}
	falls := math.Max(0, (b.Ratio-1)/(b.Long/b.Short-1))
	return math.Sqrt(1 - falls + falls*b.Long/math.Max(length, b.Short))
}
