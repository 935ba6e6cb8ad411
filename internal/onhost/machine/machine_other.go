//go:build !linux && !windows

package machine

import (
	"context"
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

// Pin fails: it is not known how to bind a thread on this system.
func Pin([]int) error { return errors.New("a thread cannot be bound to CPUs on this system") }

// Stolen is not known.
func Stolen([]int) (time.Duration, bool) { return 0, false }

// CoreToCore is not known.
func CoreToCore(client, server []int) (time.Duration, bool) { return 0, false }

// ReadLoad does not know.
func ReadLoad(context.Context) (Load, bool) { return Load{}, false }

// A Reader reads nothing.
type Reader struct{}

// NewReader makes a reader.
func NewReader() *Reader { return &Reader{} }

// Read does not know the state of this machine.
func (*Reader) Read(cpus, all []int) State {
	return State{At: time.Now(), Err: errors.New("the state of the CPUs is not known on this system")}
}
