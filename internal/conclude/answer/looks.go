package answer

import (
	"fmt"
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
)

// complete is the state of a run that did what it planned.
const complete = "complete"

// anyTime says whether somebody may have looked at the trials before the run ended, and stopped it for what they saw:
// it goes on, it was stopped, or it ends by itself when it knows enough (--until). Its intervals then have to hold at
// any number of blocks.
func (in Input) anyTime() bool {
	stopped := in.State != "" && in.State != complete && !in.Experiment.Imported
	return stopped || in.Experiment.Schedule.Until != ""
}

// compareBlocks compares the pairs of a table.
func (in Input) compareBlocks(pairs []stats.Pair) []stats.Comparison {
	if in.anyTime() {
		return stats.CompareAnyTime(pairs)
	}
	return stats.CompareAll(pairs)
}

// holdAtAnyTime makes the rest of the figures hold at any time, too: comparisons over deployments, costs of layers, and
// whether these add up. Their tests are for a fixed number of blocks. There is at most one look after each planned
// block, or each deployment, so p-values are multiplied by that number (Bonferroni). Intervals of the level are not
// known. It takes out of the warnings what does not hold.
func (f *Figures) holdAtAnyTime(in Input, warnings []Warning) []Warning {
	schedule := in.Experiment.Schedule
	raise := func(p float64, looks int) float64 { return min(1, p*float64(looks)) }
	for i := range f.Comparisons {
		c := &f.Comparisons[i]
		if c.Deployments == nil || c.PValue == nil {
			continue
		}
		p := raise(*c.PValue, schedule.DeploymentCount())
		c.PValue, c.Interval, c.RelativeInterval, c.Detectable = &p, nil, nil, nil
		if c.Verdict != FewDeployments && p > stats.Alpha {
			c.Verdict, c.Better, c.Widened = NoDifference, "", false
		}
	}
	if f.Failures != nil {
		for i := range f.Failures.Comparisons {
			c := &f.Failures.Comparisons[i]
			if c.PValue == nil {
				continue
			}
			p := raise(*c.PValue, schedule.AllBlocks())
			c.PValue, c.Interval = &p, nil
			if p > stats.Alpha && (c.Verdict == Higher || c.Verdict == Lower) {
				c.Verdict, c.Better, c.Widened = NoDifference, "", false
			}
		}
	}
	for i := range f.Additivity {
		test := &f.Additivity[i]
		test.PValue = raise(test.PValue, schedule.Blocks)
		if test.Additive || test.PValue <= stats.Alpha {
			continue
		}
		test.Additive, test.Text = true, ""
		for k := range f.Layers {
			if l := &f.Layers[k]; l.Workload == test.Workload && l.Additive != nil {
				l.Additive = &test.Additive
			}
		}
		for k := range f.Residual {
			if r := &f.Residual[k]; r.Workload == test.Workload && r.Additive != nil {
				r.Additive = &test.Additive
			}
		}
		warnings = slices.DeleteFunc(warnings, func(w Warning) bool {
			return w.Code == "layers-do-not-add-up" && w.Workload == test.Workload
		})
	}
	for i := range f.Residual {
		f.Residual[i].Interval = nil
	}
	for i := range f.Layers {
		l := &f.Layers[i]
		if l.Arm != "" || l.PValue == nil {
			continue // it quotes a comparison, or was not tested
		}
		p := raise(*l.PValue, schedule.Blocks)
		l.PValue, l.Interval, l.Detectable, l.Widened = &p, nil, nil, false
		if p > stats.Alpha && (l.Verdict == Higher || l.Verdict == Lower) {
			l.Verdict = NoDifference
		}
	}
	return warnings
}

// looksText says in a sentence, with a space before it, at which level an answer holds that was looked at; empty for a
// run that did what it planned.
func (in Input) looksText(a Answer) string {
	if !in.anyTime() || len(a.Comparisons) == 0 {
		return ""
	}
	const valid = "these intervals and differences hold with 95 % at any time of looking or stopping."
	until := in.Experiment.Schedule.Until
	switch {
	case in.State == "running":
		return " The run is not over: " + valid
	case in.State != complete && in.State != "":
		return " The run was stopped early: " + valid
	case a.Blocks < in.Experiment.Schedule.AllBlocks():
		return fmt.Sprintf(" The run ended after %d blocks because every difference was known within %s, or was found: %s",
			a.Blocks, until, valid)
	}
	return fmt.Sprintf(" The run ended after %d blocks, the most that it was given to know every difference within %s: %s",
		a.Blocks, until, valid)
}

// blocksRun is how many blocks an answer is about: those that are planned, or those that ran if the run ends by itself.
func (in Input) blocksRun() int {
	all := in.Experiment.Schedule.AllBlocks()
	if in.Experiment.Schedule.Until == "" || in.State != complete {
		return all
	}
	last := 0
	for _, t := range in.Trials {
		last = max(last, t.Block)
	}
	return min(all, last)
}

// Settled says whether a run may end (--until): every difference of a workload's first quantity from the baseline was
// found, or is known so well that the interval at any time ends within the aim on both sides of it. Differences whose
// unit is not that of the aim do not count, but one has to.
func Settled(in Input, aim *Aim) bool {
	settled := false
	for _, c := range tablesOf(in) {
		if !c.primary || c.reportOnly {
			continue
		}
		baseline := level(c.ranked(in.Experiment.Baseline))
		for _, f := range family(in, c, nil) {
			within, ok := aim.difference(f.Quantity, baseline)
			if !ok || f.Verdict == NotComparable && !c.mayCompare(in.Experiment, f) {
				continue
			}
			if f.Verdict != Higher && f.Verdict != Lower && !f.knownWithin(within) {
				return false
			}
			settled = true
		}
	}
	return settled
}

// mayCompare says whether more blocks could make a refused comparison possible: some trials of an arm are missing.
func (c cells) mayCompare(e *experiment.Experiment, f Comparison) bool {
	return c.incomparable(f.Arm, e.Baseline, e.SetOtherwise(f.Arm, e.Baseline, c.workload)) == ""
}

// knownWithin says whether the interval ends at most so far from the difference, on both sides.
func (c Comparison) knownWithin(most float64) bool {
	return c.Difference != nil && c.Interval != nil && c.Interval[1]-*c.Difference <= most &&
		*c.Difference-c.Interval[0] <= most
}
