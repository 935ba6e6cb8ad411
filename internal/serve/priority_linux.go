package serve

import "golang.org/x/sys/unix"

// lowest is the nice value of the lowest priority.
const lowest = 19

// lowerPriority gives the calling thread the lowest priority. On Linux each thread has its own nice value. If the
// kernel refuses, the pages may disturb the measurement more; the figures stay valid.
func lowerPriority() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest) }
