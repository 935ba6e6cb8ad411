package history

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock locks the file for this process. The kernel releases the lock when the process ends, also when it is killed.
func lock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}
