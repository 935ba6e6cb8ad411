// Package files writes files that survive a crash whole, reads files that anybody may have put into a folder, and locks
// files between processes.
package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// OpenRegular opens a file for reading that must be regular and have at most most bytes: a pipe might never deliver
// anything, and a device never end. It never waits.
func OpenRegular(path string, most int64) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", path)
	case info.Size() > most:
		err = fmt.Errorf("%s has %d bytes; at most %d are read", path, info.Size(), most)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadRegular reads a whole file as OpenRegular opens it.
func ReadRegular(path string, most int64) (data []byte, err error) {
	f, err := OpenRegular(path, most)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return data, err
}

// List lists at most most entries of a folder, sorted by name; after an error, those so far. It never waits, as the
// opening of a pipe does.
func List(path string, most int) (entries []os.DirEntry, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	if err != nil {
		return nil, err
	}
	if entries, err = f.ReadDir(most); errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
