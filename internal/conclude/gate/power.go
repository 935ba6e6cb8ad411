package gate

import (
	"fmt"
	"math"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
)

// needsMargin says that the rule must not fail for these two runs: each side is one run, the scatter between runs is
// unknown, and the rule allows no difference. Two runs of the same thing always differ by something, and with enough
// trials that becomes significant.
func (c *Check) needsMargin() bool {
	return c.Kind != Value && c.Bound == 0 && c.About == string(stats.TheseRuns) && c.Failed == nil
}

// wouldFail computes approximately from which estimate on the check would have failed: the new side is shifted or
// scaled as a whole until its interval is entirely beyond the bound.
func (c *Check) wouldFail(e stats.Estimate) {
	if !e.Interval.Known || !e.Value.Known || c.needsMargin() || c.Failed != nil {
		return
	}
	near, value := e.Interval.Low, e.Value.Value // the end of the interval that must be beyond the bound
	if !c.Above {
		near = e.Interval.High
	}
	from := c.Bound + value - near
	switch {
	case c.Kind == Relative && near > -1:
		from = (1+c.Bound)*(1+value)/(1+near) - 1
	case c.Kind == Value && near > 0:
		from = c.Bound * value / near
	}
	if math.IsNaN(from) || math.IsInf(from, 0) {
		return
	}
	c.WouldFailFrom = &from
}

// coarseFactor: a check gives a warning if it only fails beyond this many times its bound.
const coarseFactor = 3

// coarse warns of checks that cannot realistically fail.
func coarse(checks []Check) []answer.Warning {
	var all []answer.Warning
	for i := range checks {
		c := &checks[i]
		if c.Verdict == Fail || c.Verdict == Error || c.needsMargin() || c.Failed != nil {
			continue
		}
		message := ""
		switch {
		case c.WouldFailFrom == nil && c.Estimate != nil:
			message = "it cannot fail with these figures"
		case c.WouldFailFrom != nil && c.isCoarse():
			message = fmt.Sprintf("it would only have failed from %s, more than %d times its bound", c.from(),
				coarseFactor)
		default:
			continue
		}
		all = append(all, answer.Warning{Code: "coarse-check", Arm: c.Arm, Workload: c.Workload,
			Message: fmt.Sprintf("%s %s: %s. More trials, or more runs a side, make it finer",
				c.Name(), c.limit(), message)})
	}
	return all
}

// isCoarse says whether the check fails only far beyond its bound. A bound of 0 has no multiples.
func (c *Check) isCoarse() bool {
	from, bound := math.Abs(*c.WouldFailFrom), math.Abs(c.Bound)
	if c.Kind == Value && !c.Above {
		return from < bound/coarseFactor
	}
	return bound > 0 && from > coarseFactor*bound
}

// from writes WouldFailFrom: "+19.2 %".
func (c *Check) from() string {
	s := c.scale()
	if c.Kind == Value {
		return s.With(s.Number(*c.WouldFailFrom))
	}
	return s.With(s.Signed(*c.WouldFailFrom))
}

// sees is a line of the report: from which value on the check would have failed.
func (c *Check) sees() string {
	switch {
	case c.Verdict == Error || c.Estimate == nil || c.Failed != nil:
		return ""
	case c.WouldFailFrom == nil:
		return "cannot fail with these figures"
	}
	return "would have failed from " + c.from()
}
