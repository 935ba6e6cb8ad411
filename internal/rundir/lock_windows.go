package rundir

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// dontWait needs no flags: on Windows, opening a file in a directory does not block.
const dontWait = 0

// lock locks the file for this process. The system releases the lock when the process ends, however it ends.
func lock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}

// lockDir fails: Windows cannot lock a directory.
func lockDir(*os.Root, bool) (io.Closer, error) { return nil, errors.ErrUnsupported }

// syncDir does nothing: Windows has no call for it.
func syncDir(*os.Root, string) error { return nil }
