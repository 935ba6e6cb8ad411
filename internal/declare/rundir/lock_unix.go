//go:build unix

package rundir

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// dontWait keeps an open from blocking, and from following a link.
const dontWait = unix.O_NONBLOCK | unix.O_NOFOLLOW

// lockDir locks a directory for this process until the returned closer is closed. If another process has the lock,
// lockDir waits for it, or fails at once.
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

// syncDir writes the entries of a directory below root to the disk.
func syncDir(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
