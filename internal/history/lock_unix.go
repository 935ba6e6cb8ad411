//go:build unix

package history

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks the file for this process. The kernel releases the lock when the process ends, also when it is killed.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
