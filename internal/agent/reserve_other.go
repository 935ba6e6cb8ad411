//go:build !linux

package agent

// reservations do not exist on this system.
type reservations struct{}

func (*reservations) reserve(string, []int) error { return nil }

func (*reservations) close() {}
