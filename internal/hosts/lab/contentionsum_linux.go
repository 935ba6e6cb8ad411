package lab

import (
	"slices"
	"time"

	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// watched holds what the lab observed about a trial. contention computes from it which programs used the CPUs.
type watched struct {
	// cpus are the CPUs of both sides; client and server are empty for any.
	cpus, client, server, all []int
	// fresh says that /proc shows the lab's own threads.
	fresh         bool
	before, after machine.State
	ended         []processUse
	wires         []WireStats
	threads       []threadUse
}

// contention computes which programs used the CPUs.
func (w *watched) contention() host.Contention {
	g := host.Contention{
		Window: w.after.At.Sub(w.before.At), CPUs: len(w.cpus),
		FrequencyBefore: w.before.Frequency, FrequencyAfter: w.after.Frequency,
	}
	if g.Window <= 0 {
		return host.Contention{}
	}
	g.Client, g.Server = w.side(clientSpace, w.client), w.side(serverSpace, w.server)
	overlap := slices.ContainsFunc(w.client, func(c int) bool { return slices.Contains(w.server, c) })
	g.Shared = !g.Client.Pinned || !g.Server.Pinned || overlap
	if g.Shared {
		g.Client.Others, g.Client.OthersKnown = w.others(w.cpus)
		g.Client.CPUs = len(w.cpus)
	} else {
		g.Client.Others, g.Client.OthersKnown = w.others(w.client)
		g.Server.Others, g.Server.OthersKnown = w.others(w.server)
	}
	g.MachineOthers, g.MachineKnown = w.others(w.all)
	g.MachineCPUs = len(w.all)
	for _, c := range w.cpus {
		g.Softirq += w.after.CPUs[c].Softirq - w.before.CPUs[c].Softirq
	}
	g.Pressure = between(w.before.Pressure, w.after.Pressure)
	g.CgroupPressure = between(w.before.Cgroup, w.after.Cgroup)
	g.Wire = w.wire()
	return g
}

func between(before, after *time.Duration) *time.Duration {
	if before == nil || after == nil || *after < *before {
		return nil
	}
	return new(*after - *before)
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

// others is the CPU time of programs other than the trial's processes and the wires' threads.
func (w *watched) others(cpus []int) (time.Duration, bool) {
	if len(w.wires) > 0 && !w.fresh {
		return 0, false // the wires' threads would count as other programs
	}
	var own []machine.Own
	for _, u := range w.ended {
		if u.Space == "" { // an orphan, which ran where its parent did
			own = append(own, machine.Own{CPUs: cpus, Ran: u.Ran})
			continue
		}
		own = append(own, machine.Own{CPUs: u.CPUs, Ran: u.Ran})
	}
	for _, t := range w.threads {
		own = append(own, machine.Own{CPUs: t.CPUs, Ran: t.Ran})
	}
	return machine.Others(w.before, w.after, cpus, w.all, own)
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
