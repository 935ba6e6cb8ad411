package agent

import (
	"context"
	"net/netip"
	"time"

	"nearfar/internal/check"
	"nearfar/internal/host"
	"nearfar/internal/machine"
)

// observed is the state of a machine's CPUs at a moment, what processes used that have ended since the observation
// before, and what the kernel has counted.
type observed struct {
	State    machine.State   `json:"state"`
	Ended    []endedUse      `json:"ended,omitempty"`
	Counters *check.Counters `json:"counters,omitempty"`
}

// endedUse is what a process used that has ended.
type endedUse struct {
	Ran        time.Duration `json:"ran"`
	Delay      time.Duration `json:"delay"`
	DelayKnown bool          `json:"delay_known"`
	Lived      time.Duration `json:"lived"`
	CPUs       []int         `json:"cpus,omitempty"`
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

// Watch begins to observe which programs use the CPUs (nil for all) of the machine during a trial, and the counters of
// the path to the other side's address (the zero value for none). end ends the observation and gives the result. Each
// is one call.
func (c *Client) Watch(cpus []int, to netip.Addr) (end func() Side) {
	before := c.observe(cpus, to)
	return func() Side {
		after := c.observe(cpus, to)
		if before == nil || after == nil {
			return Side{}
		}
		return side(before, after, cpus, c.facts.Allowed)
	}
}

func (c *Client) observe(cpus []int, to netip.Addr) *observed {
	ctx, cancel := context.WithTimeout(context.Background(), watchLimit)
	defer cancel()
	r, err := c.exchange(ctx, call{
		request: request{Call: callObserve, Key: randomHex(8), CPUs: cpus, To: to.WithZone("")},
	})
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
	d := *after - *before
	return &d
}
