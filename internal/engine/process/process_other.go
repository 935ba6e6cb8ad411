//go:build !linux || portable

package process

import (
	"time"
)

// Machine is not known.
func Machine() string { return "" }

func cpuTime() (time.Duration, bool) { return 0, false }

func CPUs() string { return "" }

// ownFiles is known to help on Linux only.
func ownFiles() bool { return false }

// onMainThread matters only where threads have files of their own.
func onMainThread() bool { return false }

// Reexec does nothing: there is no replacing of a process here.
func Reexec() error { return nil }
