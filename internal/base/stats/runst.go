package stats

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// changeOf is a change and its standard error, both of logarithms if logarithmic is set.
type changeOf struct {
	value, deviation   float64
	logarithmic, known bool
}

// at is the change plus this many standard errors.
func (c changeOf) at(errors float64) float64 {
	v := c.value + errors*c.deviation
	if c.logarithmic {
		return math.Expm1(v)
	}
	return v
}

// runT compares the figures of runs with Student's t.
type runT struct {
	m, n, least int
	// freedom is the degrees of freedom; 0 if there is no interval.
	freedom               float64
	absolute, logarithmic changeOf
	// history says that the scatter is estimated from other runs; ofOne that there is only one side.
	history, ofOne bool
	// lost says that a run's figure is a lost value. Means are undefined then, and nothing is known.
	lost bool
}

func newRunT(s Samples, between Scatter) runT {
	t := runT{m: len(s.Baseline), n: len(s.Arm), history: between.Runs > 0}
	t.least = min(t.m, t.n)
	if t.least == 0 {
		return t
	}
	for _, v := range slices.Concat(s.Arm, s.Baseline) {
		t.lost = t.lost || math.IsInf(v, 0)
	}
	if t.lost {
		return t
	}
	t.absolute = changeOf{value: meanOf(s.Arm) - meanOf(s.Baseline), known: true}
	arm, okArm := logarithms(s.Arm)
	baseline, okBaseline := logarithms(s.Baseline)
	if okArm && okBaseline {
		t.logarithmic = changeOf{value: meanOf(arm) - meanOf(baseline), known: true, logarithmic: true}
	}
	if t.history {
		t.freedom = float64(between.Runs - 1)
		t.absolute.deviation = between.SD
		t.logarithmic.deviation = between.LogSD.Value
		t.logarithmic.known = t.logarithmic.known && between.LogSD.Known
		return t
	}
	freedom := 0.0
	t.absolute.deviation, t.freedom = welch(s.Arm, s.Baseline)
	if t.logarithmic.known {
		if t.logarithmic.deviation, freedom = welch(arm, baseline); freedom > 0 {
			t.freedom = math.Min(t.freedom, freedom)
		}
	}
	return t
}

// welch gives the standard error of a difference of means, and its degrees of freedom (Satterthwaite); both are 0 if
// unknown. If one side is a single value, the scatter is taken from the other side, which must have at least 3
// values. If no value varies, the error is unknown too: the figures are then coarser than the differences between
// runs.
func welch(a, b []float64) (deviation, freedom float64) {
	part := func(values []float64) (v, n float64) {
		s := Summarize(values)
		return s.Stddev.Value * s.Stddev.Value, float64(s.Count)
	}
	va, na := part(a)
	vb, nb := part(b)
	switch {
	case va+vb <= 0 || min(na, nb) < 1:
		return 0, 0
	case na > 1 && nb > 1:
		sum := va/na + vb/nb
		return math.Sqrt(sum), sum * sum / (va*va/(na*na*(na-1)) + vb*vb/(nb*nb*(nb-1)))
	case max(na, nb) < fewestAgainstOne:
		return 0, 0
	}
	n := max(na, nb)
	return math.Sqrt((va + vb) * (1 + 1/n)), n - 1
}

// fewestAgainstOne is the smallest number of runs from which one more run is predicted.
const fewestAgainstOne = 3

// quantile is Student's t quantile for a two-sided level.
func (t runT) quantile(level float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: t.freedom}.Quantile(1 - level/2)
}

func (t runT) interval(c changeOf, level float64) Interval {
	if t.freedom == 0 || !c.known {
		return Interval{}
	}
	q := t.quantile(level)
	return knownInterval(c.at(-q), c.at(q))
}

// p is the two-sided p-value: the larger of the absolute and the logarithmic one.
func (t runT) p() Quantity {
	if t.freedom == 0 {
		return Quantity{}
	}
	p := 0.0
	for _, c := range []changeOf{t.absolute, t.logarithmic} {
		if c.known && c.deviation > 0 {
			p = math.Max(p, 2*distuv.StudentsT{Sigma: 1, Nu: t.freedom}.CDF(-math.Abs(c.value)/c.deviation))
		}
	}
	return known(p)
}

// comparison compares the runs of both sides.
func (t runT) comparison() SampleComparison {
	c := SampleComparison{TrialsNeeded: -1}
	if t.absolute.known {
		c.Difference = known(t.absolute.value)
	}
	if t.logarithmic.known {
		c.Relative = known(t.logarithmic.at(0))
	}
	c.Interval, c.RelativeInterval = t.interval(t.absolute, Alpha), t.interval(t.logarithmic, Alpha)
	c.RawPValue = t.p()
	return c
}

// widenComparison adds the scatter between runs to a comparison of the trials of two runs.
func (t runT) widenComparison(c *SampleComparison) {
	if t.freedom == 0 || !c.Difference.Known {
		return
	}
	// Use the same centre as the comparison of trials.
	t.absolute.value = c.Difference.Value
	if c.Relative.Known {
		t.logarithmic.value = math.Log1p(c.Relative.Value)
	}
	at := func(level float64) (absolute, relative Interval) {
		absolute = t.withTrials(c.sample.interval(c.sample.differences, level), t.absolute, level)
		if c.Relative.Known {
			relative = t.withTrials(c.sample.interval(c.sample.ratios, level), t.logarithmic, level)
		}
		return absolute, relative
	}
	c.Interval, c.RelativeInterval = at(Alpha)
	if c.RawPValue.Known {
		c.RawPValue = known(smallestLevel(func(level float64) bool {
			absolute, relative := at(level)
			return absolute.Known && !absolute.Contains(0) && !relative.Contains(0)
		}))
	}
}

// withTrials adds the scatter between runs to an interval from the trials of two runs: the squares of the distances
// of their ends from the centre are added. It is unknown if the trials have no interval, because their own scatter is
// then unknown, whatever other runs say.
func (t runT) withTrials(trials Interval, c changeOf, level float64) Interval {
	runs := t.interval(c, level)
	if !trials.Known || !runs.Known {
		return Interval{}
	}
	scale := func(v float64) float64 {
		if c.logarithmic && !math.IsInf(v, 0) {
			return math.Log1p(v)
		}
		return v
	}
	between := t.quantile(level) * c.deviation
	ends := changeOf{value: c.value, deviation: 1, logarithmic: c.logarithmic}
	low, high := math.Hypot(c.value-scale(trials.Low), between), math.Hypot(scale(trials.High)-c.value, between)
	combined := Interval{Low: ends.at(-low), High: ends.at(high), Known: true}
	if math.IsInf(trials.Low, 0) {
		combined.Low = trials.Low
	}
	if math.IsInf(trials.High, 0) {
		combined.High = trials.High
	}
	return combined
}

// smallestLevel is the smallest level at which a comparison rejects, which is its p-value; 1 if it never does.
func smallestLevel(rejects func(level float64) bool) float64 {
	const smallest, largest = 1e-15, 1.0
	if !rejects(math.Nextafter(largest, 0)) {
		return largest
	}
	low, high := math.Log(smallest), math.Log(largest)
	for range 40 {
		if middle := (low + high) / 2; rejects(math.Exp(middle)) {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Exp(high)
}

// estimate converts a change to an Estimate for a check.
func (t runT) estimate(c changeOf, level float64) Estimate {
	if !c.known {
		return Estimate{Trials: t.least, Lost: t.lost}
	}
	value := c.at(0)
	return Estimate{
		Value: known(value), Interval: t.interval(c, level), Trials: t.least, missing: t.missing(),
		needed: func(difference float64) int {
			if c.logarithmic {
				difference = math.Abs(math.Log1p(difference)) // an approximation: the bound is near the figure
			}
			return t.needed(difference, c, level)
		},
	}
}

// widen adds the scatter between runs to an estimate from the trials of two runs.
func (t runT) widen(e Estimate, c changeOf, level float64) Estimate {
	if t.lost {
		return Estimate{Trials: e.Trials, Lost: true}
	}
	if !e.Value.Known {
		return e
	}
	if !c.known {
		e.Interval = Interval{} // the scatter between runs is unknown in this scale
		return e
	}
	c.value = e.Value.Value
	if c.logarithmic {
		c.value = math.Log1p(e.Value.Value)
	}
	e.Interval = t.withTrials(e.Interval, c, level)
	// More trials do not reduce the scatter between runs, and more runs make another kind of comparison.
	e.needed = func(float64) int { return -1 }
	return e
}

// missing is how many more runs each side needs to have an interval (or the only side).
func (t runT) missing() int { return max(1, 2-t.least) }

// powered is the true change, in standard errors, that is found with probability Power.
func powered(freedom, level float64) float64 {
	t := distuv.StudentsT{Sigma: 1, Nu: freedom}
	return t.Quantile(1-level/2) + t.Quantile(Power)
}

// detectable is the difference that is found with probability Power.
func (t runT) detectable(level float64) Quantity {
	if t.freedom == 0 || t.absolute.deviation == 0 {
		return Quantity{}
	}
	return known(powered(t.freedom, level) * t.absolute.deviation)
}

// needed is how many more runs on each side find a change of this size with probability Power: -1 if unknown or more
// than MaxBlocks. If the scatter came from other runs, more runs make a comparison of runs with its own degrees of
// freedom.
func (t runT) needed(difference float64, c changeOf, level float64) int {
	if t.freedom == 0 || !(c.deviation > 0) || !(difference > 0) {
		return -1
	}
	size := func(more int) float64 {
		m, n := float64(t.m+more), float64(t.n+more)
		if t.ofOne {
			return 1 / m
		}
		return 1/m + 1/n
	}
	now := size(0)
	more := 1 + sort.Search(MaxBlocks, func(i int) bool {
		more := i + 1
		freedom := t.freedom + 2*float64(more)
		if t.ofOne {
			freedom = t.freedom + float64(more)
		}
		if t.history {
			freedom = float64(t.m + t.n + 2*more - 2)
		}
		return powered(freedom, level)*c.deviation*math.Sqrt(size(more)/now) <= difference
	})
	if more > MaxBlocks {
		return -1
	}
	return more
}

// logarithms gives the logarithms of values; false unless all are above 0.
func logarithms(values []float64) ([]float64, bool) {
	logs := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) {
			return nil, false
		}
		logs[i] = math.Log(v)
	}
	return logs, len(values) > 0
}
