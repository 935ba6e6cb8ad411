package contrast

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/result"
)

// Merge makes one side of several runs of the same thing: the run is then the unit. The error says which runs do not
// fit together.
func Merge(name string, sides []*Side) (*Side, error) {
	if len(sides) == 0 {
		return nil, fmt.Errorf("%s names no run", name)
	}
	if len(sides) == 1 {
		return sides[0], nil
	}
	first := sides[0]
	merged := *first
	merged.Name, merged.ID, merged.Open, merged.Hosts, merged.Trials, merged.Warnings = name, "", nil, nil, nil, nil
	merged.parts = sides
	var sources, machines []string
	for _, s := range sides {
		switch {
		case s.Kind != first.Kind:
			return nil, fmt.Errorf("%s is a %s and %s a %s: a side is of one kind", first.Source,
				first.Kind, s.Source, s.Kind)
		case s.Kind == Run && (s.Arm != first.Arm || s.Workload != first.Workload):
			return nil, fmt.Errorf("%s and %s name different arms: write the same :ARM behind each run of a side",
				first.Source, s.Source)
		case s.measuredHere() != first.measuredHere():
			return nil, fmt.Errorf("%s was imported and %s was not: measure and import apart", first.Source, s.Source)
		}
		sources = append(sources, s.Source)
		if s.Machine != "" && !slices.Contains(machines, s.Machine) {
			machines = append(machines, s.Machine)
		}
		merged.Trials = append(merged.Trials, s.Trials...)
		if s.State != "complete" {
			merged.State = s.State
		}
		for _, w := range s.Warnings {
			if !slices.Contains(merged.Warnings, w) {
				merged.Warnings = append(merged.Warnings, w)
			}
		}
	}
	merged.Source, merged.Machine = strings.Join(sources, ", "), strings.Join(machines, ", ")
	return &merged, nil
}

// distinctRuns fails if a run is named twice: one run cannot count as two independent runs.
func distinctRuns(base, other *Side) error {
	var seen []string
	for _, s := range append(base.each(), other.each()...) {
		if s.ID == "" {
			continue
		}
		if slices.Contains(seen, s.ID) {
			return fmt.Errorf("%s is named twice: several runs a side are runs of their own", s.Source)
		}
		seen = append(seen, s.ID)
	}
	return nil
}

// each returns the runs of a side.
func (s *Side) each() []*Side {
	if len(s.parts) > 0 {
		return s.parts
	}
	return []*Side{s}
}

// several says whether a side has more than one run, so that the run is the unit.
func (c *Contrast) several() bool { return len(c.Base.parts)+len(c.New.parts) > 0 }

// apartInTime says whether the sides are from different runs.
func (c *Contrast) apartInTime() bool { return c.Base.ID == "" || c.Base.ID != c.New.ID }

// mergedGroups merges the groups of one workload over all runs of a side.
func (s *Side) mergedGroups(arm string) []group {
	var all []group
	for i, part := range s.parts {
		own := arm
		if part.Kind == File {
			own = part.Arm
		}
		for _, g := range part.groups(own) {
			at := slices.IndexFunc(all, func(known group) bool { return known.workload == g.workload })
			if at < 0 {
				at = len(all)
				all = append(all, group{workload: g.workload, runs: make([][]result.Trial, len(s.parts)),
					tries: make([][]result.Trial, len(s.parts))})
			}
			known := &all[at]
			known.runs[i], known.tries[i] = g.good, g.attempts
			known.good, known.attempts = append(known.good, g.good...), append(known.attempts, g.attempts...)
			known.dropped += g.dropped
			known.unproved = proof.Joined(known.unproved, g.unproved)
			if known.failed += g.failed; known.reason == "" {
				known.reason = g.reason
			}
		}
	}
	return all
}

// perRun gives the values of a quantity, run by run.
func perRun(g group, r figures.Ranking) [][]float64 {
	if g.runs == nil {
		return [][]float64{r.Numbers(g.attempts)}
	}
	all := make([][]float64, len(g.tries))
	for i, attempts := range g.tries {
		all[i] = r.Numbers(attempts)
	}
	return all
}

// units gives the values of a quantity that are compared: the values of the trials, or with several runs the medians of
// the runs.
func units(g group, r figures.Ranking) []float64 {
	all := perRun(g, r)
	if g.runs == nil {
		return all[0]
	}
	return stats.RunMedians(all)
}

// ofRuns gives the values of both sides, run by run.
func (p *Pair) ofRuns(q figures.Quantity) stats.Runs {
	r := stats.Runs{Arm: perRun(p.new, p.ranking(q)), Baseline: perRun(p.base, p.ranking(q))}
	if p.new.runs == nil && p.base.runs == nil {
		apart := p.apart(q)
		if p.recorded {
			return figures.RecordedRuns(apart)
		}
		r.Arm, r.Baseline = [][]float64{apart.Arm}, [][]float64{apart.Baseline}
	}
	if p.between != nil {
		r.Between = p.between(q)
	}
	return r
}

// ScatterOf estimates the scatter between runs of an arm and workload in a quantity, from other runs.
type ScatterOf func(s *Side, arm, workload string, q figures.Quantity) stats.Scatter

// UseScatter makes comparisons of one run a side include the scatter between runs.
func (c *Contrast) UseScatter(of ScatterOf) {
	if c.several() || !c.apartInTime() || c.recorded() {
		return
	}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if p.Missing != "" || p.Refused != "" {
			continue
		}
		known := map[figures.Quantity]stats.Scatter{}
		p.between = func(q figures.Quantity) stats.Scatter {
			s, ok := known[q]
			if !ok {
				s = of(c.New, p.NewArm, p.new.workload, q).Add(of(c.Base, p.BaseArm, p.base.workload, q))
				known[q] = s
			}
			return s
		}
	}
}

// Change is the change of New against Base, absolute and relative, for one of several checks. For arms of one run, the
// scope is that of figures.Comparison.About.
func (p *Pair) Change(q figures.Quantity, checks int) (change, relative stats.Estimate, scope stats.Scope) {
	switch {
	case q == figures.FailuresQuantity():
		change, relative = stats.EstimateFailures(p.failures(), checks)
		return change, relative, p.failuresScope()
	case p.deployed():
		d, _ := p.byDeployment(q)
		change, relative = stats.EstimateDeployments(d, checks)
		return change, relative, figures.AboutConfiguration
	case p.Paired:
		change, relative = stats.EstimatePaired(p.inBlocks(q), checks)
		return change, relative, stats.Scope(p.about)
	}
	change, relative, scope = stats.EstimateRuns(p.ofRuns(q), checks)
	if p.recorded && scope != stats.OfRuns {
		scope = ""
	}
	return change, relative, scope
}

// Level is the figure of New's trials, or with several runs or deployments of these, for one of several checks.
func (p *Pair) Level(q figures.Quantity, checks int) (stats.Estimate, stats.Scope) {
	if q == figures.FailuresQuantity() {
		return p.new.share(checks)
	}
	if p.new.runs == nil && p.new.deployed() {
		// A deployment is to its blocks what a run is to its trials.
		e, _ := stats.EstimateRunLevel(figures.PerDeployment(p.ranking(q), p.new.attempts), checks)
		return e, figures.AboutConfiguration
	}
	runs := perRun(p.new, p.ranking(q))
	if p.recorded && p.new.runs == nil {
		runs = figures.RecordedRuns(stats.Samples{Arm: runs[0]}).Arm
	}
	return stats.EstimateRunLevel(runs, checks)
}

// Runs is how many runs of New and of Base have good trials. Of recorded runs each good trial is one.
func (p *Pair) Runs() (other, base int) {
	count := func(g group) int {
		switch {
		case g.runs == nil && p.recorded:
			return len(g.good)
		case g.runs == nil:
			return 1
		}
		n := 0
		for _, trials := range g.runs {
			if len(trials) > 0 {
				n++
			}
		}
		return n
	}
	return count(p.new), count(p.base)
}

// otherwiseDeclared says how runs of one side declare an arm's workload differently, so that they are not runs of the
// same thing.
func (s *Side) otherwiseDeclared(arm, workload string) []string {
	first, ok := s.each()[0].declared(arm, workload)
	if !ok {
		return nil
	}
	for _, part := range s.parts {
		if w, ok := part.declared(arm, workload); ok {
			if reasons := otherWorkload(first, w, nil); len(reasons) > 0 {
				return []string{fmt.Sprintf("the runs of %s are not of the same workload: %s", s.Name,
					strings.Join(reasons, "; "))}
			}
		}
	}
	return nil
}

// Alone compares the arms of one run with its baseline. The baseline itself has no counterpart.
func Alone(s *Side) *Contrast {
	base := *s
	base.Name, s.Name = "the baseline", "the run"
	c := &Contrast{Base: &base, New: s, alone: true}
	if s.Experiment == nil {
		for _, g := range s.groups(s.Arm) {
			c.Pairs = append(c.Pairs, Pair{NewArm: s.Arm, Workload: g.workload, Missing: base.Name, new: g})
		}
		return c
	}
	base.Arm = s.Experiment.Baseline
	baseline := base.groups(base.Arm)
	for _, arm := range s.arms() {
		for _, g := range s.groups(arm) {
			p := Pair{NewArm: arm, Workload: g.workload, Missing: base.Name, new: g}
			at := slices.IndexFunc(baseline, func(b group) bool { return b.workload == g.workload })
			if arm != base.Arm && at >= 0 {
				p.Missing, p.BaseArm, p.base = "", base.Arm, baseline[at]
				p.Paired, p.oneRun = !s.Experiment.Unpaired(), true
				p.about = about(s, true, armPair{base: base.Arm, new: arm})
			}
			c.Pairs = append(c.Pairs, p)
		}
	}
	c.refuse()
	c.sort()
	return c
}

// Alone says whether the arms of one run are compared with its own baseline.
func (c *Contrast) Alone() bool { return c.alone }
