//go:build !portable && !race

package rr

import (
	_ "unsafe" // for go:linkname
)

// While any goroutine runs, a thread of Go's runtime wakes up 100 times a second to check whether a goroutine has run
// too long. On the CPU of a hot loop these are 100 interruptions a second for the client, and as many for the server.
// With a round trip of 20 us, one transaction in 250 is interrupted, which determines the p99.
//
// A goroutine in a system call does not count as running. So a hot loop tells the scheduler that it makes a long
// system call, and then makes many of its own. If nothing else runs, the checking thread sleeps.
//
// Between the two calls, which must be in one function, the goroutine must not use the runtime: called functions must
// not check their stack (all are go:nosplit), store a pointer to the heap, or allocate (scheduler_linux_test.go
// checks the machine code). The collector may run meanwhile. It sees the function's variables as they were at
// leaveScheduler, so the things they point to must not be replaced. The race detector's calls need the runtime, so
// this file is not built for it.

// leaveScheduler says that the goroutine enters a system call.
//
//go:linkname leaveScheduler runtime.entersyscallblock
func leaveScheduler()

// rejoinScheduler says that the system call has returned, and waits until the scheduler lets the goroutine continue.
//
//go:linkname rejoinScheduler runtime.exitsyscall
func rejoinScheduler()
