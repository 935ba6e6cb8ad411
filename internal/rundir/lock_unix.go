//go:build unix

package rundir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the file for this process; the kernel gives it back when the process ends, however it ends.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
