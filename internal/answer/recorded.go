package answer

import (
	"fmt"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
	"nearfar/internal/stats"
)

// quantities says which numbers of a workload's trials are reported and compared. Of results that were recorded elsewhere
// the mean comes first: it is what their authors quote, and all that some tools print.
func quantities(e *experiment.Experiment, trials []result.Trial) []Quantity {
	all := Quantities(trials)
	if !e.Imported || len(all) == 0 || all[0].Metric != result.RTT || all[0].Stat == result.Mean {
		return all
	}
	return append(present(trials, []Quantity{{Metric: result.RTT, Stat: result.Mean, Unit: result.Seconds}}), all...)
}

// fillUnpaired takes over what the statistics say of trials that belong to no block. Pairing them by the order in which they
// were read would make an interval out of nothing.
func fillUnpaired(c *Comparison, s stats.SampleComparison) {
	c.Difference, c.Interval = pointer(s.Difference), interval(s.Interval)
	c.Relative, c.RelativeInterval = pointer(s.Relative), interval(s.RelativeInterval)
	c.Unbounded, c.Widened = c.Interval.Unbounded(), s.Widened
	c.PValue, c.Detectable = pointer(s.PValue), pointer(s.Detectable)
	c.Trials = &[2]int{s.ArmTrials, s.BaselineTrials}
	if s.TrialsNeeded >= 0 {
		needed := s.TrialsNeeded
		c.BlocksNeeded = &needed
	}
	c.Verdict = string(s.Verdict)
	switch {
	case s.Reason == stats.ReasonTooFewTrials && s.ArmTrials == 1 && s.BaselineTrials == 1:
		c.Reason = "one trial a side: no interval can be given"
	case s.Reason == stats.ReasonTooFewTrials:
		c.Reason = fmt.Sprintf("too few trials (%d against %d): it takes %d more on each side", s.ArmTrials, s.BaselineTrials, s.TrialsNeeded)
	case s.Reason == stats.ReasonNoTrials:
		c.Reason = "no good trials on one side"
	default:
		c.Reason = s.Reason
	}
	c.judge()
}

// recordedWarning says what nobody can know of results that were recorded elsewhere.
func recordedWarning(e *experiment.Experiment) []Warning {
	if !e.Imported {
		return nil
	}
	if e.Paired {
		return []Warning{{Code: "imported", Message: "the results were recorded elsewhere and are paired by the order of their files, as " +
			"was asked: what else differed between the arms is not in them"}}
	}
	return []Warning{{Code: "imported", Message: "the results were recorded elsewhere: in which order the trials ran, and what else " +
		"differed between the arms, is not in them"}}
}
