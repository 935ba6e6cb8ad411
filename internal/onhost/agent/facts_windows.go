package agent

import (
	"golang.org/x/sys/windows"

	"nearfar/internal/declare/check"
)

// readSystem reads what Windows says of the machine.
func (f *Facts) readSystem(folder string) {
	if path, err := windows.UTF16PtrFromString(folder); err == nil {
		var free uint64
		if windows.GetDiskFreeSpaceEx(path, &free, nil, nil) == nil {
			f.Free = int64(free)
		}
	}
	f.CPUs = nil // those of other processor groups are not usable
	for _, c := range f.Allowed {
		f.CPUs = append(f.CPUs, check.CPU{Number: c, Core: -1, Package: -1, Node: -1})
	}
}
