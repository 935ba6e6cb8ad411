//go:build !linux

package serve

// lowerPriority does nothing: other systems have no priority for each thread, or no portable way to set it.
func lowerPriority() {}
