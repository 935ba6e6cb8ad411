// Package simulate draws runs from worlds whose truth is known, answers them as nearfar answers real runs, and counts
// how often an answer says something: how often it claims a difference that does not exist, misses one that does, or
// prints an interval that does not hold the truth. Only tests import it; `make simulate` prints the table of
// docs/statistics.md.
package simulate

import (
	"math/rand/v2"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// A World is a model of an experiment.
type World struct {
	// Name describes the world in a table: "2 arms, one fails when slow, 12 blocks".
	Name       string
	Experiment *experiment.Experiment
	// Begin draws what holds for one run, and returns the function that runs its trials. That function is called once
	// for each trial, in the order of execution.
	Begin func(r *rand.Rand) Trials
}

// Trials runs one trial. It fills the trial's metrics, or its error if the trial fails.
type Trials func(slot experiment.Slot, t *result.Trial)

// Run draws the trials of one run. As in a real run, failed trials are run again at the end of their block: up to
// Schedule.Retries times each.
func (w World) Run(r *rand.Rand) []result.Trial {
	run := w.Begin(r)
	slots := w.Experiment.Slots()
	number := len(slots)
	var trials []result.Trial
	perform := func(slot experiment.Slot) bool {
		t := result.Trial{
			Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload, Repeat: slot.Repeat,
			Replaces: slot.Replaces, Tool: result.ToolVersion{Name: "native"}, Mode: "rr", Protocol: "tcp",
			Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
		}
		if w.Experiment.Schedule.Deployments > 0 {
			t.Deployment = slot.Deployment
		}
		run(slot, &t)
		trials = append(trials, t)
		return t.Error == ""
	}
	for start := 0; start < len(slots); {
		end := start
		var failed []experiment.Slot
		for ; end < len(slots) && slots[end].Block == slots[start].Block; end++ {
			if !perform(slots[end]) {
				failed = append(failed, slots[end])
			}
		}
		for _, slot := range failed {
			again := slot
			again.Replaces = slot.Trial
			for range w.Experiment.Schedule.Retries {
				number++
				again.Trial = number
				if perform(again) {
					break
				}
			}
		}
		start = end
	}
	return trials
}

// Answer draws a run, and answers it.
func (w World) Answer(r *rand.Rand) answer.Answer {
	return answer.Make(answer.Input{Experiment: w.Experiment, Trials: w.Run(r), State: "complete"})
}

// RTT is a metric of round-trip times in seconds.
func RTT(stat string, seconds float64) result.Metric {
	return result.Metric{Name: result.RTT, Stat: stat, Unit: result.Seconds, Value: seconds}
}
