package contrast

import (
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
)

// failures counts the first attempts of the pair, with the unit of its comparisons: blocks, deployments, runs, or all
// attempts of both sides.
func (p *Pair) failures() stats.Failures {
	f := figures.FailuresOf(p.new.attempts, p.base.attempts, p.Paired)
	switch {
	case p.deployed():
		f.ByDeployment(p.new.attempts, p.base.attempts)
	case p.new.tries != nil || p.base.tries != nil:
		f.Arm, f.Baseline = p.new.perRun(), p.base.perRun()
	}
	return f.Failures
}

// perRun counts the attempts of each run.
func (g *group) perRun() []stats.Attempts {
	if g.tries == nil {
		return []stats.Attempts{figures.AttemptsOf(g.attempts)}
	}
	var all []stats.Attempts
	for _, attempts := range g.tries {
		all = append(all, figures.AttemptsOf(attempts))
	}
	return all
}

// share is the share of a group's attempts that failed, for one of several checks.
func (g *group) share(checks int) (stats.Estimate, stats.Scope) {
	switch {
	case g.tries != nil:
		return stats.EstimateShare(g.perRun(), checks), stats.OfRuns
	case g.deployed():
		return stats.EstimateShare(figures.AttemptsByDeployment(g.attempts), checks), figures.AboutConfiguration
	}
	return stats.EstimateShare(g.perRun(), checks), ""
}

// failuresScope says what a comparison of the pair's failures applies to. How much runs differ in their failures is not
// taken from a history.
func (p *Pair) failuresScope() stats.Scope {
	switch {
	case p.deployed():
		return figures.AboutConfiguration
	case p.Paired:
		return stats.Scope(p.about)
	case p.oneRun:
		return ""
	case p.new.tries != nil || p.base.tries != nil:
		return stats.OfRuns
	}
	return stats.TheseRuns
}

// FailsComparably says whether the failures of both sides can be compared: both were tried, and what they measure is
// not known to differ.
func (p *Pair) FailsComparably() bool {
	if p.Missing != "" || len(p.new.attempts) == 0 || len(p.base.attempts) == 0 {
		return false
	}
	return p.Refused == "" || len(p.new.good) == 0 || len(p.base.good) == 0
}

// Attempts counts the first attempts of both sides.
func (p *Pair) Attempts() (base, other stats.Attempts) {
	return figures.AttemptsOf(p.base.attempts), figures.AttemptsOf(p.new.attempts)
}

// failuresOf counts the failures of both sides and compares them. All pairs are one family, as in the comparisons.
func (c *Contrast) failuresOf() *figures.Failures {
	all := &figures.Failures{Arms: []figures.FailureShare{}, Comparisons: []figures.FailureComparison{}}
	add := func(s *Side, arm string, g group) {
		known := slices.ContainsFunc(all.Arms, func(f figures.FailureShare) bool {
			return f.Side == s.Name && f.Arm == arm && f.Workload == g.workload
		})
		if len(g.attempts) > 0 && !known {
			all.Arms = append(all.Arms, figures.ShareOf(s.Name, arm, g.workload, g.attempts))
		}
	}
	var table []stats.Failures
	for i := range c.Pairs {
		p := &c.Pairs[i]
		add(c.Base, p.BaseArm, p.base)
		add(c.New, p.NewArm, p.new)
		if !p.FailsComparably() {
			continue
		}
		entry := figures.FailureComparison{Arm: p.NewArm, Baseline: p.BaseArm, Workload: p.Workload,
			About: string(p.failuresScope())}
		if c.otherWorkloads() {
			entry.BaselineWorkload = p.base.workload
		}
		all.Comparisons, table = append(all.Comparisons, entry), append(table, p.failures())
	}
	figures.FillFailures(all.Comparisons, table)
	if len(all.Arms) == 0 {
		return nil
	}
	return all
}
