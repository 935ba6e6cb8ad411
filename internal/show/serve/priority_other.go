//go:build !linux

package serve

import "time"

// lowerPriority does nothing: other systems have no priority for each thread, or no portable way to set it.
func lowerPriority() {}

// threadTime returns the time of day, because other systems have no portable way to ask for a thread's CPU time. Of an
// update it gives the time that it took, which is at least the CPU time that it used.
func threadTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
