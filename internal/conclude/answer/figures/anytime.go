package figures

import (
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/result"
)

// compareBlocks compares the pairs of a table.
func (in Run) compareBlocks(pairs []stats.Pair) []stats.Comparison {
	if in.AnyTime {
		return stats.CompareAnyTime(pairs)
	}
	return stats.CompareAll(pairs)
}

// holdAtAnyTime makes the rest of the figures hold at any time, too: comparisons over deployments, costs of layers, and
// whether these add up. Their tests are for a fixed number of blocks. There is at most one look after each planned
// block, or each deployment, so p-values are multiplied by that number (Bonferroni). Intervals of the level are not
// known. It takes out of the warnings what does not hold.
func (f *Figures) holdAtAnyTime(in Run, warnings []result.Warning) []result.Warning {
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
		warnings = slices.DeleteFunc(warnings, func(w result.Warning) bool {
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
