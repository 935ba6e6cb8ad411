package gate

import (
	"slices"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/contrast"
)

// failures says whether the rule is about failed attempts.
func (r Rule) failures() bool { return r.Quantity == figures.FailuresQuantity() }

// defaultRule is the text of the rule that always holds for two sides.
const defaultRule = "* failures > +0"

// defaults checks for each arm and workload on both sides whether the new side surely fails more often than the base.
// Pairs with a rule about failures have no default, and neither have pairs without a failure. Their tests have a level
// of their own, 5 % / checks, and do not make the intervals of the rules wider. A check fails if the test rejects, and
// passes otherwise: nobody asked for it, and a single failure decides no gate.
func defaults(c *contrast.Contrast, rules []application) []Check {
	if c.Alone() {
		return nil
	}
	var todo []application
	tests := 0
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if !p.FailsComparably() {
			continue
		}
		tests++
		base, other := p.Attempts()
		ruled := slices.ContainsFunc(rules, func(a application) bool { return a.pair == p && a.rule.failures() })
		if base.Failed+other.Failed > 0 && !ruled {
			todo = append(todo, application{pair: p, rule: Rule{Text: defaultRule, Arm: p.NewArm, Workload: p.Workload,
				Quantity: figures.FailuresQuantity(), Above: true, Kind: Change}})
		}
	}
	var all []Check
	for _, a := range todo {
		one := a.check(tests)
		one.Default = true
		if one.Verdict == Inconclusive {
			one.Verdict, one.Reason, one.BlocksNeeded = Pass, "", nil
			if *one.Estimate > 0 {
				one.Reason = "it failed more often, which may be chance"
			}
		}
		all = append(all, one)
	}
	return all
}

// noFailure says that a rule allows no failure at all, and there is none. An interval could never show that.
func (c *Check) noFailure() bool {
	return c.Failed != nil && c.Kind == Value && c.Above && c.Bound == 0 && c.Failed[1] == 0
}
