//go:build !linux

package serve

// lowerPriority does nothing: elsewhere a thread's priority is not a thread's own, or not ours to set.
func lowerPriority() {}
