package runner

import (
	"errors"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"nearfar/internal/experiment"
	"nearfar/internal/tool"
)

// plan gives what one trial of a workload runs in an arm, with the paths that the programs have on its hosts, and the
// rights that they get.
func (r *Runner) plan(t tool.Tool, w experiment.Workload, arm string) (tool.Plan, error) {
	pair := r.hosts[arm].Endpoints()
	p, err := t.Plan(w, pair)
	if err != nil {
		return p, err
	}
	return p.At(pair.Client.Tools, pair.Server.Tools).Confined(pair, r.peers[r.experiment.HostsOf(arm)]), nil
}

// SetPeers says from which addresses the servers of an arm see its client, by arms that have hosts of their own. The
// servers of arms that are missing serve whoever reaches them.
func (r *Runner) SetPeers(peers map[string][]netip.Prefix) { r.peers = peers }

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
		if _, err := r.plan(t, w, arm.Name); err != nil && !slices.Contains(wrong, err.Error()) {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("workloads cannot be run, and nothing was measured:\n  " + strings.Join(wrong, "\n  "))
}
