//go:build !linux && !windows

package agent

import (
	"runtime"
)

// readSystem knows little of other systems than Linux.
func (f *Facts) readSystem(string) {
	for c := range runtime.NumCPU() {
		f.CPUs = append(f.CPUs, CPU{Number: c, Core: -1, Package: -1, Node: -1})
		f.Allowed = append(f.Allowed, c)
	}
}
