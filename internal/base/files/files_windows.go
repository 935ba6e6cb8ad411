package files

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// dontWait is nothing here: a folder holds no pipes.
const dontWait = 0

func lock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// syncFolder does nothing: Windows has no call for it.
func syncFolder(string) error { return nil }
