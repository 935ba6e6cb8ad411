//go:build unix

package rundir

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// dontWait has an open return at once, whatever is opened.
const dontWait = unix.O_NONBLOCK | unix.O_NOFOLLOW

// lock takes the file for this process; the kernel gives it back when the process ends, however it ends.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// lockDir takes a directory for this process, as long as what it returns is open. If another process has it, lockDir
// waits for it, or returns an error.
func lockDir(root *os.Root, wait bool) (io.Closer, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(f.Fd()), how)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// syncDir makes the names in a directory below root durable.
func syncDir(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
