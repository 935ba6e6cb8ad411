package history

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the file for this process; the kernel gives it back when the process ends, however it ends.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}
