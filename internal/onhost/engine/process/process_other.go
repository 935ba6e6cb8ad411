//go:build !linux || portable

package process

import (
	"time"
)

// Machine is not known.
func Machine() string { return "" }

func cpuTime() (time.Duration, bool) { return 0, false }

// CPUs is not known here.
func CPUs() string { return "" }

// ownFiles helps on Linux only.
func ownFiles() bool { return false }

// onMainThread matters only where threads have their own tables of files.
func onMainThread() bool { return false }

// Reexec does nothing: a process cannot be replaced here.
func Reexec() error { return nil }
