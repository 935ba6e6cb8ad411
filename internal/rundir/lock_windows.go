package rundir

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// dontWait has an open return at once, whatever is opened: no file of a directory makes it wait here.
const dontWait = 0

// lock takes the file for this process; the kernel gives it back when the process ends, however it ends.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}

// lockDir is not possible here: a directory cannot be locked.
func lockDir(*os.Root, bool) (io.Closer, error) { return nil, errors.ErrUnsupported }

// syncDir does nothing: Windows has no such call.
func syncDir(*os.Root, string) error { return nil }
