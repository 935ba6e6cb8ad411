//go:build !portable && !race

package rr

import (
	_ "unsafe"
)

// for go:linkname

// Go's scheduler watches: while any goroutine runs, a thread of the runtime wakes up 100 times a second to see whether it has run
// too long. On the CPU of a hot loop that is 100 interruptions a second of the client, and as many of the server; where a round
// trip takes 20 us, one in 250 waits for one, and they decide its p99.
//
// A goroutine in a system call does not count as running. So a hot loop tells the scheduler that it makes a system call that
// takes long, and then makes its own, many of them. When nothing else runs, the thread that watches sleeps.
//
// Between the two calls, which must be in one function, the goroutine has none of the runtime: nothing that is called may check
// its stack (all of it is go:nosplit), store a pointer to the heap, or allocate (scheduler_linux_test.go reads the machine code).
// The collector may run meanwhile; it sees the function's variables as they were at leaveScheduler, so what they point to must
// not be replaced. The engine cannot be built so for the race detector, whose calls need the runtime.

// leaveScheduler says that the goroutine enters a system call.
//
//go:linkname leaveScheduler runtime.entersyscallblock
func leaveScheduler()

// rejoinScheduler says that the system call has returned, and waits for the scheduler's permission to go on.
//
//go:linkname rejoinScheduler runtime.exitsyscall
func rejoinScheduler()
