package lab

import (
	"slices"
	"time"

	"nearfar/internal/host"
)

// watched holds what the lab observed about a trial. contention computes from it who used the CPUs.
type watched struct {
	// cpus are the CPUs of both sides; client and server are empty for any.
	cpus, client, server, all []int
	// fresh says that /proc shows the lab's own threads.
	fresh         bool
	before, after machine
	ended         []processUse
	wires         []WireStats
	threads       []threadUse
}

// contention computes who used the CPUs.
func (w *watched) contention() host.Contention {
	g := host.Contention{
		Window: w.after.at.Sub(w.before.at), CPUs: len(w.cpus),
		FrequencyBefore: w.before.frequency, FrequencyAfter: w.after.frequency,
	}
	if g.Window <= 0 {
		return host.Contention{}
	}
	g.Client, g.Server = w.side(clientSpace, w.client), w.side(serverSpace, w.server)
	overlap := slices.ContainsFunc(w.client, func(c int) bool { return slices.Contains(w.server, c) })
	g.Shared = !g.Client.Pinned || !g.Server.Pinned || overlap
	if g.Shared {
		g.Client.Others, g.Client.OthersKnown = w.others(g.Window, w.cpus)
		g.Client.CPUs = len(w.cpus)
	} else {
		g.Client.Others, g.Client.OthersKnown = w.others(g.Window, w.client)
		g.Server.Others, g.Server.OthersKnown = w.others(g.Window, w.server)
	}
	g.MachineOthers, g.MachineKnown = w.others(g.Window, w.all)
	g.MachineCPUs = len(w.all)
	for _, c := range w.cpus {
		g.Softirq += w.after.cpus[c].softirq - w.before.cpus[c].softirq
	}
	g.Pressure = between(w.before.pressure, w.after.pressure)
	g.CgroupPressure = between(w.before.cgroup, w.after.cgroup)
	g.Wire = w.wire()
	return g
}

func between(before, after *time.Duration) *time.Duration {
	if before == nil || after == nil || *after < *before {
		return nil
	}
	d := *after - *before
	return &d
}

// side adds up the ended processes of one side. If the side is pinned, unpinned processes are nearfar's own helpers and
// do not count.
func (w *watched) side(space string, cpus []int) host.ContentionSide {
	s := host.ContentionSide{Pinned: len(cpus) > 0, CPUs: len(cpus), DelayKnown: w.fresh}
	if !s.Pinned {
		s.CPUs = len(w.all)
	}
	for _, u := range w.ended {
		if u.Space != space || s.Pinned && len(u.CPUs) == 0 {
			continue
		}
		s.Ran += u.Ran
		s.Lived = max(s.Lived, u.Lived)
		s.Delay += u.Delay
		s.DelayKnown = s.DelayKnown && u.Known
	}
	return s
}

// others is the CPU time of programs other than the trial's. From the time in which the CPUs were neither idle nor
// stolen by a hypervisor it subtracts the time of the trial's processes, of the wires' threads, and of software
// interrupts, which carry the trial's packets.
//
// The time of software interrupts is the time of the kernel's threads for them, if these are visible. Otherwise it is
// all time in software interrupts. Some of that is part of the processes' time too, so that the result is then too
// small, never too large.
func (w *watched) others(window time.Duration, cpus []int) (time.Duration, bool) {
	if len(w.wires) > 0 && !w.fresh {
		return 0, false // the wires' threads would count as other programs
	}
	var rest time.Duration
	for _, c := range cpus {
		before, ok := w.before.cpus[c]
		after, still := w.after.cpus[c]
		if !ok || !still {
			return 0, false
		}
		rest += window - (after.idle - before.idle) - (after.stolen - before.stolen)
		if w.before.softirqd != nil && w.after.softirqd != nil {
			rest -= w.after.softirqd[c] - w.before.softirqd[c]
		} else {
			rest -= after.softirq - before.softirq
		}
	}
	within := func(own []int) bool {
		return !slices.ContainsFunc(own, func(c int) bool { return !slices.Contains(cpus, c) })
	}
	for _, u := range w.ended {
		switch {
		case len(u.CPUs) > 0 && within(u.CPUs), u.Space == "", len(u.CPUs) == 0 && len(cpus) == len(w.all):
			rest -= u.Ran
		}
	}
	for _, t := range w.threads {
		if within(t.CPUs) {
			rest -= t.Ran
		}
	}
	return max(0, rest), true
}

// wire is the latest user-space wire; nil if nothing crossed one.
func (w *watched) wire() *host.ContentionWire {
	var latest *host.ContentionWire
	for _, s := range w.wires {
		if s.Packets > 0 && (latest == nil || s.LatenessP99 > latest.LatenessP99) {
			latest = &host.ContentionWire{
				Packets: s.Packets, LatenessP50: s.LatenessP50, LatenessP99: s.LatenessP99, LatenessMax: s.LatenessMax,
			}
		}
	}
	if latest != nil {
		for _, t := range w.threads {
			latest.Delay += t.Delay
		}
	}
	return latest
}
