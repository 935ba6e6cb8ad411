package answer

import "nearfar/internal/declare/experiment"

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
