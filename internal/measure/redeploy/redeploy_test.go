package redeploy

import (
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// TestNextDeployment: a run goes on in the deployment of its first missing trial.
func TestNextDeployment(t *testing.T) {
	e := &experiment.Experiment{Baseline: "a", Arms: []experiment.Arm{{Name: "a"}, {Name: "b"}},
		Workloads: []experiment.Workload{{Name: "rr"}}, Schedule: experiment.Schedule{Blocks: 2, Deployments: 3, Seed: 5}}
	slots := e.Slots()
	if len(slots) != 12 {
		t.Fatalf("%d trials", len(slots))
	}
	var trials []result.Trial
	for ran, want := range []int{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3} {
		if got := nextDeployment(e, trials); got != want {
			t.Errorf("after %d trials: %d, want %d", ran, got, want)
		}
		if ran < len(slots) {
			trials = append(trials, result.Trial{Trial: slots[ran].Trial})
		}
	}
	if got := nextDeployment(e, trials[4:]); got != 1 {
		t.Errorf("without the first trials: %d", got)
	}
}
