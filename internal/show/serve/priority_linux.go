package serve

import (
	"time"

	"golang.org/x/sys/unix"
)

// lowest is the nice value of the lowest priority.
const lowest = 19

// lowerPriority gives the calling thread the lowest priority. On Linux each thread has its own nice value. If the
// kernel refuses, the pages may disturb the measurement more; the figures stay valid.
func lowerPriority() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest) }

// threadTime returns the CPU time that the calling thread has used, or 0 if the kernel does not say.
func threadTime() time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		return 0
	}
	return time.Duration(used.Nano())
}
