// Package machine reads the state of the machine that it runs on: which CPUs it has, which programs use them, and how
// much CPU time the hypervisor withholds. It knows no hosts: a lab uses it for all of its hosts, an agent for its own.
package machine

import (
	"fmt"
	"slices"
	"time"

	"nearfar/internal/declare/experiment"
)

// MaxCPU bounds CPU numbers by what an affinity mask can hold.
const MaxCPU = 1024

// UserHertz is the unit of /proc/stat, USER_HZ: 100 a second wherever Linux runs that this program is built for.
const UserHertz = 100

// Load says how busy a machine is.
type Load struct {
	// Average is the load average over a minute, Running the number of runnable threads, with this program's, and CPUs
	// the number of CPUs that this program may use.
	Average float64 `json:"average"`
	Running int     `json:"running"`
	CPUs    int     `json:"cpus"`
	// Pressure is the share of the last ten seconds in which some process waited for a CPU; 0 if the kernel does not
	// say.
	Pressure float64 `json:"pressure"`
	// Busy is the share of the CPUs' time that was used in a sample of 200 ms; 0 if none was taken.
	Busy float64 `json:"busy"`
}

// State is what a machine's kernel has counted of its CPUs at a moment.
type State struct {
	At time.Time
	// CPUs has the times of each CPU.
	CPUs map[int]CPUTimes
	// Softirqd is how long the threads ran that carry out software interrupts, by CPU; nil if they are not visible.
	Softirqd map[int]time.Duration
	// Ran is how long threads ran, by CPU; nil if the kernel does not say.
	Ran map[int]time.Duration
	// Pressure is how long some process waited for a CPU, Cgroup the same in this process's control group; nil if the
	// kernel does not say.
	Pressure, Cgroup *time.Duration
	// Frequency is the frequency of the slowest of the requested CPUs, in MHz; 0 if it is not known.
	Frequency int
	// Err says why the times are not known.
	Err error
}

// CPUTimes are the times of one CPU since the machine started, in steps of 10 ms.
type CPUTimes struct{ Idle, Stolen, Softirq time.Duration }

// Use is how long threads ran, and how long they were runnable and waited for a CPU (run delay; proc(5), schedstat).
type Use struct {
	Ran   time.Duration `json:"ran"`
	Delay time.Duration `json:"delay"`
}

// Own is CPU time that does not count as other programs'.
type Own struct {
	// CPUs are the CPUs on which it was used; empty for any.
	CPUs []int
	Ran  time.Duration
}

// Others is the CPU time of other programs on some CPUs between two states; all are the CPUs that those of own without
// CPUs may have used. It is the time in which the CPUs were neither idle nor stolen by a hypervisor, less own, and less
// the time of software interrupts, which carry the trial's packets. It is false if a CPU is not in both states.
//
// If the kernel says how long threads ran on a CPU, a CPU is busy for no longer than that: software interrupts that
// interrupt an idle CPU do not belong to another program.
//
// The time of software interrupts is the time of the kernel's threads for them, if these are visible. Otherwise it is
// all time in software interrupts. Some of that is also part of the processes' time; the result is then too small,
// never too large.
func Others(before, after State, cpus, all []int, own []Own) (time.Duration, bool) {
	window := after.At.Sub(before.At)
	var rest time.Duration
	for _, c := range cpus {
		then, ok := before.CPUs[c]
		now, still := after.CPUs[c]
		if !ok || !still {
			return 0, false
		}
		busy := window - (now.Idle - then.Idle) - (now.Stolen - then.Stolen)
		if before.Ran != nil && after.Ran != nil {
			busy = min(busy, after.Ran[c]-before.Ran[c])
		}
		rest += busy
		if before.Softirqd != nil && after.Softirqd != nil {
			rest -= after.Softirqd[c] - before.Softirqd[c]
		} else {
			rest -= now.Softirq - then.Softirq
		}
	}
	outside := func(c int) bool { return !slices.Contains(cpus, c) }
	for _, o := range own {
		if len(o.CPUs) == 0 && len(cpus) < len(all) || slices.ContainsFunc(o.CPUs, outside) {
			continue // it may have run elsewhere
		}
		rest -= o.Ran
	}
	return max(0, rest), true
}

// Place resolves a placement to some of the CPUs, in ascending order: shared is the highest-numbered one for both
// sides, split the highest for the client and the next one for the server, free any (nil).
func Place(cpus []int, p experiment.Placement) (client, server []int, err error) {
	highest := len(cpus) - 1
	switch p.Kind {
	case experiment.PlacementShared:
		return cpus[highest:], cpus[highest:], nil
	case experiment.PlacementSplit:
		if highest == 0 {
			return nil, nil, fmt.Errorf("placement split needs two CPUs, and only CPU %d is allowed", cpus[0])
		}
		return cpus[highest:], cpus[highest-1 : highest], nil
	case experiment.PlacementFree:
		return nil, nil, nil
	case experiment.PlacementExplicit:
		for _, c := range slices.Concat(p.Client, p.Server) {
			if !slices.Contains(cpus, c) {
				return nil, nil, fmt.Errorf("placement names CPU %d; allowed are %v", c, cpus)
			}
		}
		return p.Client, p.Server, nil
	}
	return nil, nil, fmt.Errorf("unknown placement %q", p.Kind)
}
