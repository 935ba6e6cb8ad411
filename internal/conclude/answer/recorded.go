package answer

import (
	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
)

// recordedWarning says what is unknown about imported results, and what their unit is.
func recordedWarning(e *experiment.Experiment, comparisons []figures.Comparison) []Warning {
	switch {
	case !e.Imported:
		return nil
	case e.Paired:
		return []Warning{{Code: "imported", Message: "the results were recorded elsewhere and are paired by the order of " +
			"their files, as requested: other differences between the arms are unknown"}}
	}
	warnings := []Warning{{Code: "imported", Message: "the results were recorded elsewhere: the order of the trials, " +
		"and other differences between the arms, are unknown"}}
	for _, c := range comparisons {
		if c.Runs != nil && c.Interval != nil && min(c.Runs[0], c.Runs[1]) < stats.FewestRanked {
			return append(warnings, Warning{Code: "recorded-runs", Message: "each recorded output is one run of its program, " +
				"and the run is the unit: the intervals are Student's, of means over the runs, and hold if runs of one arm " +
				"scatter evenly"})
		}
	}
	return warnings
}
