//go:build !linux && !windows

package check

import "runtime"

func readFirmware() Firmware { return Firmware{} }

// ReadMachine knows only the number of CPUs on systems other than Linux and Windows.
func ReadMachine() Machine {
	var m Machine
	for c := range runtime.NumCPU() {
		m.CPUs = append(m.CPUs, CPU{Number: c, Core: -1, Package: -1, Node: -1})
	}
	return m
}
