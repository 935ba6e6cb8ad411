package agent

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
	"nearfar/internal/onhost/supervise"
)

// observed is the state of a machine's CPUs at a moment, what processes used that have ended since the observation
// before, and what the kernel has counted.
type observed struct {
	State    machine.State   `json:"state"`
	Ended    []supervise.Use `json:"ended,omitempty"`
	Counters *check.Counters `json:"counters,omitempty"`
}

// Side is the observation of one machine during a trial. The zero value says that nothing is known.
type Side struct {
	// Contention says which programs used the side's CPUs.
	Contention host.ContentionSide
	// Window is how long it was observed.
	Window time.Duration
	// Stolen is the steal time of the side's CPUs, averaged over them.
	Stolen time.Duration
	// Softirq is the time that the side's CPUs spent in software interrupts.
	Softirq time.Duration
	// MachineOthers is the CPU time of other programs on all CPUs that the agent may use, MachineCPUs their number.
	MachineOthers time.Duration
	MachineCPUs   int
	// Pressure and CgroupPressure are as in host.Contention.
	Pressure, CgroupPressure *time.Duration
	// FrequencyBefore and FrequencyAfter are the frequencies of the slowest of the side's CPUs in MHz; 0 if not known.
	FrequencyBefore, FrequencyAfter int
	// Counters are the kernel's counts during the observation; nil if they are not known.
	Counters *check.Counters
}

// watchLimit bounds how long an observation may hold up a trial.
const watchLimit = 20 * time.Second

// A watch is an observation of the agent's machine during a trial.
type watch struct {
	client *Client
	ctx    context.Context //nolint:containedctx // of the trial, whose two ends it observes
	cpus   []int
	to     netip.Addr
	// key names the observation before the trial. before is valid once begun is closed.
	key    string
	begun  chan struct{}
	before *observed

	mu sync.Mutex
	// first is the first process that was started during the watch, others says that there were more. after is valid
	// once looked is closed: what was observed when the first process had ended, under the key last. stop ends that.
	first  *process
	others bool
	last   string
	looked chan struct{}
	after  *observed
	stop   context.CancelFunc
	// followed says that another watch began before the end of this one.
	followed bool
}

// Watch begins to observe which programs use the CPUs (nil for all) of the machine during a trial, and the counters of
// the path to the other side's address (the zero value for none). It does not wait: the agent observes before it starts
// a process, and begun returns when it has. end ends the observation and gives the result; all processes that were
// started have ended then. If there was only one, the agent has observed its end already, and is not asked again.
//
// It may be called once before the end of the watch before, if that one has had its only process: the agent makes the
// observations in their order.
func (c *Client) Watch(ctx context.Context, cpus []int, to netip.Addr) (begun func(), end func() Side) {
	w := &watch{client: c, ctx: ctx, cpus: cpus, to: to, key: randomHex(8), begun: make(chan struct{})}
	after := c.watching.Swap(w).follow()
	go func() {
		defer close(w.begun)
		ctx, cancel := context.WithTimeout(ctx, watchLimit)
		defer cancel()
		w.before = w.observe(ctx, request{Key: w.key, After: after})
	}()
	return func() { <-w.begun }, w.end
}

// follow notes that another watch begins, and gives the key of the observation after which that one begins; empty for
// none.
func (w *watch) follow() string {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followed = true
	return w.last
}

// watchesStart notes that a process is about to be started, and asks for the observation of its end. It returns the key
// of the observation that comes before the start; empty for none.
func (c *Client) watchesStart(p *process) string {
	w := c.watching.Load()
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first != nil {
		w.others = true
		return w.key
	}
	ctx, stop := context.WithCancel(w.ctx)
	w.first, w.stop, w.looked, w.last = p, stop, make(chan struct{}), randomHex(8)
	context.AfterFunc(p.calls, func() {
		if errors.Is(context.Cause(p.calls), errNotStarted) {
			stop()
		}
	})
	go func() {
		defer close(w.looked)
		w.after = w.observe(ctx, request{Key: w.last, Ended: p.key})
	}()
	return w.key
}

// end ends the observation.
func (w *watch) end() Side {
	w.client.watching.CompareAndSwap(w, nil)
	ctx, cancel := context.WithTimeout(w.ctx, watchLimit)
	defer cancel()
	<-w.begun
	before, after := w.before, w.seenByEnd(ctx)
	w.mu.Lock()
	first, others, followed := w.first, w.others, w.followed
	w.mu.Unlock()
	if after == nil || others {
		if followed {
			return Side{} // an observation now would be of the next trial too
		}
		last := w.observe(ctx, request{Key: randomHex(8)})
		if last != nil && after != nil {
			last.Ended = append(after.Ended, last.Ended...)
		}
		after = last
	}
	if before == nil || after == nil {
		return Side{}
	}
	if first != nil {
		// The agent does not wait for ever until it has observed.
		if started, _ := first.Times(); before.State.At.After(started) && !started.IsZero() {
			return Side{}
		}
	}
	return side(before, after, w.cpus, w.client.facts.Allowed)
}

// seenByEnd is what was observed when the first process ended; nil if that is not known.
func (w *watch) seenByEnd(ctx context.Context) *observed {
	w.mu.Lock()
	first, looked, stop := w.first, w.looked, w.stop
	w.mu.Unlock()
	if first == nil {
		return nil
	}
	defer stop()
	select {
	case <-first.done:
	default:
		stop() // it was given up
	}
	select {
	case <-looked:
	case <-ctx.Done():
		return nil
	}
	return w.after
}

// observe asks for an observation; nil if there is none.
func (w *watch) observe(ctx context.Context, q request) *observed {
	q.Call, q.CPUs, q.To = callObserve, w.cpus, w.to.WithZone("")
	r, err := w.client.exchange(ctx, call{request: q, waits: q.Ended != ""})
	if err != nil {
		return nil
	}
	if r.Observed != nil && r.Observed.Counters != nil {
		r.Observed.Counters.Bound()
	}
	return r.Observed
}

// side is the difference of two observations. allowed are the CPUs that the agent may use.
func side(before, after *observed, cpus, allowed []int) Side {
	s := Side{
		Window: after.State.At.Sub(before.State.At), Contention: host.ContentionSide{Pinned: len(cpus) > 0},
		FrequencyBefore: before.State.Frequency, FrequencyAfter: after.State.Frequency,
		Counters: after.Counters.Since(before.Counters),
	}
	if !s.Contention.Pinned {
		cpus = allowed
	}
	s.Contention.CPUs = len(cpus)
	s.Contention.DelayKnown = len(after.Ended) > 0
	var own []machine.Own
	for _, u := range after.Ended {
		s.Contention.Ran += u.Ran
		s.Contention.Delay += u.Delay
		s.Contention.DelayKnown = s.Contention.DelayKnown && u.DelayKnown
		s.Contention.Lived = max(s.Contention.Lived, u.Lived)
		own = append(own, machine.Own{CPUs: u.CPUs, Ran: u.Ran})
	}
	s.Contention.Others, s.Contention.OthersKnown = machine.Others(before.State, after.State, cpus, allowed, own)
	if others, known := machine.Others(before.State, after.State, allowed, allowed, own); known {
		s.MachineOthers, s.MachineCPUs = others, len(allowed)
	}
	for _, c := range cpus {
		now, then := after.State.CPUs[c], before.State.CPUs[c]
		s.Stolen += (now.Stolen - then.Stolen) / time.Duration(len(cpus))
		s.Softirq += now.Softirq - then.Softirq
	}
	s.Pressure = since(before.State.Pressure, after.State.Pressure)
	s.CgroupPressure = since(before.State.Cgroup, after.State.Cgroup)
	return s
}

func since(before, after *time.Duration) *time.Duration {
	if before == nil || after == nil || *after < *before {
		return nil
	}
	return new(*after - *before)
}
