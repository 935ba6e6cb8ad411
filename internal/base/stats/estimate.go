package stats

import (
	"math"
	"slices"
)

// Estimate is a figure with an interval at the level required by a set of checks. With n checks, each interval has
// the confidence 1 - Alpha / n, so that all of them hold at once with the confidence Confidence (Bonferroni).
type Estimate struct {
	// Value is the figure. Unknown without values, or if it is undefined, such as a ratio to a baseline of 0.
	Value Quantity
	// Interval contains the true figure with the confidence of the level; unknown if there are too few trials for
	// that.
	Interval Interval
	// Trials is the number of trials of the side that has fewer, or the number of blocks with both sides.
	Trials int
	// Lost says that so many values are lost (see Pair) that there is no median. Value and Interval are then unknown.
	Lost bool
	// missing is how many more trials or blocks it takes to have an interval. needed is how many more it takes to
	// detect a difference of this size.
	missing int
	needed  func(difference float64) int
}

// Needed is how many more trials on each side, or blocks, would distinguish the true figure from the bound with
// probability Power, if the figure is as estimated. It is -1 if unknown or more than MaxBlocks, and at least 1: it is
// called if the trials were not enough.
func (e Estimate) Needed(bound float64) int {
	switch {
	case !e.Value.Known:
		return -1
	case !e.Interval.Known:
		return max(1, e.missing)
	}
	n := e.needed(math.Abs(e.Value.Value - bound))
	if n < 0 {
		return -1
	}
	return max(1, n)
}

// Level is the level of one of several checks: Alpha / checks.
func Level(checks int) float64 { return Alpha / float64(max(checks, 1)) }

// EstimateLevel is the median of one side's trials; infinite values are lost values, as in a Pair.
func EstimateLevel(values []float64, checks int) Estimate {
	sorted := ranks(values)
	return estimateMedian(sorted, len(sorted), checks)
}

// EstimatePaired is the change of an arm against the baseline of the same block, absolute and relative, computed as
// in Compare.
func EstimatePaired(p Pair, checks int) (change, relative Estimate) {
	differences, ratios := p.differences()
	counted := serialOf(differences).Counted
	if len(ratios) < len(differences) {
		ratios = nil
	}
	slices.Sort(differences)
	slices.Sort(ratios)
	return estimateMedian(differences, counted, checks), estimateMedian(ratios, counted, checks)
}

// EstimateSamples is the change of an arm against a baseline with which it shares no blocks, absolute and relative,
// computed as in CompareSamples.
func EstimateSamples(s Samples, checks int) (change, relative Estimate) {
	t, level := newTwoSample(s), Level(checks)
	switch {
	case t.pairs() == 0:
		return Estimate{}, Estimate{}
	case !known(t.centre).Known:
		lost := Estimate{Trials: min(t.m, t.n), Lost: true}
		return lost, lost
	}
	of := func(s shift, centre float64) Estimate {
		e := Estimate{
			Value: known(centre), Interval: t.interval(s, level), Trials: min(t.m, t.n),
			needed: func(difference float64) int { return t.needed(s, difference, level) },
		}
		if !e.Interval.Known {
			e.missing = t.missing(level)
		}
		return e
	}
	change = of(t.differences, t.centre)
	if t.ratios.pairs() > 0 {
		relative = of(t.ratios, t.ratios.median())
	}
	return change, relative
}

// estimateMedian is the median of sorted values with its exact interval; counted is the effective number of values.
func estimateMedian(sorted []float64, counted, checks int) Estimate {
	switch {
	case len(sorted) == 0:
		return Estimate{}
	case !known(median(sorted)).Known:
		return Estimate{Trials: len(sorted), Lost: true}
	}
	noise := newNoise(slices.Clone(sorted)).counting(counted)
	noise.tests = max(checks, 1)
	return Estimate{
		Value: known(median(sorted)), Interval: countedInterval(sorted, counted, 1-Level(checks)), Trials: len(sorted),
		missing: noise.measured(MinBlocks(checks, Alpha) - counted), needed: noise.BlocksNeeded,
	}
}
