package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The bounds of the files of a run directory that are read whole, in bytes.
const (
	MaxManifest = 32 << 20
	MaxTrials   = 512 << 20
)

// OpenRegular opens a file below root for reading. It must be a regular file of at most most bytes: a pipe might never
// deliver anything, a device never end, and a link lead anywhere. This is checked before anything is read.
func OpenRegular(root *os.Root, name string, most int64) (*os.File, error) {
	f, err := openRegular(root, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > most {
		err = fmt.Errorf("%s has %d bytes; at most %d are read", filepath.Base(name), info.Size(), most)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// errReplaced says that another file took a file's place while it was opened.
var errReplaced = errors.New("was replaced while it was opened")

// openAttempts is how often a file is opened that is replaced meanwhile. A run that goes on renames a new run.json into
// place; on a busy machine that comes between two calls of a reader.
const openAttempts = 20

// openRegular opens a regular file below root. With O_CREATE, it creates the file if it does not exist.
func openRegular(root *os.Root, name string, flags int, mode fs.FileMode) (f *os.File, err error) {
	for range openAttempts {
		if f, err = openOnce(root, name, flags, mode); !errors.Is(err, errReplaced) {
			break
		}
	}
	return f, err
}

func openOnce(root *os.Root, name string, flags int, mode fs.FileMode) (*os.File, error) {
	name = filepath.FromSlash(name)
	before, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && flags&os.O_CREATE != 0:
		return root.OpenFile(name, flags|os.O_EXCL, mode)
	case err != nil:
		return nil, err
	case !before.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", filepath.ToSlash(name))
	}
	// It may have been replaced since: opening a pipe would block until its other end is opened.
	f, err := root.OpenFile(name, flags&^os.O_CREATE|dontWait, mode)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s %w", filepath.ToSlash(name), errReplaced)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readRegular reads a whole file below root.
func readRegular(root *os.Root, name string, most int64) (data []byte, err error) {
	f, err := OpenRegular(root, name, most)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most { // the file has grown
		err = fmt.Errorf("%s has more than %d bytes", filepath.Base(name), most)
	}
	return data, err
}

// openRoot opens a directory as a root, which refuses names that lead out of it.
func openRoot(path string) (*os.Root, error) {
	// Opening a pipe would block.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", path)
	}
	return os.OpenRoot(path)
}

// OpenFile opens a regular file of the run directory, of at most most bytes, for reading: an output or a histogram, by
// the name in a trial's record. Neither the name nor the file can be trusted.
func (d *Dir) OpenFile(name string, most int64) (f *os.File, err error) {
	root, err := openRoot(d.Path)
	if err != nil {
		return nil, err
	}
	f, err = OpenRegular(root, name, most)
	return f, errors.Join(err, root.Close())
}

// structure returns an upper bound of the number of values in a JSON text: it counts the commas and the opening
// brackets and braces outside strings. Decoding needs memory for each value; for "{}" up to a hundred times its size.
func structure(text []byte) int {
	n := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ',', '{', '[':
			n++
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}
