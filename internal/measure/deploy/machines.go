package deploy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// machines is the machines of two given hosts: two, or one if both hosts have the same running kernel.
type machines struct {
	client, server *agent.Client
	same           bool
	ends           ends
}

func newMachines(client, server *agent.Client, at ends) machines {
	boot := client.Known().BootID
	return machines{client, server, client == server || boot != "" && boot == server.Known().BootID, at}
}

// CPUs resolves a placement. On one machine it is as in a lab (machine.Place). On two machines split is the
// highest-numbered CPU that each side may use, and shared is refused.
func (m machines) CPUs(p experiment.Placement) (client, server []int, err error) {
	ours, theirs := m.client.Known().Allowed, m.server.Known().Allowed
	switch {
	case p.Kind == experiment.PlacementFree:
		return nil, nil, nil
	case p.Kind == experiment.PlacementExplicit:
		return p.Client, p.Server, errors.Join(allows(m.client, p.Client), allows(m.server, p.Server))
	case len(ours) == 0 || len(theirs) == 0:
		return nil, nil, fmt.Errorf("placement %s: it is not known which CPUs %s have; use placement free", p.Kind, m)
	case m.same && slices.Equal(ours, theirs):
		return machine.Place(ours, p)
	case p.Kind == experiment.PlacementSplit:
		return ours[len(ours)-1:], theirs[len(theirs)-1:], nil
	}
	return nil, nil, fmt.Errorf("placement %s: %s do not share their CPUs; use placement split", p.Kind, m)
}

// String names both hosts.
func (m machines) String() string {
	return m.client.Host().Endpoint().Name + " and " + m.server.Host().Endpoint().Name
}

// allows checks that the host's agent may use the CPUs.
func allows(c *agent.Client, cpus []int) error {
	for _, cpu := range cpus {
		if !slices.Contains(c.Known().Allowed, cpu) {
			return fmt.Errorf("placement names CPU %d of %s; allowed are %v", cpu, c.Host().Endpoint().Name,
				c.Known().Allowed)
		}
	}
	return nil
}

// Lost says which host is lost; nil if none is.
func (m machines) Lost() error {
	if err := m.client.Lost(); err != nil {
		return err
	}
	return m.server.Lost()
}

// Watch observes both machines at the same time.
func (m machines) Watch(ctx context.Context, client, server []int) (begun func(), end func() host.Observation) {
	if m.client == m.server {
		return m.watchOne(ctx, client, server)
	}
	begunClient, endClient := m.client.Watch(ctx, client, m.ends.server)
	begunServer, endServer := m.server.Watch(ctx, server, m.ends.client)
	begun = func() {
		begunClient()
		begunServer()
	}
	return begun, func() host.Observation {
		var c, s agent.Side
		both(func() { c = endClient() }, func() { s = endServer() })
		seen := m.observation(c, s, client, server)
		seen.Client.Counters, seen.Server.Counters = c.Counters, s.Counters
		return seen
	}
}

// Ahead is possible between two agents, which keep the order on their hosts. If the servers have different agents, these
// must be in different networks: otherwise the servers can need the same port.
func (m machines) Ahead(next host.Machines) bool {
	n, ok := next.(machines)
	if pods, are := next.(*podMachines); are {
		n, ok = pods.machines, true
	}
	return ok && m.client != m.server && n.client != n.server &&
		(m.server == n.server || apart(m.server.Known(), n.server.Known()))
}

// Kernels says whether both sides are on one machine, by its kernel's boot ID.
func (m machines) Kernels() host.Kernels { return host.Kernels{One: m.same} }

// apart says that two agents are in different networks: on different machines, or without a common address.
func apart(a, b agent.Facts) bool {
	if a.BootID != "" && b.BootID != "" && a.BootID != b.BootID {
		return true
	}
	ours, theirs := beyondLoopback(a), beyondLoopback(b)
	return len(ours) > 0 && len(theirs) > 0 &&
		!slices.ContainsFunc(ours, func(at netip.Addr) bool { return slices.Contains(theirs, at) })
}

// beyondLoopback are the addresses of an agent's network that are not of the loopback interface.
func beyondLoopback(f agent.Facts) (all []netip.Addr) {
	for _, i := range f.Addresses {
		if at := i.Prefix.Addr(); !at.IsLoopback() {
			all = append(all, at)
		}
	}
	return all
}

// watchOne observes the machine of an arm whose client and server are one host. The figures of both sides are recorded
// for the client.
func (m machines) watchOne(ctx context.Context, client, server []int) (begun func(), end func() host.Observation) {
	var cpus []int
	if len(client) > 0 && len(server) > 0 { // otherwise a process may run on any CPU
		cpus = slices.Concat(client, server)
		slices.Sort(cpus)
		cpus = slices.Compact(cpus)
	}
	begun, watched := m.client.Watch(ctx, cpus, m.ends.server)
	return begun, func() host.Observation {
		s := watched()
		if s.Window <= 0 {
			return host.Observation{}
		}
		return host.Observation{
			Contention: host.Contention{
				Window: s.Window, Client: s.Contention, Shared: true, CPUs: s.Contention.CPUs, Softirq: s.Softirq,
				Server: host.ContentionSide{
					Pinned: s.Contention.Pinned, CPUs: s.Contention.CPUs, DelayKnown: s.Contention.DelayKnown,
				},
				MachineOthers: s.MachineOthers, MachineCPUs: s.MachineCPUs, MachineKnown: s.MachineCPUs > 0,
				Pressure: s.Pressure, CgroupPressure: s.CgroupPressure,
				FrequencyBefore: s.FrequencyBefore, FrequencyAfter: s.FrequencyAfter,
			},
			Stolen: stolen(s), StolenKnown: s.Contention.OthersKnown,
			Client: host.Seen{Counters: s.Counters}, Server: host.Seen{Counters: s.Counters},
		}
	}
}

// stolen is the steal time of a side's CPUs as a share of the elapsed time.
func stolen(s agent.Side) float64 { return float64(s.Stolen) / float64(s.Window) }

// both calls two functions at the same time, because each waits for another host.
func both(first, second func()) {
	var other sync.WaitGroup
	other.Go(second)
	first()
	other.Wait()
}

// observation joins the observations of the two sides. The values of a whole machine are taken from the busier machine,
// and the steal time from the side that has more.
//
// If both hosts are on one machine, the time of other programs is not known, because each agent counts the processes of
// the other agent as other programs.
func (m machines) observation(c, s agent.Side, client, server []int) host.Observation {
	if c.Window <= 0 || s.Window <= 0 {
		return host.Observation{}
	}
	g := host.Contention{
		Window: max(c.Window, s.Window), Client: c.Contention, Server: s.Contention,
		CPUs: c.Contention.CPUs + s.Contention.CPUs, Softirq: c.Softirq + s.Softirq,
		Pressure: longest(c.Pressure, s.Pressure), CgroupPressure: longest(c.CgroupPressure, s.CgroupPressure),
	}
	if m.same {
		g.Shared = len(client) == 0 || len(server) == 0 ||
			slices.ContainsFunc(client, func(cpu int) bool { return slices.Contains(server, cpu) })
		g.Client.OthersKnown, g.Server.OthersKnown = false, false
		if g.Shared {
			g.CPUs, g.Softirq = max(c.Contention.CPUs, s.Contention.CPUs), max(c.Softirq, s.Softirq)
		}
	} else {
		busier := c
		if share(s) > share(c) {
			busier = s
		}
		g.MachineOthers, g.MachineCPUs = busier.MachineOthers, busier.MachineCPUs
		g.MachineKnown = busier.MachineCPUs > 0
	}
	slower := c
	if c.FrequencyAfter == 0 || s.FrequencyAfter > 0 && ratio(s) < ratio(c) {
		slower = s
	}
	g.FrequencyBefore, g.FrequencyAfter = slower.FrequencyBefore, slower.FrequencyAfter
	seen := host.Observation{Contention: g}
	if c.Contention.OthersKnown && s.Contention.OthersKnown { // both are read from the same file
		seen.Stolen, seen.StolenKnown = max(stolen(c), stolen(s)), true
	}
	return seen
}

// share is the part of its machine's CPU time that other programs used.
func share(s agent.Side) float64 {
	if s.MachineCPUs == 0 {
		return 0
	}
	return float64(s.MachineOthers) / float64(s.Window) / float64(s.MachineCPUs)
}

// ratio is the frequency of a side's CPUs after the trial over that before it.
func ratio(s agent.Side) float64 {
	if s.FrequencyBefore == 0 {
		return 1
	}
	return float64(s.FrequencyAfter) / float64(s.FrequencyBefore)
}

func longest(a, b *time.Duration) *time.Duration {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(max(*a, *b))
}
