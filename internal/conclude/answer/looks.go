package answer

import "fmt"

// complete is the state of a run that did what it planned.
const complete = "complete"

// anyTime says whether somebody may have looked at the trials before the run ended, and stopped it for what they saw:
// it goes on, it was stopped, or it ends by itself when it knows enough (--until). Its intervals then have to hold at
// any number of blocks.
func (in Input) anyTime() bool {
	stopped := in.State != "" && in.State != complete && !in.Experiment.Imported
	return stopped || in.Experiment.Schedule.Until != ""
}

// looksText says in a sentence, with a space before it, at which level an answer holds that was looked at; empty for a
// run that did what it planned.
func (in Input) looksText(a Answer) string {
	if !in.anyTime() || len(a.Comparisons) == 0 {
		return ""
	}
	const valid = "these intervals and differences hold with 95 % at any time of looking or stopping."
	until := in.Experiment.Schedule.Until
	switch {
	case in.State == "running":
		return " The run is not over: " + valid
	case in.State != complete && in.State != "":
		return " The run was stopped early: " + valid
	case a.Blocks < in.Experiment.Schedule.AllBlocks():
		return fmt.Sprintf(" The run ended after %d blocks because every difference was known within %s, or was found: %s",
			a.Blocks, until, valid)
	}
	return fmt.Sprintf(" The run ended after %d blocks, the most that it was given to know every difference within %s: %s",
		a.Blocks, until, valid)
}

// blocksRun is how many blocks an answer is about: those that are planned, or those that ran if the run ends by itself.
func (in Input) blocksRun() int {
	all := in.Experiment.Schedule.AllBlocks()
	if in.Experiment.Schedule.Until == "" || in.State != complete {
		return all
	}
	last := 0
	for _, t := range in.Trials {
		last = max(last, t.Block)
	}
	return min(all, last)
}
