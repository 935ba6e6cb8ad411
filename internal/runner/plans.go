package runner

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/tool"
)

// plan gives what one trial of a workload runs between two hosts, with the paths that the programs have there.
func plan(t tool.Tool, w experiment.Workload, hosts host.Hosts) (tool.Plan, error) {
	pair := hosts.Endpoints()
	p, err := t.Plan(w, pair)
	if err != nil {
		return p, err
	}
	return p.At(pair.Client.Tools, pair.Server.Tools), nil
}

// cells are the workloads of each arm, as the arm sets them, without those that are skipped.
func (r *Runner) cells() iter.Seq2[experiment.Arm, experiment.Workload] {
	return func(yield func(experiment.Arm, experiment.Workload) bool) {
		for _, arm := range r.experiment.Arms {
			for _, plain := range r.experiment.Workloads {
				if _, skipped := r.skipped[plain.Name]; skipped {
					continue
				}
				if w, _ := r.experiment.WorkloadIn(arm.Name, plain.Name); !yield(arm, w) {
					return
				}
			}
		}
	}
}

// checkPlans plans every workload in every arm. The error lists all that the tools cannot do between the hosts.
func (r *Runner) checkPlans() error {
	var wrong []string
	for arm, w := range r.cells() {
		t, _ := r.tools.Lookup(w.Tool)
		if _, err := plan(t, w, r.hosts[arm.Name]); err != nil && !slices.Contains(wrong, err.Error()) {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("workloads cannot be run, and nothing was measured:\n  " + strings.Join(wrong, "\n  "))
}
