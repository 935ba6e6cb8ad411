package runner

import (
	"net/netip"
	"slices"

	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// Traffic is what the workloads of each arm with hosts of its own send between its hosts. Workloads that cannot be
// planned are left out: Prepare says why.
func (r *Runner) Traffic() (all []host.Traffic) {
	for arm, w := range r.measured() {
		hosts := r.hosts[arm]
		t, known := r.tools.Lookup(w.Tool)
		if !known {
			continue
		}
		work, err := r.plan(t, w, arm)
		if err != nil {
			continue
		}
		plans := []tool.Plan{work}
		if behind, err := r.background(w, work, hosts); err == nil && behind != nil {
			plans = append(plans, behind.plan)
		}
		bind, dial, err := hosts.Endpoints().Addresses(w.IP)
		if err != nil {
			continue
		}
		for _, p := range plans {
			all = withSockets(all, r.experiment.HostsOf(arm), bind, dial, p.Sockets)
		}
	}
	return all
}

// withSockets adds sockets to the traffic of an arm between two addresses, each once.
func withSockets(all []host.Traffic, arm string, bind, dial netip.Addr, sockets []host.Socket) []host.Traffic {
	if len(sockets) == 0 {
		return all
	}
	at := slices.IndexFunc(all, func(t host.Traffic) bool { return t.Arm == arm && t.Bind == bind && t.Dial == dial })
	if at < 0 {
		at = len(all)
		all = append(all, host.Traffic{Arm: arm, Bind: bind, Dial: dial})
	}
	for _, s := range sockets {
		if !slices.Contains(all[at].Sockets, s) {
			all[at].Sockets = append(all[at].Sockets, s)
		}
	}
	return all
}
