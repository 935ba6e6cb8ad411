//go:build !linux && !windows

package agent

// readSystem knows nothing more of other systems than Linux and Windows.
func (f *Facts) readSystem(string) {}
