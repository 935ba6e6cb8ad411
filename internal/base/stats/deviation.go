package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// sizes fills in how far arms deviate from the sum of their layers: By of Arms, Within and AtLeast.
//
// An arm's deviation is its distance from what the layers predict for it if they are fitted to the other arms: the
// deleted residual of least squares (Belsley, Kuh and Welsch, Regression Diagnostics, 1980, section 2.1). It is what
// the arm costs beyond its layers if it alone deviates. In a block it is a contrast of the arms, so its mean over the
// blocks that have all of these arms has Student's interval.
func (f *fit) sizes(a *Additivity, basis [][]float64) {
	var directions [][]float64
	var means, deviations []float64 // of each arm that can deviate
	freedom := math.MaxInt
	for arm := range f.design.Arms {
		along := make([]float64, len(basis))
		for i, direction := range basis {
			along[i] = direction[arm]
		}
		if floats.Norm(along, 2) < noContrast {
			continue
		}
		values := f.deviating(basis, along)
		if len(values) < minSignBlocks {
			return
		}
		mean := meanOf(values)
		for i, named := range a.Arms {
			if named.Arm == f.design.Arms[arm] {
				a.Arms[i].By = mean
			}
		}
		n := float64(len(values))
		means, freedom = append(means, mean), min(freedom, len(values)-1)
		deviations = append(deviations, math.Sqrt(sumSquares(values)/(n-1)/n)/f.stay)
		directions = distinct(directions, along)
	}
	if len(means) == 0 {
		return
	}
	// No arm deviates by more than the largest of all bounds, each at the level Alpha, because a margin that all arms
	// keep is tested by as many tests that all have to reject (Berger, Technometrics 24, 1982). That some arm deviates
	// is one of several tests, whose level is divided by the number of different contrasts.
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}
	all, one := t.Quantile(1-Alpha), t.Quantile(1-Alpha/2/float64(len(directions)))
	var within, least float64
	for i, mean := range means {
		within = math.Max(within, math.Abs(mean)+all*deviations[i])
		least = math.Max(least, math.Abs(mean)-one*deviations[i])
	}
	a.Within, a.AtLeast = known(within), known(least)
}

// noContrast is the length below which an arm's part of the residual space is rounding: the arm cannot contradict.
const noContrast = 1e-6

// deviating gives the deviation of an arm in each block that has all arms of its contrast. along is the arm's part of
// the basis of the residual space.
func (f *fit) deviating(basis [][]float64, along []float64) []float64 {
	weights := make([]float64, len(f.design.Arms))
	for i, direction := range basis {
		floats.AddScaled(weights, along[i]/floats.Dot(along, along), direction)
	}
	var values []float64
	for _, block := range f.blocks {
		var sum float64
		for arm, v := range block {
			if math.Abs(weights[arm]) > separationTolerance {
				sum += weights[arm] * v // NaN if the arm is missing
			}
		}
		if !math.IsNaN(sum) {
			values = append(values, sum)
		}
	}
	return values
}

// distinct adds a direction that is parallel to none of the others.
func distinct(directions [][]float64, v []float64) [][]float64 {
	unit := make([]float64, len(v))
	floats.AddScaled(unit, 1/floats.Norm(v, 2), v)
	for _, other := range directions {
		if math.Abs(floats.Dot(unit, other)) > 1-separationTolerance {
			return directions
		}
	}
	return append(directions, unit)
}

// Fit says whether the layers add up to within a margin.
type Fit string

// The values of Fit.
const (
	// FitWithin: surely no arm deviates by more than the margin.
	FitWithin Fit = "within"
	// FitBeyond: surely an arm deviates by more than the margin.
	FitBeyond Fit = "beyond"
	// FitUnknown: neither is sure, or the whole may be 0.
	FitUnknown Fit = "unknown"
)

// Fit judges the deviations against a margin, which is a share of the whole. Beyond takes a rejection by the test of
// signs as well, which assumes less about the noise than Student's intervals.
func (a Additivity) Fit(margin float64) Fit {
	switch {
	case a.Rejected() && !a.Within.Known: // they do not add up, and nothing says by how little
		return FitBeyond
	case !a.Within.Known || !a.Whole.Known:
		return FitUnknown
	case a.Within.Value <= margin*a.Whole.Value:
		return FitWithin
	case a.Rejected() && a.AtLeast.Value > margin*a.Whole.Value:
		return FitBeyond
	}
	return FitUnknown
}

// whole is the largest size of an arm's difference from the baseline; unknown if its interval holds 0.
func whole(arms []Parts) Quantity {
	var most Parts
	for _, p := range arms {
		if p.Whole.Known && math.Abs(p.Whole.Value) >= math.Abs(most.Whole.Value) {
			most = p
		}
	}
	if !most.WholeInterval.Known || most.WholeInterval.Contains(0) {
		return Quantity{}
	}
	return known(math.Abs(most.Whole.Value))
}
