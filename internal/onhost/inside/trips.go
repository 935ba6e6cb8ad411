package inside

import (
	"cmp"
	"encoding/binary"
	"slices"

	"nearfar/internal/base/clean"
	declared "nearfar/internal/declare/inside"
)

// sightings are all that the kernel's side saw.
type sightings struct {
	side    string
	warmup  uint64 // in nanoseconds after the first trip
	lost    int
	slots   []slot
	devices map[deviceKey]device
	tunnels map[tunnelKey]tunnel
	names   names
}

func number(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }

// recording makes the record: trips by paths. slow is the share of the trips whose causes are named.
func (s *sightings) recording(slow float64) *declared.Recording {
	for _, one := range s.slots {
		slices.SortStableFunc(one.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	}
	r := &declared.Recording{Version: declared.Version, Side: s.side, Lost: s.lost, Paths: []declared.Path{}}
	namer := newNamer(s)
	byPath := map[string]int{}
	var traces [][]trace // by path and trip
	var first uint64
	for _, one := range s.slots {
		if len(one.events) == 0 {
			continue
		}
		begin := one.events[0].at
		if first == 0 {
			first = begin
		}
		if begin-first < s.warmup {
			continue
		}
		r.Sampled++
		r.Events += one.count
		trace := namer.follow(one)
		if !trace.whole || len(trace.steps) > declared.MaxSteps {
			continue
		}
		key := declared.Key(trace.steps)
		at, known := byPath[key]
		if !known {
			if len(r.Paths) == declared.MaxPaths {
				continue
			}
			at = len(r.Paths)
			byPath[key] = at
			r.Paths = append(r.Paths, declared.Path{Steps: trace.steps})
			traces = append(traces, nil)
		}
		r.Complete++
		r.Paths[at].Trips = append(r.Paths[at].Trips, declared.Trip{At: int64(begin - first), Spans: trace.spans})
		traces[at] = append(traces[at], trace)
	}
	nameCauses(r.Paths, traces, slow)
	slices.SortStableFunc(r.Paths, func(a, b declared.Path) int { return cmp.Compare(len(b.Trips), len(a.Trips)) })
	return r
}

// A trace is a trip as it was followed.
type trace struct {
	steps []declared.Step
	spans []int64
	// begin is the first event, ends are the events with which the steps end.
	begin event
	ends  []event
	// events are all of them, in order.
	events []event
	// marks are what happened to the threads and to the packet besides.
	marks []event
	whole bool
	// others is how many packets of others the CPU received in a step, where the step was on one CPU.
	others map[int]uint32
}

// add adds the step that ends with the event.
func (t *trace) add(step declared.Step, span uint64, end event) {
	t.steps = append(t.steps, step)
	t.spans = append(t.spans, int64(span))
	t.ends = append(t.ends, end)
}

// count notes how many packets of others the CPU received in the step that is added next.
func (t *trace) count(from, to event) {
	if from.cpu != to.cpu || to.number <= from.number {
		return
	}
	others := to.number - from.number
	if to.isArrival() {
		others--
	}
	t.others[len(t.steps)] = others
}

// follow makes the steps of a trip from its events: each step is what happens between one event and the next.
func (n *namer) follow(s slot) trace {
	t := trace{others: map[int]uint32{}}
	begin := slices.IndexFunc(s.events, n.begins)
	if !s.done || s.count > maxEvents || begin < 0 {
		return t
	}
	t.events = s.events[begin:]
	last := s.events[begin] // the current step begins with it
	t.begin = last
	at := last // the last event at a device
	way := declared.Request
	for i := begin + 1; i < len(s.events) && !t.whole; i++ {
		e := s.events[i]
		if !e.isStep() {
			t.marks = append(t.marks, e)
			continue
		}
		if last.kind == evReady {
			read := readingOf(last, e, s.events[begin:i])
			for _, part := range []declared.Kind{declared.Wake, declared.RunQueue, declared.Read} {
				t.count(last, e)
				t.add(n.located(way, part, at, e), read[part], e)
			}
			if last = e; e.kind != evCopy {
				return t
			}
			continue
		}
		kind := n.step(last, e)
		if kind == "" { // an order of events that no path has
			return t
		}
		if e.kind == evReply {
			way = declared.Reply
		}
		t.count(last, e)
		t.add(n.located(way, kind, at, e), e.at-last.at, e)
		if e.isBack() { // the step is the way there, the time in another machine, and the way back
			way = declared.Reply
		}
		last = e
		if e.isAtDevice() {
			at = e
		}
		t.whole = e.kind == evReturn && way == declared.Reply
	}
	if n.side == declared.Server {
		t.whole = way == declared.Reply
	}
	return t
}

// readingOf divides the time from the moment when the socket has the data until a thread has it. A thread that was not
// woken did not sleep: it polled, or it was about to sleep, or it waited for a CPU. One that lost its CPU again before
// it had the data waited until it had it for the last time.
func readingOf(ready, copied event, events []event) map[declared.Kind]uint64 {
	woken := ready.at
	runs := woken
	for _, e := range events {
		switch {
		case e.device != copied.device || e.at < ready.at:
		case e.kind == evWake:
			woken, runs = e.at, e.at
		case e.kind == evRun:
			runs = e.at
		}
	}
	return map[declared.Kind]uint64{
		declared.Wake: woken - ready.at, declared.RunQueue: runs - woken, declared.Read: copied.at - runs,
	}
}

// begins says that a trip begins with the event.
func (n *namer) begins(e event) bool {
	if n.side == declared.Server {
		return e.kind == evFoundB || e.kind == evFoundR
	}
	return e.kind == evEnter
}

// isStep says that a step ends with the event. The others are about threads, or about packets that were lost.
func (e event) isStep() bool {
	switch e.kind {
	case evWake, evRun, evOff, evDrop, evThrottled:
		return false
	}
	return true
}

func (e event) isAtDevice() bool {
	switch e.kind {
	case evRequest, evReply, evQueue, evXmit, evBacklog, evReceive, evFoundB, evFoundR, evFoundQ, evBackB, evBackR,
		evMerge:
		return true
	}
	return false
}

func (e event) isArrival() bool {
	return e.kind == evReceive || e.kind == evFoundR || e.kind == evBackR
}

func (e event) isBack() bool { return e.kind == evBackB || e.kind == evBackR }

// step says what happens from one event to the next. It is empty if e cannot follow.
func (n *namer) step(last, e event) declared.Kind {
	port := n.devices[keyOf(last)].bridgePort
	switch e.kind {
	case evResent:
		return declared.Resend
	case evEnter:
		if last.kind == evReturn {
			return declared.Program
		}
	case evRequest, evReply:
		switch {
		case last.kind == evEnter:
			return declared.Send
		case last.isArrival() && e.kind == evReply:
			return declared.Answer
		}
	case evQueue:
		switch {
		case last.kind == evResent:
			return declared.Send
		case last.kind == evXmit && last.space == e.space:
			return n.handedDown(last)
		case last.isArrival() && port:
			return declared.Bridge
		case last.isArrival():
			return declared.Forward
		}
	case evXmit:
		switch last.kind {
		case evRequest, evReply, evQueue, evFoundQ:
			return declared.Queue
		}
	case evFoundQ:
		if last.isArrival() {
			return declared.Wire
		}
	case evFoundB, evFoundR:
		if last.kind == evXmit {
			return declared.Wire
		}
	case evBackB, evBackR:
		if last.isAtDevice() {
			return declared.Wire
		}
	case evBacklog, evReceive, evMerge:
		switch {
		case last.kind == evMerge:
			return declared.GRO
		case last.kind == evXmit:
			return declared.Device
		case last.kind == evBacklog || last.kind == evFoundB || last.kind == evBackB:
			return declared.Softirq
		case last.isArrival() && port:
			return declared.Bridge
		case last.isArrival():
			return declared.Decapsulate
		}
	case evReady:
		if last.isArrival() {
			return declared.Deliver
		}
	case evReturn:
		if last.kind == evCopy {
			return declared.Return
		}
	}
	return ""
}

// handedDown says what happens from the driver of a device to the queue of the device below it.
func (n *namer) handedDown(upper event) declared.Kind {
	switch n.devices[keyOf(upper)].kind {
	case "bridge":
		return declared.Bridge
	case "bond", "team", "vlan", "macvlan", "ipvlan", "vrf": // they make no other packet of it
		return declared.Device
	}
	return declared.Encapsulate
}

func keyOf(e event) deviceKey { return deviceKey{e.device, e.space} }

// located is a step with its place: at is the last event at a device, e the event that ends the step.
func (n *namer) located(way string, kind declared.Kind, at, e event) declared.Step {
	s := declared.Step{Way: way, Kind: kind}
	switch kind {
	case declared.Send, declared.Answer, declared.Softirq:
		at = e
	}
	s.Place = n.place(at.space)
	switch kind {
	case declared.Deliver, declared.Wake, declared.RunQueue, declared.Read, declared.Return, declared.Program,
		declared.Send, declared.Answer: // of the host, not of a device
	default:
		d := n.devices[keyOf(at)]
		s.Device, s.DeviceKind = clean.Line(d.name), clean.Line(d.kind)
	}
	switch kind {
	case declared.Encapsulate: // the packet has its outer header at the device below
		s.Tunnel = n.tunnels[tunnelKey{keyOf(e), waySent}].String()
	case declared.Decapsulate:
		s.Tunnel = n.tunnels[tunnelKey{keyOf(at), wayReceived}].String()
	}
	return s
}
