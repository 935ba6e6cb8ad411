//go:build !linux

package machine

import (
	"context"
	"errors"
	"time"
)

// Pin fails: Windows binds a process before it runs, not a thread; of other systems it is not known.
func Pin([]int) error { return errors.New("a thread cannot be bound to CPUs on this system") }

// Stolen is not known: Windows does not say what its hypervisor took.
func Stolen([]int) (time.Duration, bool) { return 0, false }

// CoreToCore is not known.
func CoreToCore(client, server []int) (time.Duration, bool) { return 0, false }

// ReadLoad does not know.
func ReadLoad(context.Context) (Load, bool) { return Load{}, false }

// A Reader reads the state of this machine.
type Reader struct{}

// NewReader makes a reader.
func NewReader() *Reader { return &Reader{} }
