//go:build !linux || portable

package timing

import (
	"time"
)

// SleepUntil sleeps until Now reaches the given time.
func SleepUntil(at int64) { time.Sleep(time.Duration(at - Now())) }

// WaitUntil sleeps like SleepUntil.
func WaitUntil(at int64) { SleepUntil(at) }

// DefaultSpin is how long before a request is due the sender stops sleeping. It is longer than a sleep can be late:
// Go's timers on Windows tick every half millisecond.
const DefaultSpin = 2 * time.Millisecond

// Pause sleeps for the given time in nanoseconds.
func Pause(ns int64) { time.Sleep(time.Duration(ns)) }

// ExactTimers does nothing: this is possible on Linux only.
func ExactTimers() bool { return false }
