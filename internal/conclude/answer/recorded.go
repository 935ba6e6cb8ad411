package answer

import (
	"fmt"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// quantities lists the numbers of a workload's trials that are reported and compared. For imported results the mean
// comes first: their authors quote it, and some tools print nothing else.
func quantities(e *experiment.Experiment, trials []result.Trial) []Quantity {
	all := Quantities(trials)
	if !e.Imported || len(all) == 0 || all[0].Metric != result.RTT || all[0].Stat == result.Mean {
		return all
	}
	return append(Present(trials, []Quantity{{Metric: result.RTT, Stat: result.Mean, Unit: result.Seconds}}), all...)
}

// fillUnpaired copies the result of an unpaired comparison. Pairing such trials by the order in which they were read
// would give an interval without meaning.
func fillUnpaired(c *Comparison, s stats.SampleComparison) {
	c.fill(s.Outcome)
	c.Trials = &[2]int{s.ArmTrials, s.BaselineTrials}
	c.BlocksNeeded = within(s.TrialsNeeded, min(s.ArmTrials, s.BaselineTrials))
	switch {
	case s.Reason == stats.ReasonTooFewTrials && s.ArmTrials == 1 && s.BaselineTrials == 1:
		c.Reason = "one trial a side: no interval can be given"
	case s.Reason == stats.ReasonTooFewTrials:
		c.Reason = fmt.Sprintf("too few trials (%d against %d): it takes %d more on each side", s.ArmTrials,
			s.BaselineTrials, s.TrialsNeeded)
	case s.Reason == stats.ReasonNoTrials:
		c.Reason = noGoodTrials
	}
}

// recordedWarning says what is unknown about imported results.
func recordedWarning(e *experiment.Experiment) []Warning {
	if !e.Imported {
		return nil
	}
	if e.Paired {
		return []Warning{{Code: "imported", Message: "the results were recorded elsewhere and are paired by the " +
			"order of their files, as " +
			"requested: other differences between the arms are unknown"}}
	}
	return []Warning{{Code: "imported", Message: "the results were recorded elsewhere: the order of the trials, and " +
		"other differences " +
		"between the arms, are unknown"}}
}
