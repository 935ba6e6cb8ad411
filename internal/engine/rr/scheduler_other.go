//go:build portable || race || !linux

package rr

// Elsewhere a hot loop runs under the scheduler, for it uses more of the runtime (scheduler_linux.go).

//go:nosplit
func leaveScheduler() {}

//go:nosplit
func rejoinScheduler() {}
