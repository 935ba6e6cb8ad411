package stats

import (
	"math"
)

// Runs is a figure of two sides, each of one or more runs. A run's figure is the median over its trials.
type Runs struct {
	// Arm and Baseline hold the values of the trials, run by run. NaN is left out, and so are runs without any
	// value; infinite values are lost ones, as in a Pair.
	Arm, Baseline [][]float64
	// Between is how much runs of either side scatter, as other runs show it. It is used where both sides are one run.
	Between Scatter
}

// Scatter is how much runs of the same thing differ from each other.
type Scatter struct {
	// SD is the standard deviation of the runs' figures; of the difference of two runs where Add made it.
	SD float64
	// LogSD is that of their logarithms: unknown where a figure is 0 or less.
	LogSD Quantity
	// Runs is how many runs it was estimated from; 0 for none.
	Runs int
}

// FewestRuns is from how many runs a scatter is estimated. With fewer, Student's t is so large that nothing could be found.
const FewestRuns = 5

// ScatterOf estimates the scatter of runs that were all of the same level. It is zero where there are fewer than FewestRuns.
func ScatterOf(values []float64) Scatter {
	s := Summarize(values)
	if s.Count < FewestRuns || !s.Stddev.Known || s.Stddev.Value <= 0 {
		return Scatter{}
	}
	scatter := Scatter{SD: s.Stddev.Value, Runs: s.Count}
	if logs, ok := logarithms(s.sorted); ok {
		scatter.LogSD = Summarize(logs).Stddev
	}
	return scatter
}

// Add gives the scatter of the difference between a run of the one and a run of the other. The degrees of freedom are those of
// the side with fewer runs: both may have been estimated from the same runs.
func (s Scatter) Add(o Scatter) Scatter {
	if s.Runs == 0 || o.Runs == 0 {
		return Scatter{}
	}
	sum := Scatter{SD: math.Hypot(s.SD, o.SD), Runs: min(s.Runs, o.Runs)}
	if s.LogSD.Known && o.LogSD.Known {
		sum.LogSD = known(math.Hypot(s.LogSD.Value, o.LogSD.Value))
	}
	return sum
}

// Scope is what a comparison of two sides speaks of.
type Scope string

// The scopes.
const (
	// TheseRuns: the two runs that were measured. How much one run differs from the next is in no interval.
	TheseRuns Scope = "these-runs"
	// OfRuns: runs of these two sides. How much one run differs from the next is in the interval.
	OfRuns Scope = "runs"
)

// RunComparison is a comparison of two sides of one or more runs.
type RunComparison struct {
	SampleComparison
	Scope Scope
	// ArmRuns and BaselineRuns are how many runs have a value. Where more than one run is on a side, TrialsNeeded counts runs.
	ArmRuns, BaselineRuns int
	// History is how many other runs the scatter between runs was estimated from; 0 where it comes from the sides.
	History int
}

// ReasonTooFewRuns makes FewRuns, where the unit is the run.
const ReasonTooFewRuns = "too-few-runs"

// CompareRuns compares the entries of a table, and corrects their p-values for each other as CompareAll does.
//
// Where a side has several runs, the run is the unit: its value is the median over its trials. From 10 runs a side on, their ranks
// are compared as CompareSamples compares trials. With fewer, the difference is that of the means of
// the runs' medians, with Welch's t interval (Welch, Biometrika 34, 1947); against a single run, with the interval that predicts
// one more run from the scatter of the other side (3 runs at least). The relative change is that of the geometric means, from
// the same interval of logarithms. Where one interval excludes 0 and the other does not, the larger p-value counts.
//
// Where both sides are one run, trials are compared as in CompareSamples, and the answer is about these runs. Between widens it to
// runs: the interval then also holds the difference less and plus t times the scatter of other runs, and the p-value is the larger one.
func CompareRuns(table []Runs) []RunComparison {
	compared := make([]RunComparison, len(table))
	methods := make([]runMethod, len(table))
	tests := 0
	for i := range table {
		compared[i], methods[i] = newRunMethod(table[i])
		if methods[i].testable() {
			tests++
		}
	}
	level := Level(tests)
	var raw []float64
	for i := range compared {
		methods[i].compare(&compared[i], level)
		if compared[i].RawPValue.Known {
			raw = append(raw, compared[i].RawPValue.Value)
		}
	}
	corrected := Holm(raw)
	for i := range compared {
		c := &compared[i]
		if c.RawPValue.Known {
			c.PValue = known(corrected[0])
			corrected = corrected[1:]
		}
		methods[i].decide(c, max(tests, 1))
	}
	return compared
}

// EstimateRuns is the change of an arm against a baseline, absolute and relative, as one of so many checks.
func EstimateRuns(r Runs, checks int) (change, relative Estimate, scope Scope) {
	c, m := newRunMethod(r)
	level := Level(checks)
	switch {
	case m.byRuns && ranked(m.units, level):
		change, relative = EstimateSamples(m.units.Samples, checks)
		return change, relative, c.Scope
	case m.byRuns:
		t := newRunT(m.units.Samples, Scatter{})
		change, relative = t.estimate(t.absolute, level), t.estimate(t.logarithmic, level)
		return change, relative, c.Scope
	}
	change, relative = EstimateSamples(m.units.Samples, checks)
	if r.Between.Runs > 0 {
		t := newRunT(m.medians.Samples, r.Between)
		change, relative = t.widen(change, t.absolute, level), t.widen(relative, t.logarithmic, level)
	}
	return change, relative, c.Scope
}

// EstimateRunLevel is the level of one side's runs: with one run the median over its trials, else over the medians of the runs, or
// with few runs their mean with Student's t interval.
func EstimateRunLevel(runs [][]float64, checks int) (Estimate, Scope) {
	medians, trials := runMedians(runs)
	level := Level(checks)
	if len(runs) < 2 {
		return EstimateLevel(trials, checks), TheseRuns
	}
	if criticalCount(len(medians), level) >= 0 || len(medians) == 0 {
		return EstimateLevel(medians, checks), OfRuns
	}
	s := Summarize(medians)
	if s.Count < len(medians) {
		return Estimate{Trials: len(medians), Lost: true}, OfRuns // a mean cannot hold a lost run
	}
	t := runT{absolute: changeOf{value: s.Mean.Value}, ofOne: true, least: len(medians), m: len(medians)}
	if s.Count > 1 && s.Stddev.Value > 0 {
		t.freedom = float64(s.Count - 1)
		t.absolute.deviation = s.Stddev.Value / sqrtOf(s.Count)
	}
	t.absolute.known = s.Count > 0
	return t.estimate(t.absolute, level), OfRuns
}

// fewestRanked is from how many runs a side their ranks are compared. With fewer, ranks that allow each side a scatter of its own
// find less than Student's t does, and with fewer than 6 nothing; docs/adr/0027-runs.md has the figures.
const fewestRanked = 10

// ranked says whether the ranks of runs are compared at a level: there are many, and they can reject.
func ranked(s sized, level float64) bool {
	least := min(s.n(), s.m())
	return least >= fewestRanked && least >= MinTrials(1, level)
}

// sized are samples with their sizes.
type sized struct{ Samples }

func (s sized) n() int { return len(s.Arm) }
func (s sized) m() int { return len(s.Baseline) }

// runMethod is how an entry of a table is compared.
type runMethod struct {
	// byRuns says that the run is the unit; units are what is compared, runs or trials, medians those of the runs.
	byRuns         bool
	units, medians sized
	between        Scatter
	t              runT
	ranks          bool
}

func newRunMethod(r Runs) (RunComparison, runMethod) {
	arm, armTrials := runMedians(r.Arm)
	baseline, baselineTrials := runMedians(r.Baseline)
	m := runMethod{medians: sized{Samples{Arm: arm, Baseline: baseline}}, between: r.Between}
	m.byRuns = len(r.Arm) > 1 || len(r.Baseline) > 1
	m.units = sized{Samples{Arm: armTrials, Baseline: baselineTrials}}
	c := RunComparison{Scope: TheseRuns, ArmRuns: len(arm), BaselineRuns: len(baseline)}
	c.ArmTrials, c.BaselineTrials = len(armTrials), len(baselineTrials)
	if m.byRuns {
		m.units = m.medians
		c.Scope = OfRuns
	} else if r.Between.Runs > 0 {
		c.Scope, c.History = OfRuns, r.Between.Runs
	}
	return c, m
}

// testable says whether the entry can have a p-value at all. It looks at counts and at whether figures vary, not at the
// difference.
func (m *runMethod) testable() bool {
	if m.byRuns {
		return newRunT(m.units.Samples, Scatter{}).freedom > 0
	}
	if m.between.Runs > 0 {
		return m.units.n() > 0 && m.units.m() > 0
	}
	t := newTwoSample(m.units.Samples)
	return t.cut(Alpha) >= 0
}

// compare does all but the correction for the table.
func (m *runMethod) compare(c *RunComparison, level float64) {
	armTrials, baselineTrials := c.ArmTrials, c.BaselineTrials
	m.ranks = !m.byRuns || ranked(m.units, level)
	if m.ranks {
		c.SampleComparison = compareSamples(m.units.Samples)
		c.ArmTrials, c.BaselineTrials = armTrials, baselineTrials
		if m.byRuns || m.between.Runs == 0 {
			return
		}
	}
	m.t = newRunT(m.medians.Samples, m.between)
	if m.ranks {
		m.t.widenComparison(&c.SampleComparison)
		return
	}
	c.SampleComparison = m.t.comparison()
	c.ArmTrials, c.BaselineTrials = armTrials, baselineTrials
}

// decide gives the verdict, once the p-values are corrected.
func (m *runMethod) decide(c *RunComparison, tests int) {
	if m.ranks && (m.byRuns || m.between.Runs == 0) {
		c.decide(tests)
		if m.byRuns && c.Reason == ReasonTooFewTrials {
			c.Verdict, c.Reason = FewRuns, ReasonTooFewRuns
		}
		return
	}
	level := Level(tests)
	switch {
	case m.medians.n() == 0 || m.medians.m() == 0:
		c.Verdict, c.Reason, c.TrialsNeeded = NotComparable, ReasonNoTrials, -1
		return
	case m.t.lost:
		c.SampleComparison = SampleComparison{ArmTrials: c.ArmTrials, BaselineTrials: c.BaselineTrials, TrialsNeeded: -1}
		c.Verdict, c.Reason = NotComparable, ReasonLost
		return
	case !c.PValue.Known:
		c.Verdict, c.Reason = FewRuns, ReasonTooFewRuns
		c.TrialsNeeded = m.t.missing()
		return
	}
	detectable := m.t.detectable(level)
	if m.ranks { // both what the trials hide and what the runs do
		if d := c.sample.detectable(level); d.Known {
			detectable = known(math.Max(detectable.Value, d.Value))
		}
	}
	c.Detectable = detectable
	if c.PValue.Value <= Alpha {
		c.Verdict, c.TrialsNeeded = Higher, 0
		if c.Difference.Value < 0 {
			c.Verdict = Lower
		}
		return
	}
	c.Verdict, c.TrialsNeeded = NoDifference, m.t.needed(math.Abs(c.Difference.Value), m.t.absolute, level)
	for _, interval := range []*Interval{&c.Interval, &c.RelativeInterval} {
		if interval.Known && !interval.Contains(0) {
			*interval = interval.extend(0)
			c.Widened = true
		}
	}
}

// runMedians gives the median of each run that has values, and all values together. The median of a run of which half of the values or
// more are lost is a lost one.
func runMedians(runs [][]float64) (medians, trials []float64) {
	for _, run := range runs {
		sorted := ranks(run)
		trials = append(trials, sorted...)
		if len(sorted) == 0 {
			continue
		}
		if m := median(sorted); !math.IsNaN(m) {
			medians = append(medians, m)
		}
	}
	return medians, trials
}

// RunMedians gives the median of each run that has values: what is compared where the run is the unit.
func RunMedians(runs [][]float64) []float64 {
	medians, _ := runMedians(runs)
	return medians
}
