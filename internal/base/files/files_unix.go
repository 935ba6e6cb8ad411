//go:build unix

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// dontWait makes the opening of a pipe return at once.
const dontWait = unix.O_NONBLOCK

func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// syncFolder writes the entries of a folder to the disk.
func syncFolder(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
