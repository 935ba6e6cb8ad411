package contrast

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// otherWorkloads says whether two workloads of different names were requested, such as TCP against UDP.
func (c *Contrast) otherWorkloads() bool {
	return !c.alone && c.Base.Workload != "" && c.New.Workload != "" && c.Base.Workload != c.New.Workload
}

// shareWorkload makes a side that names no workload take the other side's. The error says which workloads exist.
func shareWorkload(base, other *Side) error {
	for _, s := range [][2]*Side{{base, other}, {other, base}} {
		if s[0].Workload == "" {
			s[0].Workload = s[1].Workload
			for _, part := range s[0].parts {
				part.Workload = s[1].Workload
			}
		}
	}
	for _, s := range []*Side{base, other} {
		if s.Workload == "" || s.Experiment == nil {
			continue
		}
		e := s.Experiment.Unwatched()
		if _, ok := e.Workload(s.Workload); !ok {
			var names []string
			for _, w := range e.Workloads {
				names = append(names, w.Name)
			}
			return fmt.Errorf("%s has no workload %q: %s", s.place(), s.Workload, experiment.Suggest(s.Workload, names))
		}
	}
	return nil
}

// otherDefinition says why the numbers of two workloads are not of the same kind; empty if they are. Workloads that
// were requested by name may differ in everything else.
func otherDefinition(base, other []result.Trial) string {
	if len(base) == 0 || len(other) == 0 {
		return "no good trials on one side"
	}
	b, n := figures.Distinct(base, figures.DefinitionOf), figures.Distinct(other, figures.DefinitionOf)
	if !slices.Equal(b, n) || len(b) > 1 {
		return fmt.Sprintf("definition: %s against %s", list(n), list(b))
	}
	return ""
}

// workloadWarnings lists the differences between two workloads that are compared: all of them influence the
// difference.
func (c *Contrast) workloadWarnings(p *Pair) []answer.Warning {
	reasons := differences(p.base.good, p.new.good, nil)
	if b, n := figures.Distinct(p.base.good, toolName), figures.Distinct(p.new.good, toolName); !slices.Equal(b, n) {
		reasons = append(reasons, fmt.Sprintf("tool: %s against %s", list(n), list(b)))
	}
	if b, ok := c.Base.declared(p.BaseArm, p.base.workload); ok {
		if n, ok := c.New.declared(p.NewArm, p.new.workload); ok {
			reasons = append(append(reasons, otherWorkload(b, n, nil)...), measuredOtherwise(b, n, nil)...)
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return []answer.Warning{{Code: "workloads-differ", Arm: p.NewArm, Workload: p.Workload, Message: fmt.Sprintf(
		"two workloads, %s against %s: all of their differences are part of the result (%s)", p.new.workload,
		p.base.workload, strings.Join(reasons, "; "))}}
}

// sides are the sides that warnings are about.
func (c *Contrast) sides() []*Side {
	if c.alone {
		return []*Side{c.New}
	}
	return []*Side{c.Base, c.New}
}

// history is the number of other runs from which the scatter between runs was estimated, for the first quantity of
// every pair; 0 if it is unknown for one of them.
func (c *Contrast) history() int {
	least := 0
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if p.Missing != "" || p.Refused != "" {
			continue
		}
		all := c.quantities(p)
		if len(all) == 0 {
			continue
		}
		if p.between == nil {
			return 0
		}
		runs := p.between(all[0]).Runs
		if runs == 0 {
			return 0
		}
		if least == 0 || runs < least {
			least = runs
		}
	}
	return least
}
