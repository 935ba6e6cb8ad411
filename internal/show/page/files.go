package page

import (
	"errors"
	"io"
	"math"
	"os"
	"strings"

	"nearfar/internal/declare/rundir"
)

// files reads files of a run directory. It reads nothing outside of the directory: the names come from trials.jsonl,
// which may be from an untrusted source.
type files struct{ root *os.Root }

// open opens a regular file and gives its size in bytes.
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

// read gives the beginning of a file, up to most bytes, and the size of the whole file.
func (f *files) read(name string, most int64) ([]byte, int64, error) {
	file, size, err := f.open(name)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, most))
	return data, max(size, int64(len(data))), err
}

// ends gives the first bytes and the last bytes of a file, and its size. They never overlap: in a short file, the tail
// has only what the head does not.
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

// valid makes valid UTF-8 from bytes, as JSON needs it.
func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
