package lab

import (
	"slices"
	"time"

	"nearfar/internal/host"
)

// watched is all that was read of a trial.
type watched struct {
	// cpus are those of both sides; client and server are empty where they may run on all.
	cpus, client, server, all []int
	// fresh says that the lab's own threads could be read.
	fresh         bool
	before, after machine
	ended         []processUse
	wires         []WireStats
	threads       []threadUse
}

// ground reckons who had the CPUs.
func (w *watched) contention() host.Contention {
	g := host.Contention{Window: w.after.at.Sub(w.before.at), CPUs: len(w.cpus), FrequencyBefore: w.before.frequency, FrequencyAfter: w.after.frequency}
	if g.Window <= 0 {
		return host.Contention{}
	}
	g.Client, g.Server = w.side(clientSpace, w.client), w.side(serverSpace, w.server)
	g.Shared = !g.Client.Pinned || !g.Server.Pinned || slices.ContainsFunc(w.client, func(c int) bool { return slices.Contains(w.server, c) })
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

// side adds up the processes of one side that have ended. Those that were free to run anywhere beside pinned ones are nearfar's own
// helpers, and do not count.
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

// others is how long programs that are not of the trial had the CPUs: the time that these were not idle, nor kept by a hypervisor, less
// that of the trial's processes and of the wires' threads, and less that of software interrupts, which carry the trial's packets. That is
// the time of the threads that carry them out where these are seen. Else it is all the time in software interrupts, some of which is
// in that of the trial's processes already: then too little is found, never too much.
func (w *watched) others(window time.Duration, cpus []int) (time.Duration, bool) {
	if len(w.wires) > 0 && !w.fresh {
		return 0, false // the wires' threads are taken for others
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

// wire gives the user-space wire that was latest, nil where nothing crossed one.
func (w *watched) wire() *host.ContentionWire {
	var latest *host.ContentionWire
	for _, s := range w.wires {
		if s.Packets > 0 && (latest == nil || s.LatenessP99 > latest.LatenessP99) {
			latest = &host.ContentionWire{Packets: s.Packets, LatenessP50: s.LatenessP50, LatenessP99: s.LatenessP99, LatenessMax: s.LatenessMax}
		}
	}
	if latest != nil {
		for _, t := range w.threads {
			latest.Delay += t.Delay
		}
	}
	return latest
}
