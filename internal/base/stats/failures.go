package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// Attempts are how many times something was tried, and how many of these tries failed.
type Attempts struct{ Failed, Of int }

// Share is the share of the tries that failed; 0 without tries.
func (a Attempts) Share() float64 {
	if a.Of == 0 {
		return 0
	}
	return float64(a.Failed) / float64(a.Of)
}

func (a Attempts) plus(b Attempts) Attempts { return Attempts{a.Failed + b.Failed, a.Of + b.Of} }

// Interval is the exact interval of the probability of a failure with confidence 1 - level (Clopper and Pearson, The
// Use of Confidence or Fiducial Limits, Biometrika 26, 1934). Unknown without tries.
func (a Attempts) Interval(level float64) Interval {
	if a.Of == 0 {
		return Interval{}
	}
	failed, good := float64(a.Failed), float64(a.Of-a.Failed)
	i := Interval{High: 1, Known: true}
	if failed > 0 {
		i.Low = distuv.Beta{Alpha: failed, Beta: good + 1}.Quantile(level / 2)
	}
	if good > 0 {
		i.High = distuv.Beta{Alpha: failed + 1, Beta: good}.Quantile(1 - level/2)
	}
	return i
}

// Stratum is the attempts of an arm and of its baseline that would fail equally often if the arm made no difference:
// those of one block, or all of two runs that share no blocks.
type Stratum struct{ Arm, Baseline Attempts }

// Failures are the failures of an arm and of its baseline.
type Failures struct {
	Strata []Stratum
	// Arm and Baseline are the attempts of each run, if the run is the unit. If Paired, they are those of each
	// deployment, which both have. Nil otherwise.
	Arm, Baseline []Attempts
	Paired        bool
}

// FailureComparison compares how often an arm and its baseline fail. Difference is the share of the arm's attempts that
// failed, minus the same of the baseline; it is unknown if a side has no attempts, and Verdict is then NotComparable.
// There are no relative values, Detectable and Reason.
type FailureComparison struct {
	Outcome
	Arm, Baseline Attempts
}

// CompareFailures compares every entry of a table, and corrects the p-values for its size (Holm).
//
// The test is the exact conditional one for several 2x2 tables: given how many attempts of a stratum failed, each
// choice of the failed ones is equally likely if the arm makes no difference. The sum of the arm's failures over the
// strata then has a known distribution. For one stratum this is Fisher's exact test; for blocks with one attempt a side
// it is the exact test of McNemar (Psychometrika 12, 1947), which uses only blocks in which one side failed; with
// several attempts a side it is the exact form of the test of Mantel and Haenszel (J. National Cancer Institute 22,
// 1959). The p-value is twice the smaller tail. It assumes nothing about when and why attempts fail, so it holds if all
// arms fail more often in bad blocks.
//
// Runs and deployments can fail as a whole. Where they are the unit, the p-value of Student's t test of their shares
// counts if it is larger.
//
// The interval combines the exact intervals of both shares (Newcombe, Statistics in Medicine 17, 1998: the hybrid score
// intervals for independent and for paired proportions, here with the limits of Clopper and Pearson). An end that
// contradicts the test is moved: to 0 if the test does not reject, and next to 0 if it does.
func CompareFailures(table []Failures) []FailureComparison {
	compared := make([]FailureComparison, len(table))
	for i, f := range table {
		compared[i] = f.compare(Alpha)
	}
	correct(compared, func(c *FailureComparison) *Outcome { return &c.Outcome })
	for i := range compared {
		if c := &compared[i]; c.PValue.Known {
			c.judge()
		} else {
			c.Verdict = NotComparable
		}
	}
	return compared
}

// EstimateFailures is the change of an arm's share of failed attempts against its baseline, absolute and relative, for
// one of several checks. The interval of the absolute change excludes 0 exactly if the test of CompareFailures rejects.
// The relative one combines an interval of each share, each at half of the level.
func EstimateFailures(f Failures, checks int) (change, relative Estimate) {
	level := Level(checks)
	c := f.compare(level)
	never := func(float64) int { return -1 }
	change = Estimate{Value: c.Difference, Interval: c.Interval, Trials: min(c.Arm.Of, c.Baseline.Of), needed: never}
	relative = Estimate{Trials: change.Trials, needed: never}
	if c.Baseline.Failed > 0 && c.Arm.Of > 0 {
		arm, baseline := c.Arm.Interval(level/2), c.Baseline.Interval(level/2)
		relative.Value = known(c.Arm.Share()/c.Baseline.Share() - 1)
		relative.Interval = knownInterval(arm.Low/baseline.High-1, arm.High/baseline.Low-1)
	}
	return change, relative
}

// EstimateShare is the share of failed attempts with its exact interval, for one of several checks. With several units,
// runs or deployments, the interval is not smaller than Student's of their shares.
func EstimateShare(units []Attempts, checks int) Estimate {
	var a Attempts
	for _, u := range units {
		a = a.plus(u)
	}
	if a.Of == 0 {
		return Estimate{}
	}
	e := Estimate{Value: known(a.Share()), Interval: a.Interval(Level(checks)), Trials: a.Of,
		needed: func(float64) int { return -1 }}
	if t := oneSideT(shares(units)); t.freedom > 0 {
		e.Interval = e.Interval.widenShare(t.interval(t.absolute, Level(checks)), 0)
	}
	if a.Failed > 0 {
		e.Interval.Low = math.Max(e.Interval.Low, next)
	}
	return e
}

// next is a share that no number of attempts tells from 0.
const next = 1e-9

// widenShare extends an interval of shares, or of their differences, to another one, but not below least and above 1.
func (i Interval) widenShare(by Interval, least float64) Interval {
	if !by.Known {
		return i
	}
	i.Low, i.High = math.Max(least, math.Min(i.Low, by.Low)), math.Min(1, math.Max(i.High, by.High))
	return i
}

// oneSideT is the t method for the mean of values.
func oneSideT(values []float64) runT {
	t := runT{ofOne: true, absolute: meanChange(values)}
	if len(values) > 1 && t.absolute.deviation > 0 {
		t.freedom = float64(len(values) - 1)
	}
	return t
}

// compare computes everything except the correction for the table, with an interval of the given level.
func (f Failures) compare(level float64) FailureComparison {
	var c FailureComparison
	for _, s := range f.Strata {
		c.Arm, c.Baseline = c.Arm.plus(s.Arm), c.Baseline.plus(s.Baseline)
	}
	if c.Arm.Of == 0 || c.Baseline.Of == 0 {
		return c
	}
	c.Difference = known(c.Arm.Share() - c.Baseline.Share())
	c.Interval = f.interval(c.Arm, c.Baseline, level)
	p := f.exact(c.Arm.Failed)
	if t := f.units(); t.freedom > 0 {
		p = math.Max(p, t.p().Value)
		c.Interval = c.Interval.widenShare(t.interval(t.absolute, level), -1)
	}
	c.RawPValue = known(p)
	switch {
	case p > level:
		reachZero(&c.Interval)
	case c.Difference.Value > 0:
		c.Interval.Low = math.Max(c.Interval.Low, next)
	default:
		c.Interval.High = math.Min(c.Interval.High, -next)
	}
	return c
}

// exact is the two-sided p-value of the exact conditional test.
func (f Failures) exact(failed int) float64 {
	total := []float64{1} // total[k] is the probability that k attempts of the arm failed, beyond the fewest possible
	fewest := 0
	for _, s := range f.Strata {
		from, chances := s.chances()
		fewest += from
		sum := make([]float64, len(total)+len(chances)-1)
		for i, a := range total {
			for k, b := range chances {
				sum[i+k] += a * b
			}
		}
		total = sum
	}
	below, above := 0.0, 0.0
	for k, p := range total {
		if fewest+k <= failed {
			below += p
		}
		if fewest+k >= failed {
			above += p
		}
	}
	return math.Min(1, 2*math.Min(below, above))
}

// chances gives the probabilities of how many of the stratum's failures are the arm's, from the fewest on
// (hypergeometric).
func (s Stratum) chances() (fewest int, chances []float64) {
	failed := s.Arm.Failed + s.Baseline.Failed
	fewest = max(0, failed-s.Baseline.Of)
	ways := func(n, k int) float64 { return combin.LogGeneralizedBinomial(float64(n), float64(k)) }
	all := ways(s.Arm.Of+s.Baseline.Of, failed)
	for k := fewest; k <= min(failed, s.Arm.Of); k++ {
		chances = append(chances, math.Exp(ways(s.Arm.Of, k)+ways(s.Baseline.Of, failed-k)-all))
	}
	return fewest, chances
}

// interval combines the exact intervals of both shares.
func (f Failures) interval(arm, baseline Attempts, level float64) Interval {
	a, b := arm.Interval(level), baseline.Interval(level)
	p, q := arm.Share(), baseline.Share()
	phi := f.correlation()
	end := func(x, y float64) float64 { return math.Sqrt(math.Max(0, x*x-2*phi*x*y+y*y)) }
	low, high := p-q-end(p-a.Low, b.High-q), p-q+end(a.High-p, q-b.Low)
	return Interval{Low: math.Max(-1, low), High: math.Min(1, high), Known: true}
}

// correlation is the correlation of the failures of both sides within blocks of one attempt each, corrected for
// continuity as Newcombe does; 0 for other strata.
func (f Failures) correlation() float64 {
	var both, arm, baseline, neither float64
	for _, s := range f.Strata {
		if s.Arm.Of != 1 || s.Baseline.Of != 1 {
			return 0
		}
		switch {
		case s.Arm.Failed == 1 && s.Baseline.Failed == 1:
			both++
		case s.Arm.Failed == 1:
			arm++
		case s.Baseline.Failed == 1:
			baseline++
		default:
			neither++
		}
	}
	product := (both + arm) * (baseline + neither) * (both + baseline) * (arm + neither)
	if product == 0 {
		return 0
	}
	cross, half := both*neither-arm*baseline, (both+arm+baseline+neither)/2
	switch {
	case cross > half:
		cross -= half
	case cross > 0:
		cross = 0
	}
	return cross / math.Sqrt(product)
}

// units compares the shares of runs, or of deployments.
func (f Failures) units() runT {
	if f.Arm == nil || f.Baseline == nil {
		return runT{}
	}
	arm, baseline := shares(f.Arm), shares(f.Baseline)
	if !f.Paired {
		t := newRunT(Samples{Arm: arm, Baseline: baseline}, Scatter{})
		t.logarithmic = changeOf{} // shares are compared by their differences alone
		return t
	}
	differences := make([]float64, len(arm))
	for i := range arm {
		differences[i] = arm[i] - baseline[i]
	}
	return oneSideT(differences)
}

func shares(all []Attempts) []float64 {
	var of []float64
	for _, a := range all {
		if a.Of > 0 {
			of = append(of, a.Share())
		}
	}
	return of
}
