//go:build !linux && !windows

package machine

import (
	"errors"
	"runtime"
	"time"
)

// CPUs are the CPUs of the machine, numbered from 0.
func CPUs() ([]int, error) {
	cpus := make([]int, runtime.NumCPU())
	for c := range cpus {
		cpus[c] = c
	}
	return cpus, nil
}

// Read does not know the state of this machine.
func (*Reader) Read(cpus, all []int) State {
	return State{At: time.Now(), Err: errors.New("the state of the CPUs is not known on this system")}
}
