package recordings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nearfar/internal/base/clean"
)

// expand replaces each directory with its files: all regular files that are not hidden, sorted by name.
func expand(named []Recording) ([]Recording, []error) {
	var all []Recording
	var failed []error
	for _, r := range named {
		info, err := os.Stat(r.File)
		if r.File == "-" || err != nil || !info.IsDir() {
			all = append(all, r) // reading a missing file fails later
			continue
		}
		files, err := plainFiles(r.File)
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("%s: the directory contains no files", clean.Line(r.File))
		}
		if err != nil {
			failed = append(failed, err)
		}
		for _, file := range files {
			all = append(all, Recording{r.Arm, file})
		}
	}
	return all, failed
}

func plainFiles(directory string) ([]string, error) {
	entries, err := os.ReadDir(directory) // sorted by name
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		path := filepath.Join(directory, entry.Name())
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or a dangling link
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
			files = append(files, path)
		}
	}
	slices.SortStableFunc(files, compareNumbered)
	return files, nil
}

// compareNumbered orders names with numbers in numeric order: run-9 before run-10.
func compareNumbered(a, b string) int {
	for a != "" && b != "" {
		x, y := leadingDigits(a), leadingDigits(b)
		if x != "" && y != "" {
			v, w := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if c := cmp.Or(cmp.Compare(len(v), len(w)), cmp.Compare(v, w)); c != 0 {
				return c
			}
			a, b = a[len(x):], b[len(y):]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingDigits(s string) string { return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))] }
