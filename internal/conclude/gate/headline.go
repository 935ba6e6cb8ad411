package gate

import (
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/contrast"
)

// headline is the first line of the verdict: the first check that decides it.
func (r *Result) headline(c *contrast.Contrast) string {
	if len(r.Checks) == 0 {
		return ""
	}
	decides := r.Checks[0]
	for _, check := range r.Checks {
		if check.Verdict == r.Verdict {
			decides = check
			break
		}
	}
	opening := map[Verdict]string{Pass: "Passed", Fail: "Failed", Inconclusive: "Undecided", Error: "Not checked"}
	workloads := c.Workloads()
	j := answer.Bounded{
		Opening: opening[decides.Verdict], Arm: decides.Arm, Baseline: decides.Baseline,
		Workload: answer.Measured{Workload: decides.Workload}, Several: len(workloads) > 1, Quantity: decides.Quantity,
		Relative: decides.Kind == Relative, Value: decides.Kind == Value, Figure: decides.Estimate,
		Interval: decides.Interval, Bound: decides.Bound, Reason: decides.Reason,
	}
	for _, m := range workloads {
		if m.Workload == decides.Workload {
			j.Workload = m
		}
	}
	if decides.Estimate != nil && decides.Interval != nil {
		j.Reason = ""
	}
	sides := c.Named(answer.Finding{Name: decides.Arm, Baseline: decides.Baseline})
	if c.Alone() {
		sides.With, sides.Than = "With "+decides.Arm, "with "+decides.Baseline
	}
	return j.Headline(sides)
}
