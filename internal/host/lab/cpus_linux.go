package lab

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"nearfar/internal/experiment"
)

// maxCPU bounds CPU numbers by what an affinity mask can hold.
const maxCPU = 1024

// allowedCPUs are the CPUs that this process may run on, in ascending order.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, errorf("sched_getaffinity: %w", err)
	}
	var cpus []int
	for c := range maxCPU {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	if len(cpus) == 0 {
		return nil, errorf("sched_getaffinity: no CPU is allowed")
	}
	return cpus, nil
}

// setAffinity binds the calling thread, and what it starts, to the CPUs.
func setAffinity(cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("sched_setaffinity to CPUs %v: %w", cpus, err)
	}
	return nil
}

// CPUs resolves a placement to CPU numbers of this machine: shared is the highest-numbered allowed CPU for both, split
// the highest and the next one, free any (nil). The lab's own work and its user-space wires run on the lowest.
func (l *Lab) CPUs(p experiment.Placement) (client, server []int, err error) {
	return placeOn(l.Facts().CPUs, p)
}

func placeOn(cpus []int, p experiment.Placement) (client, server []int, err error) {
	highest := len(cpus) - 1
	switch p.Kind {
	case experiment.PlacementShared:
		return cpus[highest:], cpus[highest:], nil
	case experiment.PlacementSplit:
		if highest == 0 {
			return nil, nil, errorf("placement split needs two CPUs, and only CPU %d is allowed", cpus[0])
		}
		return cpus[highest:], cpus[highest-1 : highest], nil
	case experiment.PlacementFree:
		return nil, nil, nil
	case experiment.PlacementExplicit:
		for _, c := range slices.Concat(p.Client, p.Server) {
			if !slices.Contains(cpus, c) {
				return nil, nil, errorf("placement names CPU %d; allowed are %v", c, cpus)
			}
		}
		return p.Client, p.Server, nil
	}
	return nil, nil, errorf("unknown placement %q", p.Kind)
}
