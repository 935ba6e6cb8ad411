package inside

import (
	"cmp"
	"slices"
	"time"

	declared "nearfar/internal/declare/inside"
)

// slowShare is which share of the trips counts as the slowest ones.
const slowShare = 0.01

// leastTrips is how many trips there must be, so that one of them is among the slowest.
const leastTrips = 100

// nameCauses says of the slowest trips why they were slow. traces are the trips' traces, by path.
func nameCauses(paths []declared.Path, traces [][]trace, share float64) {
	type place struct {
		path, trip int
		took       int64
	}
	var all []place
	for p := range paths {
		for i, trip := range paths[p].Trips {
			all = append(all, place{p, i, trip.Took()})
		}
	}
	if len(all) < leastTrips {
		return
	}
	usual := usualSpans(paths)
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(b.took, a.took) })
	for _, at := range all[:int(share*float64(len(all)))] {
		t := &paths[at.path].Trips[at.trip]
		t.Cause, t.Step, t.Excess = traces[at.path][at.trip].cause(usual)
	}
}

// usualSpans are the median times of all steps, over all trips that have them.
func usualSpans(paths []declared.Path) map[declared.Step]int64 {
	spans := map[declared.Step][]int64{}
	for _, p := range paths {
		for i, s := range p.Steps {
			for _, t := range p.Trips {
				spans[s] = append(spans[s], t.Spans[i])
			}
		}
	}
	usual := map[declared.Step]int64{}
	for s, all := range spans {
		slices.Sort(all)
		usual[s] = all[len(all)/2]
	}
	return usual
}

// cause says why a trip was slow: what made the step long that took longest, compared with what it usually takes.
func (t *trace) cause(usual map[declared.Step]int64) (cause declared.Cause, step int, excess int64) {
	for i, s := range t.steps {
		if over := t.spans[i] - usual[s]; over > excess {
			step, excess = i, over
		}
	}
	if again := slices.IndexFunc(t.steps, func(s declared.Step) bool { return s.Kind == declared.Resend }); again >= 0 {
		return declared.CauseRetransmission, again, t.spans[again]
	}
	if t.stolen(step) > excess/2 {
		return declared.CauseSteal, step, excess
	}
	switch t.steps[step].Kind {
	case declared.Queue, declared.Wire:
		return declared.CauseQueue, step, excess
	case declared.RunQueue:
		return t.waited(step), step, excess
	case declared.Send, declared.Read, declared.Return, declared.Program:
		if why := t.interrupted(step, excess); why != declared.CauseUnknown {
			return why, step, excess
		}
	}
	if t.flooded(step) {
		return declared.CauseSoftirq, step, excess
	}
	return declared.CauseUnknown, step, excess
}

// stolen is how long the hypervisor did not run a CPU of the step, in nanoseconds. A step has the CPU where it begins
// and the one where it ends; the longer time counts. The kernel learns of it when the scheduler next works on the CPU,
// which can be after the step.
func (t *trace) stolen(step int) int64 {
	from := t.begin.cpu
	if step > 0 {
		from = t.ends[step-1].cpu
	}
	begin := t.begins(step)
	return max(t.stolenFrom(from, begin), t.stolenFrom(t.ends[step].cpu, begin))
}

// stolenFrom is by how much the time that the hypervisor did not run a CPU first grew after a moment of the trip. It is
// 0 if the trip knew nothing of the CPU before.
func (t *trace) stolenFrom(cpu uint16, moment uint64) int64 {
	known, stolen := false, uint32(0)
	for _, e := range t.events {
		switch {
		case !e.kind.tellsStolen() || e.stolenOf() != cpu:
		case e.at <= moment:
			known, stolen = true, e.stolen
		case known && e.stolen != stolen:
			return int64(e.stolen - stolen)
		case !known && e.kind == evWake:
			known, stolen = true, e.stolen
		}
	}
	return 0
}

// tellsStolen says that an event tells how long the hypervisor did not run a CPU. Where the scheduler works it can have
// grown, and a trip begins with evEnter; at other events it would cost time, and say nothing new.
func (k eventType) tellsStolen() bool {
	switch k {
	case evEnter, evWake, evRun, evOff, evReturn:
		return true
	}
	return false
}

// stolenOf is the CPU whose time the event tells.
func (e event) stolenOf() uint16 {
	if e.kind == evWake {
		return uint16(e.number)
	}
	return e.cpu
}

// dearestPacket is what receiving a packet of others takes at most. A CPU that received fewer packets than fill the
// time of a step did something else besides.
const dearestPacket = 200 * time.Microsecond

// flooded says that the CPU received packets of others during a step.
func (t *trace) flooded(step int) bool {
	return t.others[step] > 1 && time.Duration(t.others[step])*dearestPacket > time.Duration(t.spans[step])
}

// waited says why a thread that could run did not, in the longest of the times that it waited.
func (t *trace) waited(step int) declared.Cause {
	thread, begin, end := t.ends[step].device, t.begins(step), t.begins(step+1)
	why, longest, since := declared.CauseUnknown, uint64(0), begin
	var before *event // what put the thread into the queue
	for i, e := range t.marks {
		if e.device != thread || e.at > end {
			continue
		}
		switch {
		case e.kind == evOff:
			before, since = &t.marks[i], max(since, e.at)
		case e.kind == evThrottled:
			before = &t.marks[i]
		case e.kind == evRun && e.at >= begin:
			if waited := e.at - since; waited > longest {
				longest, why = waited, t.whyQueued(step, before, e)
			}
			before, since = nil, e.at
		}
	}
	return why
}

// whyQueued says why a thread had to wait until the event with which it ran.
func (t *trace) whyQueued(step int, before *event, run event) declared.Cause {
	switch {
	case t.flooded(step):
		return declared.CauseSoftirq
	case before != nil && before.isThrottled():
		return declared.CauseThrottled
	case int32(run.space) == softirqThread:
		return declared.CauseSoftirq
	case run.space != 0:
		return declared.CauseCPU
	}
	return declared.CauseUnknown // the CPU was idle
}

// isThrottled says that the thread's control group had used up its CPU time.
func (e event) isThrottled() bool {
	return e.kind == evThrottled || e.kind == evOff && e.number&offThrottled != 0
}

// begins is when a step began.
func (t *trace) begins(step int) uint64 {
	at := t.begin.at
	for _, span := range t.spans[:step] {
		at += uint64(span)
	}
	return at
}

// interrupted says why the thread of a step did not run in most of its excess.
func (t *trace) interrupted(step int, excess int64) declared.Cause {
	thread, begin, end := t.thread(step), t.begins(step), t.begins(step+1)
	lost := map[declared.Cause]int64{}
	var off *event
	for i, e := range t.marks {
		if e.device != thread || e.at < begin || e.at > end {
			continue
		}
		switch {
		case e.kind == evOff:
			off = &t.marks[i]
		case e.kind == evRun && off != nil:
			lost[off.whyOff(e)] += int64(e.at - off.at)
			off = nil
		}
	}
	for _, c := range declared.Causes() {
		if lost[c] > excess/2 {
			return c
		}
	}
	return declared.CauseUnknown
}

// whyOff says why a thread lost its CPU, from the event when it did, and the one when it ran again.
func (e event) whyOff(run event) declared.Cause {
	switch {
	case e.isThrottled():
		return declared.CauseThrottled
	case e.number&offState != 0:
		return declared.CauseTimer // it went to sleep
	case int32(run.space) == softirqThread:
		return declared.CauseSoftirq
	}
	return declared.CauseCPU
}

// thread is the thread that does what happens in a step.
func (t *trace) thread(step int) uint32 {
	if t.steps[step].Kind == declared.Send {
		return t.sender(step)
	}
	return t.ends[step].device
}

// sender is the thread that sends in a step: it entered the system call before.
func (t *trace) sender(step int) uint32 {
	if step == 0 {
		return t.begin.device
	}
	return t.ends[step-1].device
}
