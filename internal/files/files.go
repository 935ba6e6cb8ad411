// Package files writes files that survive a crash whole, and locks files between processes.
package files

import (
	"errors"
	"os"
	"path/filepath"
)

// ErrLocked says that another process has the lock.
var ErrLocked = errors.New("another process has locked it")

// Lock locks a file for the processes that have it open, without waiting. The system releases the lock when the last of
// them closes it or ends, however it ends. The error is ErrLocked if another process has the lock.
func Lock(f *os.File) error { return lock(f) }

// WriteWhole replaces the content of a file, which only its owner can then read. Afterwards the disk has either the old
// or the new content, also after a crash.
func WriteWhole(path string, data []byte) error {
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncFolder(folder)
}
