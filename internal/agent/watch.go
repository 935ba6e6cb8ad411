package agent

import (
	"context"
	"slices"
	"time"

	"nearfar/internal/host"
)

// observed is the state of a machine's CPUs at a moment, and what processes used that have ended since the last
// observation.
type observed struct {
	// At is when it was read, on a clock that only this agent uses, in nanoseconds.
	At time.Duration `json:"at"`
	// CPUs are the times of each CPU since the machine started.
	CPUs map[int]cpuTimes `json:"cpus,omitempty"`
	// Pressure and CgroupPressure are how long some process has waited for a CPU.
	Pressure       *time.Duration `json:"pressure,omitempty"`
	CgroupPressure *time.Duration `json:"cgroup_pressure,omitempty"`
	// Frequencies are those of the CPUs, in MHz.
	Frequencies map[int]int `json:"frequencies,omitempty"`
	Ended       []endedUse  `json:"ended,omitempty"`
}

// cpuTimes are the times of one CPU since the machine started, in steps of 10 ms.
type cpuTimes struct {
	Idle    time.Duration `json:"idle"`
	Stolen  time.Duration `json:"stolen"`
	Softirq time.Duration `json:"softirq"`
}

// endedUse is what a process used that has ended.
type endedUse struct {
	Ran        time.Duration `json:"ran"`
	Delay      time.Duration `json:"delay"`
	DelayKnown bool          `json:"delay_known"`
	Lived      time.Duration `json:"lived"`
	CPUs       []int         `json:"cpus,omitempty"`
}

// Side is what one machine shows of the time of a trial. The zero value says that nothing is known.
type Side struct {
	// Contention is who used the side's CPUs.
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
	// FrequencyBefore and FrequencyAfter are those of the slowest of the side's CPUs in MHz; 0 if not known.
	FrequencyBefore, FrequencyAfter int
}

// watchLimit bounds how long an observation may hold up a trial.
const watchLimit = 20 * time.Second

// Watch begins to observe who uses the CPUs (nil for any) of the machine during a trial; end ends that and gives the
// result. Each is one call.
func (c *Client) Watch(cpus []int) (end func() Side) {
	before := c.observe()
	return func() Side {
		after := c.observe()
		if before == nil || after == nil {
			return Side{}
		}
		return side(before, after, cpus, c.facts.Allowed)
	}
}

func (c *Client) observe() *observed {
	ctx, cancel := context.WithTimeout(context.Background(), watchLimit)
	defer cancel()
	r, err := c.exchange(ctx, call{request: request{Call: callObserve, Key: randomHex(8)}})
	if err != nil {
		return nil
	}
	return r.Observed
}

// side is what lies between two observations. allowed are the CPUs that the agent may use.
func side(before, after *observed, cpus, allowed []int) Side {
	s := Side{Window: after.At - before.At, Contention: host.ContentionSide{Pinned: len(cpus) > 0}}
	if !s.Contention.Pinned {
		cpus = allowed
	}
	s.Contention.CPUs = len(cpus)
	s.Contention.DelayKnown = len(after.Ended) > 0
	onSide, elsewhere := time.Duration(0), time.Duration(0)
	for _, u := range after.Ended {
		s.Contention.Ran += u.Ran
		s.Contention.Delay += u.Delay
		s.Contention.DelayKnown = s.Contention.DelayKnown && u.DelayKnown
		s.Contention.Lived = max(s.Contention.Lived, u.Lived)
		if len(u.CPUs) > 0 && !slices.ContainsFunc(u.CPUs, func(c int) bool { return slices.Contains(cpus, c) }) {
			elsewhere += u.Ran
		} else {
			onSide += u.Ran
		}
	}
	var known bool
	if s.Contention.Others, s.Stolen, s.Softirq, known = busy(before, after, cpus); known {
		s.Contention.Others = max(0, s.Contention.Others-onSide)
		s.Contention.OthersKnown = true
	}
	if others, _, _, known := busy(before, after, allowed); known {
		s.MachineOthers, s.MachineCPUs = max(0, others-onSide-elsewhere), len(allowed)
	}
	s.Pressure = since(before.Pressure, after.Pressure)
	s.CgroupPressure = since(before.CgroupPressure, after.CgroupPressure)
	s.FrequencyBefore, s.FrequencyAfter = slowest(before, cpus), slowest(after, cpus)
	return s
}

// busy is the time between two observations in which the CPUs ran a program or an interrupt, summed over them, the
// steal time, averaged over them, and the time of software interrupts, summed over them.
func busy(before, after *observed, cpus []int) (ran, stolen, softirq time.Duration, known bool) {
	if len(cpus) == 0 {
		return 0, 0, 0, false
	}
	for _, c := range cpus {
		b, ok := before.CPUs[c]
		a, okAfter := after.CPUs[c]
		if !ok || !okAfter {
			return 0, 0, 0, false
		}
		ran += max(0, after.At-before.At-(a.Idle-b.Idle)-(a.Stolen-b.Stolen))
		stolen += a.Stolen - b.Stolen
		softirq += a.Softirq - b.Softirq
	}
	return ran, stolen / time.Duration(len(cpus)), softirq, true
}

func since(before, after *time.Duration) *time.Duration {
	if before == nil || after == nil || *after < *before {
		return nil
	}
	d := *after - *before
	return &d
}

func slowest(o *observed, cpus []int) int {
	lowest := 0
	for _, c := range cpus {
		if f := o.Frequencies[c]; f > 0 && (lowest == 0 || f < lowest) {
			lowest = f
		}
	}
	return lowest
}
