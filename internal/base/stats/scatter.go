package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// CodeScatterDiffers is the code of the warning that an arm scatters more or less than its baseline.
const CodeScatterDiffers = "scatter-differs"

// scatterLevel is the level of the tests of scatter, for all arms of a workload together.
const scatterLevel = Alpha

// notableScatter is the smallest ratio of two scatters that is reported.
const notableScatter = 2

// ScatterDifference says that an arm scatters more (Ratio above 1) or less than the baseline.
type ScatterDifference struct {
	Arm string
	// Ratio is the scatter of the arm divided by that of the baseline: of their mean absolute deviations from their
	// medians, each relative to the median.
	Ratio float64
	// PValue is corrected for the number of arms (Holm).
	PValue float64
}

// FindScatterDifferences compares how much the single trials of each arm scatter with those of the baseline: one trial
// for each block and arm. A treatment that changes only the scatter is otherwise not seen, because medians stay.
//
// The test swaps the two sides in random blocks, which changes nothing if both scatter alike, whatever a block does to
// both. The statistic is the logarithm of the ratio of the mean absolute deviations from the medians, each deviation
// relative to its median, so that an arm that takes twice as long and scatters twice as much is not remarkable. The
// same holds for the absolute deviations, and the larger p-value counts. (Tests by random swaps: Lehmann and Romano,
// section 15.2.) It takes 8 blocks.
func FindScatterDifferences(trials []Trial, baseline string) []ScatterDifference {
	arms, byArm := trialsByArm(trials)
	var tested []ScatterDifference
	var raw []float64
	for _, arm := range arms {
		if arm == baseline {
			continue
		}
		a, b := inCommon(byArm[arm], byArm[baseline])
		if len(a) < minSeries {
			continue
		}
		absolute, p := scatterRatio(deviations(a, 1), deviations(b, 1))
		relative, q := scatterRatio(deviations(a, medianOfNumbers(a)), deviations(b, medianOfNumbers(b)))
		if absolute == 0 || relative == 0 || math.IsNaN(p+q) || absolute > 1 != (relative > 1) {
			p = 1
		}
		tested = append(tested, ScatterDifference{Arm: arm, Ratio: relative})
		raw = append(raw, math.Max(p, q))
		if least := math.Min(math.Abs(math.Log(absolute)), math.Abs(math.Log(relative))); !(least >=
			math.Log(notableScatter)) {
			raw[len(raw)-1] = 1
		}
	}
	var found []ScatterDifference
	for i, p := range Holm(raw) {
		if p <= scatterLevel {
			tested[i].PValue = p
			found = append(found, tested[i])
		}
	}
	return found
}

// inCommon gives the values of the blocks that both sides have, in the order of the blocks; of several in one block the
// first.
func inCommon(arm, baseline []Value) (a, b []float64) {
	first := map[int]float64{}
	for _, v := range slices.Backward(baseline) {
		first[v.Block] = v.Value
	}
	for _, v := range inBlockOrder(arm) {
		if other, ok := first[v.Block]; ok {
			a, b = append(a, v.Value), append(b, other)
			delete(first, v.Block)
		}
	}
	return a, b
}

// medianOfNumbers is the median of values in any order.
func medianOfNumbers(values []float64) float64 { return median(slices.Sorted(slices.Values(values))) }

// deviations are the absolute deviations from the median, in units of unit.
func deviations(values []float64, unit float64) []float64 {
	centre := medianOfNumbers(values)
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = math.Abs((v - centre) / unit)
	}
	return all
}

// swaps is the number of random swaps of a test.
const swaps = 1999

// scatterRatio is the ratio of the mean deviations of two sides, and the two-sided p-value that it is 1: the share of
// random swaps of the sides in single blocks with a ratio at least as far from 1. The swaps are always the same. The
// ratio is 0 if a side does not scatter.
func scatterRatio(a, b []float64) (ratio, p float64) {
	var sumA, sumB float64
	for i := range a {
		sumA, sumB = sumA+a[i], sumB+b[i]
	}
	if !(sumA > 0) || !(sumB > 0) || !known(sumA+sumB).Known {
		return 0, 1
	}
	far := func(a float64) float64 { return math.Abs(math.Log(a) - math.Log(sumA+sumB-a)) }
	observed := far(sumA) * (1 - 1e-9)
	r := rand.New(rand.NewPCG(20261124, uint64(len(a))))
	asFar := 1
	for range swaps {
		sum := 0.0
		for i := range a {
			if r.Uint64()&1 == 0 {
				sum += a[i]
			} else {
				sum += b[i]
			}
		}
		if far(sum) >= observed {
			asFar++
		}
	}
	return sumA / sumB, float64(asFar) / (swaps + 1)
}
