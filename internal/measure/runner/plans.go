package runner

import (
	"errors"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
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

// job plans a workload in an arm, and its background; nil if it has none.
func (r *Runner) job(t tool.Tool, w experiment.Workload, arm string) (work job, behind *background, err error) {
	work.out = newOutputs()
	if work.plan, err = r.plan(t, w, arm); err != nil {
		return work, nil, err
	}
	hosts := r.hosts[arm]
	if work.clientCPUs, work.serverCPUs, err = hosts.Machines.CPUs(w.Placement); err != nil {
		return work, nil, err
	}
	behind, err = r.background(w, work.plan, hosts)
	return work, behind, err
}

// SetPeers says from which addresses the servers of an arm see its client, by arms that have hosts of their own. The
// servers of arms that are missing serve whoever reaches them.
func (r *Runner) SetPeers(peers map[string][]netip.Prefix) { r.peers = peers }

// measured gives the workloads of each arm, after the arm's name, without those that are skipped.
func (r *Runner) measured() iter.Seq2[string, experiment.Workload] {
	return func(yield func(string, experiment.Workload) bool) {
		for c := range r.cells.All() {
			if _, skipped := r.skipped[c.Workload.Name]; !skipped && !yield(c.Arm, c.Workload) {
				return
			}
		}
	}
}

// checkPlans plans every workload in every arm. The error lists all that the tools cannot do between the hosts.
func (r *Runner) checkPlans() error {
	var wrong []string
	for arm, w := range r.measured() {
		t, _ := r.tools.Lookup(w.Tool)
		if _, err := r.plan(t, w, arm); err != nil && !slices.Contains(wrong, err.Error()) {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("workloads cannot be run, and nothing was measured:\n  " + strings.Join(wrong, "\n  "))
}
