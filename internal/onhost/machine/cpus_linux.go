package machine

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// CPUs are the CPUs that this process may run on, in ascending order.
func CPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var cpus []int
	for c := range MaxCPU {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	if len(cpus) == 0 {
		return nil, errors.New("sched_getaffinity: no CPU is allowed")
	}
	return cpus, nil
}

// Pin binds the calling thread, and what it starts, to the CPUs.
func Pin(cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("sched_setaffinity to CPUs %v: %w", cpus, err)
	}
	return nil
}
