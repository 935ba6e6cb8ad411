//go:build !linux

package agent

// readCPUs reads nothing: only Linux is supported.
func (o *observed) readCPUs() error { return nil }
