package figures

import (
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/result"
)

// Failures says how often the arms failed. An attempt is the first execution of a trial of the schedule. A trial that
// replaces a failed one is none: it only runs because that one failed, and would make an arm that fails look better.
type Failures struct {
	Arms        []FailureShare      `json:"arms"`
	Comparisons []FailureComparison `json:"comparisons"`
}

// FailureShare is how often an arm failed in a workload.
type FailureShare struct {
	Arm      string `json:"arm"`
	Workload string `json:"workload"`
	// Side is the source of the arm, if there are two: "A" or "B".
	Side string `json:"side,omitempty"`
	Quantity
	Failed   int `json:"failed"`
	Attempts int `json:"attempts"`
	// Share is Failed / Attempts. Interval is its exact interval of 95 % (Clopper and Pearson), if failures do not
	// depend on each other.
	Share    float64  `json:"share"`
	Interval Interval `json:"interval"`
	// Reason is why the first of them failed.
	Reason string `json:"reason,omitempty"`
}

// FailureComparison compares how often an arm and the baseline failed.
type FailureComparison struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
	Workload string `json:"workload"`
	Quantity
	// Failed and Attempts count for the arm and for the baseline.
	Failed   [2]int `json:"failed"`
	Attempts [2]int `json:"attempts"`
	// Difference is the share of the arm's attempts that failed, minus the share of the
	// baseline's attempts that failed. Interval is its interval.
	Difference *float64 `json:"difference"`
	Interval   Interval `json:"interval"`
	Confidence float64  `json:"confidence"`
	Widened    bool     `json:"widened"`
	// PValue is the p-value of an exact test, corrected for the number of comparisons in the family (Holm); see
	// stats.CompareFailures.
	PValue  *float64 `json:"p_value"`
	Family  int      `json:"family"`
	Verdict string   `json:"verdict"`
	// Better is "arm" or "baseline" if they differ.
	Better string `json:"better,omitempty"`
	// About is as in Comparison.
	About string `json:"about,omitempty"`
	// BaselineWorkload is the workload of the baseline if two workloads are compared.
	BaselineWorkload string `json:"baseline_workload,omitempty"`
}

// FailuresQuantity is the quantity of failures: a share of the attempts.
func FailuresQuantity() Quantity { return Quantity{Metric: result.Failures, Unit: result.One} }

// failuresOf counts the failures of all arms and compares them with the baseline's. All arms in one workload are a
// family, as in the comparisons.
func failuresOf(in Run) *Failures {
	e := in.Experiment
	all := &Failures{Arms: []FailureShare{}, Comparisons: []FailureComparison{}}
	for _, w := range e.Workloads {
		attempts := attemptsByArm(in.Trials, w.Name)
		var entries []FailureComparison
		var table []stats.Failures
		for _, arm := range e.Arms {
			tried := attempts[arm.Name]
			if len(tried) > 0 {
				all.Arms = append(all.Arms, ShareOf("", arm.Name, w.Name, tried))
			}
			base := attempts[e.Baseline]
			if arm.Name == e.Baseline || len(tried)+len(base) == 0 {
				continue
			}
			f := FailuresOf(tried, base, !e.Unpaired())
			c := FailureComparison{Arm: arm.Name, Baseline: e.Baseline, Workload: w.Name}
			switch {
			case e.Unpaired():
			case Deployed(e):
				f.ByDeployment(tried, base)
				c.About = AboutConfiguration
			default:
				c.About = AboutOnce(e, arm.Name, e.Baseline)
			}
			entries, table = append(entries, c), append(table, f.Failures)
		}
		FillFailures(entries, table)
		all.Comparisons = append(all.Comparisons, entries...)
	}
	if len(all.Arms) == 0 {
		return nil
	}
	return all
}

// FailureTable is the input of a comparison of failures.
type FailureTable struct{ stats.Failures }

// FailuresOf counts the first attempts of an arm and of its baseline: by block if they share blocks, otherwise
// together.
func FailuresOf(arm, baseline []result.Trial, paired bool) FailureTable {
	type block struct{ deployment, number int }
	at := map[block]int{}
	var f FailureTable
	stratum := func(t result.Trial) *stats.Stratum {
		var b block
		if paired {
			b = block{t.DeploymentNumber(), t.Block}
		}
		i, known := at[b]
		if !known {
			i = len(f.Strata)
			at[b] = i
			f.Strata = append(f.Strata, stats.Stratum{})
		}
		return &f.Strata[i]
	}
	for _, t := range arm {
		count(&stratum(t).Arm, t)
	}
	for _, t := range baseline {
		count(&stratum(t).Baseline, t)
	}
	return f
}

// ByDeployment makes the deployment the unit.
func (f *FailureTable) ByDeployment(arm, baseline []result.Trial) {
	f.Paired = true
	for _, n := range deploymentsOf(slices.Concat(arm, baseline)) {
		a, b := AttemptsOf(onDeployment(arm, n)), AttemptsOf(onDeployment(baseline, n))
		if a.Of > 0 && b.Of > 0 {
			f.Arm, f.Baseline = append(f.Arm, a), append(f.Baseline, b)
		}
	}
}

// AttemptsByDeployment counts the attempts of each deployment.
func AttemptsByDeployment(trials []result.Trial) (all []stats.Attempts) {
	for _, n := range deploymentsOf(trials) {
		all = append(all, AttemptsOf(onDeployment(trials, n)))
	}
	return all
}

// AttemptsOf counts attempts.
func AttemptsOf(trials []result.Trial) (a stats.Attempts) {
	for _, t := range trials {
		count(&a, t)
	}
	return a
}

func count(a *stats.Attempts, t result.Trial) {
	a.Of++
	if t.Error != "" {
		a.Failed++
	}
}

// ShareOf is the share of an arm's first attempts that failed.
func ShareOf(side, arm, workload string, attempts []result.Trial) FailureShare {
	a := AttemptsOf(attempts)
	s := FailureShare{Side: side, Arm: arm, Workload: workload, Quantity: FailuresQuantity(), Failed: a.Failed,
		Attempts: a.Of, Share: a.Share(), Interval: IntervalOf(a.Interval(stats.Alpha))}
	if i := slices.IndexFunc(attempts, func(t result.Trial) bool { return t.Error != "" }); i >= 0 {
		s.Reason = attempts[i].Error
	}
	return s
}

// FillFailures compares the entries of one family, in the order of the table.
func FillFailures(entries []FailureComparison, table []stats.Failures) {
	for i, s := range stats.CompareFailures(table) {
		c := &entries[i]
		c.Quantity, c.Confidence, c.Family = FailuresQuantity(), stats.Confidence, len(entries)
		c.Failed, c.Attempts = [2]int{s.Arm.Failed, s.Baseline.Failed}, [2]int{s.Arm.Of, s.Baseline.Of}
		c.Difference, c.Interval, c.Widened = PointerOf(s.Difference), IntervalOf(s.Interval), s.Widened
		c.PValue, c.Verdict = PointerOf(s.PValue), string(s.Verdict)
		c.Better = BetterSide(c.Quantity, c.Verdict)
	}
}
