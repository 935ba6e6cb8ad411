package lab

import (
	"context"
	"slices"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// machines is this machine, as the hosts of an arm use it.
type machines struct {
	lab *Lab
	arm string
}

// Machines is this machine, for the hosts of an arm.
func (l *Lab) Machines(arm string) host.Machines { return machines{l, arm} }

// CPUs resolves a placement to CPU numbers of this machine.
func (m machines) CPUs(p experiment.Placement) (client, server []int, err error) {
	return m.lab.CPUs(p)
}

// Ahead is not possible, and would save nothing: the hosts are on this machine.
func (m machines) Ahead(host.Machines) bool { return false }

// Kernels are this machine's alone: both sides are namespaces like the elements between them.
func (m machines) Kernels() host.Kernels {
	m.lab.mu.Lock()
	defer m.lab.mu.Unlock()
	return host.Kernels{One: true, Places: slices.Clone(m.lab.places[m.arm])}
}

// Lost says why the lab cannot be used any more; nil if it can.
func (m machines) Lost() error { return m.lab.Lost() }

// Watch observes the machine during a trial. A hypervisor may move virtual CPUs during a run, and everything that
// passes between the two sides then takes several times as long, or as short: so the core-to-core latency is measured
// before and after the trial. The counters of the hosts are read last before the trial and first after it.
func (m machines) Watch(_ context.Context, client, server []int) (begun func(), end func() host.Observation) {
	before, _ := machine.CoreToCore(client, server)
	steal := machine.WatchSteal(m.lab.trialCPUs(client, server))
	contention := m.lab.Watch(m.arm, client, server)
	counted := m.lab.countAt(m.arm)
	return func() {}, func() host.Observation {
		after := m.lab.countAt(m.arm)
		seen := host.Observation{Contention: contention(), CoreToCoreBefore: before}
		if counted != nil && after != nil {
			seen.Client.Counters = after.Client.Since(&counted.Client)
			seen.Server.Counters = after.Server.Since(&counted.Server)
		}
		seen.Stolen, seen.StolenKnown = steal.Share()
		if before > 0 {
			seen.CoreToCoreAfter, _ = machine.CoreToCore(client, server)
		}
		return seen
	}
}
