package figures

import (
	"slices"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// unwatched is the run without watched twins: no figure and no verdict comes from them.
func (r Run) unwatched() Run {
	r.Trials, r.Experiment = UnwatchedTrials(r.Experiment, r.Trials), r.Experiment.Unwatched()
	return r
}

// UnwatchedTrials are the trials that are not of watched twins.
func UnwatchedTrials(e *experiment.Experiment, trials []result.Trial) []result.Trial {
	if e.Unwatched() == e {
		return trials
	}
	return slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return e.IsTwin(t.Workload) })
}
