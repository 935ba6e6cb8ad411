//go:build !linux

package agent

// reservePort reserves nothing on this system: two runs meet when they open the port.
func reservePort(int, func() string) (free func(), err error) { return func() {}, nil }
