package interim

import (
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

func at(second int) time.Time { return time.Date(2026, 11, 21, 19, 22, second, 0, time.UTC) }

// Figures are made after each trial if that takes little time, and always at the end.
func TestFiguresAreMadeWithinTheirShare(t *testing.T) {
	e := &experiment.Experiment{Name: "x", Baseline: "a", Arms: []experiment.Arm{{Name: "a"}, {Name: "b"}},
		Workloads: []experiment.Workload{{Name: "rr", Tool: "native"}}, Schedule: experiment.Schedule{Blocks: 10, Seed: 5}}
	var trials []result.Trial
	for i, slot := range e.Slots() {
		trials = append(trials, result.Trial{Trial: i + 1, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload})
	}
	m := NewMaker(e)
	m.Update(trials[:1], at(0), false)
	if m.latest.trials != 1 {
		t.Fatal("there are no figures after the first trial")
	}
	m.cost = time.Second
	m.Update(trials[:2], at(19), false)
	if m.latest.trials != 1 {
		t.Error("figures that take a second were made again after 19 s")
	}
	m.Update(trials[:3], at(20), false)
	if m.latest.trials != 3 {
		t.Error("figures that take a second were not made again after 20 s")
	}
	m.cost = time.Hour
	m.Update(trials, at(21), true)
	if m.latest.trials != 20 {
		t.Error("the figures at the end lack the last trial")
	}
}
