//go:build !portable

package timing

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SleepUntil sleeps until Now reaches the given time. A signal can end it earlier.
//
//go:nosplit
func SleepUntil(at int64) {
	ts := unix.NsecToTimespec(at)
	// Callers look at the clock afterwards.
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// WaitUntil sleeps like SleepUntil, and tells Go's scheduler, so that other goroutines run meanwhile.
func WaitUntil(at int64) {
	ExactTimers()
	ts := unix.NsecToTimespec(at)
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
	}
}

// DefaultSpin is how long before a request is due the sender stops sleeping. It is longer than the kernel takes to
// wake a thread on an idle CPU.
const DefaultSpin = 70 * time.Microsecond

// Pause sleeps for the given time in nanoseconds, or until a signal comes.
//
//go:nosplit
func Pause(ns int64) {
	limit := unix.Timespec{Sec: ns / 1e9, Nsec: ns % 1e9}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&limit)),
		0, 0, 0)
}

// ExactTimers makes the calling thread's timers exact. The kernel may delay them by 50 us otherwise.
func ExactTimers() bool { return unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) == nil }
