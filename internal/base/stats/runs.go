package stats

import "math"

// Runs holds the values of two sides, each of one or more runs. A run's figure is the median over its trials.
type Runs struct {
	// Arm and Baseline hold the values of the trials, run by run. NaN is ignored, and so are runs without any value.
	// Infinite values are lost values, as in a Pair.
	Arm, Baseline [][]float64
	// Between is the scatter between runs, estimated from other runs. It is used if both sides are one run.
	Between Scatter
}

// Scatter is how much runs of the same thing differ from each other.
type Scatter struct {
	// SD is the standard deviation of the runs' figures. After Add it is the standard deviation of the difference
	// between two runs.
	SD float64
	// LogSD is the standard deviation of the logarithms of the figures: unknown if a figure is 0 or less.
	LogSD Quantity
	// Runs is the number of runs in the estimate; 0 if there is no estimate.
	Runs int
}

// FewestRuns is the smallest number of runs from which a scatter is estimated. With fewer, Student's t is so large
// that nothing could be found.
const FewestRuns = 5

// ScatterOf estimates the scatter of runs that all had the same true figure. It is zero with fewer than FewestRuns.
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

// Add gives the scatter of the difference between a run with scatter s and a run with scatter o. The degrees of
// freedom are those of the side with fewer runs, because both sides may have been estimated from the same runs.
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

// Scope says what a comparison of two sides applies to.
type Scope string

// The scopes.
const (
	// TheseRuns: only the two runs that were measured. The intervals do not include the scatter between runs.
	TheseRuns Scope = "these-runs"
	// OfRuns: any runs of these two sides. The intervals include the scatter between runs.
	OfRuns Scope = "runs"
)

// RunComparison is a comparison of two sides of one or more runs.
type RunComparison struct {
	SampleComparison
	Scope Scope
	// ArmRuns and BaselineRuns are how many runs have a value. If a side has more than one run, TrialsNeeded counts
	// runs.
	ArmRuns, BaselineRuns int
	// History is how many other runs the scatter between runs was estimated from; 0 if it was estimated from the two
	// sides.
	History int
}

// ReasonTooFewRuns goes with FewRuns, if the run is the unit.
const ReasonTooFewRuns = "too-few-runs"

// CompareRuns compares the entries of a table, and corrects their p-values as CompareAll does.
//
// If a side has several runs, the run is the unit: its value is the median over its trials. With at least 10 runs on
// each side, their ranks are compared as CompareSamples compares trials. With fewer, the difference is the difference
// of the means of the runs' medians, with Welch's t interval (Welch, Biometrika 34, 1947). Against a single run, it
// is the prediction interval for one more run, with the scatter of the other side, which must have at least 3 runs.
// The relative change is the ratio of the geometric means minus 1, with the same interval on logarithms. If only one
// of the two intervals excludes 0, the larger p-value counts.
//
// If both sides are one run, trials are compared as in CompareSamples, and the result applies to these runs. With
// Between, it applies to runs: the squares of the half-widths of this interval and of t * (standard deviation from
// Between) are added, because trials and runs scatter independently. Without an interval of the trials there is none,
// however much is known about other runs.
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
	for i := range compared {
		methods[i].compare(&compared[i], level)
	}
	correct(compared, func(c *RunComparison) *Outcome { return &c.Outcome })
	for i := range compared {
		methods[i].decide(&compared[i], max(tests, 1))
	}
	return compared
}

// EstimateRuns is the change of an arm against a baseline, absolute and relative, for one of several checks.
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
	if m.between.Runs > 0 {
		t := newRunT(m.medians.Samples, m.between)
		change, relative = t.widen(change, t.absolute, level), t.widen(relative, t.logarithmic, level)
	}
	return change, relative, c.Scope
}

// EstimateRunLevel is the figure of one side. With one run it is the median over its trials. With more runs it is the
// median of the runs' medians, or, if the runs are too few for an interval, their mean with Student's t interval.
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
		t.absolute.deviation = s.Stddev.Value / math.Sqrt(float64(s.Count))
	}
	t.absolute.known = s.Count > 0
	return t.estimate(t.absolute, level), OfRuns
}

// FewestRanked is the smallest number of runs on each side for a comparison by ranks. With fewer, ranks that allow
// each side its own scatter find less than Student's t, and with fewer than 6 they find nothing.
// docs/adr/0027-runs.md has the measured power.
const FewestRanked = 10

// ranked says whether runs are compared by ranks at this level: there must be enough runs, and the test must be able
// to reject.
func ranked(s sized, level float64) bool {
	least := min(s.n(), s.m())
	return least >= FewestRanked && least >= MinTrials(1, level)
}

// sized are samples with their sizes.
type sized struct{ Samples }

func (s sized) n() int { return len(s.Arm) }
func (s sized) m() int { return len(s.Baseline) }

// runMethod is how an entry of a table is compared.
type runMethod struct {
	// byRuns says that the run is the unit. units are the values compared, of runs or trials; medians are the runs'
	// medians.
	byRuns         bool
	units, medians sized
	between        Scatter
	t              runT
	ranks          bool
}

func newRunMethod(r Runs) (RunComparison, runMethod) {
	arm, armTrials := runMedians(r.Arm)
	baseline, baselineTrials := runMedians(r.Baseline)
	m := runMethod{medians: sized{Samples{Arm: arm, Baseline: baseline}}}
	m.byRuns = len(r.Arm) > 1 || len(r.Baseline) > 1
	m.units = sized{Samples{Arm: armTrials, Baseline: baselineTrials}}
	c := RunComparison{Scope: TheseRuns, ArmRuns: len(arm), BaselineRuns: len(baseline)}
	c.ArmTrials, c.BaselineTrials = len(armTrials), len(baselineTrials)
	if m.byRuns {
		m.units = m.medians
		c.Scope = OfRuns
	} else if r.Between.Runs > 0 && !newRunT(m.medians.Samples, Scatter{}).lost {
		// A run without a figure has no scatter between runs: it is then about these runs.
		m.between = r.Between
		c.Scope, c.History = OfRuns, r.Between.Runs
	}
	return c, m
}

// testable says whether the entry can have a p-value. It depends on the counts and on whether the values vary, not on
// the difference.
func (m *runMethod) testable() bool {
	if m.byRuns {
		return newRunT(m.units.Samples, Scatter{}).freedom > 0
	}
	t := newTwoSample(m.units.Samples)
	return t.cut(Alpha) >= 0
}

// compare computes everything except the correction for the table.
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

// decide sets the verdict after the p-values are corrected.
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
		c.SampleComparison = SampleComparison{
			ArmTrials: c.ArmTrials, BaselineTrials: c.BaselineTrials, TrialsNeeded: -1,
		}
		c.Verdict, c.Reason = NotComparable, ReasonLost
		return
	case m.ranks && c.sample.cut(level) < 0 && !c.significant():
		c.Verdict, c.Reason = FewTrials, ReasonTooFewTrials
		if max(c.ArmTrials, c.BaselineTrials) == 1 {
			c.Verdict = SingleTrial
		}
		c.TrialsNeeded = c.sample.missing(level)
		return
	case !c.PValue.Known:
		c.Verdict, c.Reason = FewRuns, ReasonTooFewRuns
		c.TrialsNeeded = m.t.missing()
		return
	}
	detectable := m.t.detectable(level)
	if m.ranks { // limited by the scatter of trials and of runs
		if d := c.sample.detectable(level); d.Known {
			detectable = known(math.Hypot(detectable.Value, d.Value))
		}
	}
	c.Detectable = detectable
	c.TrialsNeeded = 0
	if !c.judge() {
		c.TrialsNeeded = m.t.needed(math.Abs(c.Difference.Value), m.t.absolute, level)
	}
}

// runMedians gives the median of each run that has values, and all values together. If half of a run's values or more
// are lost, its median is a lost value.
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

// RunMedians gives the median of each run that has values: the values compared if the run is the unit.
func RunMedians(runs [][]float64) []float64 {
	medians, _ := runMedians(runs)
	return medians
}
