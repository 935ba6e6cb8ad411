package serve

import "golang.org/x/sys/unix"

// lowest is the nice value of the lowest priority.
const lowest = 19

// lowerPriority gives the calling thread the lowest priority. On Linux a nice value is a thread's own. A kernel that refuses
// leaves it as it was, which costs the pages' promise and no figure.
func lowerPriority() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest) }
