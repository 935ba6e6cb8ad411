package contrast

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// verdict is the answer in words, or why nothing could be compared.
func (c *Contrast) verdict(a answer.Answer) answer.Statement {
	failing := slices.ContainsFunc(a.Findings, func(f answer.Finding) bool {
		return f.Kind == answer.OfFailures && f.Claimable()
	})
	if !failing && !slices.ContainsFunc(a.Comparisons, compared) {
		var reasons []string
		for _, c := range a.Comparisons {
			if !slices.Contains(reasons, c.Reason) {
				reasons = append(reasons, c.Reason)
			}
		}
		return answer.Statement{Headline: fmt.Sprintf("%s and %s cannot be compared: %s.", c.New.Name, c.Base.Name,
			strings.Join(reasons, "; "))}
	}
	return answer.Tell(a, c.Named)
}

// compared says whether a comparison has a difference, or at least a sure sign.
func compared(c figures.Comparison) bool {
	return c.Difference != nil || c.Verdict == figures.Higher || c.Verdict == figures.Lower
}

// Named names the two sides of a finding: by the arms if these have other names, and else by the sides.
func (c *Contrast) Named(f answer.Finding) answer.Sides {
	base, other := c.Base.Name, c.New.Name
	switch {
	case f.Name != f.Baseline && f.Name != "" && f.Baseline != "":
		return answer.Sides{With: "With " + f.Name, Than: "with " + f.Baseline, Against: "against " + f.Baseline}
	case f.Name == "":
		return answer.Sides{With: "In " + other, Than: "in " + base, Against: "against " + base}
	}
	return answer.Sides{With: "With " + f.Name + " in " + other, Than: "in " + base, Against: "against " + base}
}

// Workloads describes the workloads of the pairs.
func (c *Contrast) Workloads() []answer.Measured {
	var all []answer.Measured
	for _, p := range c.Pairs {
		if p.Missing != "" || slices.ContainsFunc(all, func(m answer.Measured) bool { return m.Workload == p.Workload }) {
			continue
		}
		m := answer.Measured{Workload: p.Workload, Mode: answer.ModeOf(append(slices.Clone(p.new.good), p.base.good...))}
		if c.New.Experiment != nil {
			if w, ok := c.New.Experiment.Workload(p.Workload); ok {
				m.Question = w.Question
			}
		}
		all = append(all, m)
	}
	return all
}

// protocol is the protocol of an arm of a side in a workload.
func (c *Contrast) protocol(side, arm, workload string) string {
	var trials []result.Trial
	for _, p := range c.Pairs {
		if side == c.Base.Name && p.BaseArm == arm && (p.Workload == workload || p.base.workload == workload) {
			trials = append(trials, p.base.good...)
		}
		if side == c.New.Name && p.NewArm == arm && p.Workload == workload {
			trials = append(trials, p.new.good...)
		}
	}
	return answer.ProtocolOf(trials)
}
