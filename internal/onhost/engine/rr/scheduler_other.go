//go:build portable || race || !linux

package rr

// Here a hot loop runs under the scheduler, because it uses more of the runtime (scheduler_linux.go).

//go:nosplit
func leaveScheduler() {}

//go:nosplit
func rejoinScheduler() {}
