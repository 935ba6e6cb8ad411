package answer

import "nearfar/internal/conclude/answer/figures"

// unwatched is the input without watched twins: no figure and no verdict comes from them.
func (in Input) unwatched() Input {
	plain := in.Experiment.Unwatched()
	if plain == in.Experiment {
		return in
	}
	in.Trials = figures.UnwatchedTrials(in.Experiment, in.Trials)
	in.Experiment, in.groups = plain, nil
	return in
}
