package gate

import (
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/contrast"
)

// Judge evaluates a run's objectives. It returns none if the experiment has none.
func Judge(run *contrast.Side) ([]answer.Objective, error) {
	rules, err := Objectives(run.Experiment)
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	var all []answer.Objective
	for _, c := range Evaluate(contrast.Alone(run), rules, false).Checks {
		all = append(all, c.objective())
	}
	return all, nil
}

// objective converts a check for an answer.
func (c *Check) objective() answer.Objective {
	o := answer.Objective{
		Rule: c.Rule, Arm: c.Arm, Baseline: c.Baseline, Workload: c.Workload, Quantity: c.Quantity,
		Kind: string(c.Kind), FailsAbove: c.Above,
		Bound: c.Bound, Estimate: c.Estimate, Interval: c.Interval, Confidence: c.Confidence, Reason: c.Reason,
		WouldFailFrom: c.WouldFailFrom, Unproved: c.Unproved,
	}
	if c.Kind == Value {
		o.Baseline = ""
	}
	o.Verdict = map[Verdict]string{Pass: answer.Met, Fail: answer.Missed, Inconclusive: answer.Undecided,
		Error: answer.ObjectiveError}[c.Verdict]
	o.Said = c.subject() + " " + c.limit()
	if c.Verdict != Error {
		o.Said += ": " + c.found()
	}
	if c.Reason != "" {
		o.Said += ": " + c.Reason
	}
	if c.Unproved != "" {
		o.Said += "; " + c.Unproved
	}
	return o
}
