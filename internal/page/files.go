package page

import (
	"errors"
	"io"
	"math"
	"os"
	"strings"

	"nearfar/internal/rundir"
)

// files reads the files of a run directory, and nothing outside of it: their names come from trials.jsonl, which may have
// come from anywhere.
type files struct{ root *os.Root }

// open opens a regular file and gives its size.
func (f *files) open(name string) (*os.File, int64, error) {
	file, err := rundir.OpenRegular(f.root, name, math.MaxInt64)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// read gives the beginning of a file, up to most bytes, and its size.
func (f *files) read(name string, most int64) ([]byte, int64, error) {
	file, size, err := f.open(name)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, most))
	return data, max(size, int64(len(data))), err
}

// ends gives the beginning and the end of a file, and its size. What both would hold is in the beginning only.
func (f *files) ends(name string, first, last int64) (head, tail []byte, size int64, err error) {
	file, size, err := f.open(name)
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() { _ = file.Close() }()
	if head, err = io.ReadAll(io.LimitReader(file, first)); err != nil {
		return nil, nil, 0, err
	}
	size = max(size, int64(len(head)))
	if rest := min(last, size-int64(len(head))); rest > 0 {
		tail = make([]byte, rest)
		n, err := file.ReadAt(tail, size-rest)
		if err != nil && n < len(tail) {
			tail = tail[:n]
		}
	}
	return head, tail, size, nil
}

// valid makes bytes into text that JSON can hold.
func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
