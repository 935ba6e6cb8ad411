package cli

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

// recording is a file to read, and the arm that it belongs to.
type recording struct{ arm, file string }

// armFlag is one --arm: NAME for the FILE arguments, or NAME=FILE.
type armFlag struct{ name, path string }

// parseArmFlag reads NAME or NAME=FILE. The path is everything after the first "=".
func parseArmFlag(text string) (armFlag, error) {
	name, path, with := strings.Cut(text, "=")
	switch {
	case with && name == "":
		return armFlag{}, fmt.Errorf("--arm %q names no arm: write --arm NAME=FILE", text)
	case with && path == "":
		return armFlag{}, fmt.Errorf("--arm %q names no file: write --arm NAME=FILE", text)
	}
	return armFlag{name, path}, nil
}

// parseArms reads the --arm flags. Each arm may be named only once, so that a typing mistake does not merge two arms.
func parseArms(texts []string) ([]armFlag, error) {
	var arms []armFlag
	for _, text := range texts {
		arm, err := parseArmFlag(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(arms, func(a armFlag) bool { return a.name == arm.name }) {
			return nil, fmt.Errorf("--arm %q is given twice: put the files of an arm into one directory, "+
				"and write --arm NAME=DIRECTORY", arm.name)
		}
		arms = append(arms, arm)
	}
	return arms, nil
}

// sources lists the files of the FILE arguments and the --arm flags. The FILE arguments belong to the arm without a
// path. Paths may be directories.
func sources(arms []armFlag, files []string) ([]recording, error) {
	var all []recording
	plain := -1
	for i, arm := range arms {
		switch {
		case arm.path != "":
			all = append(all, recording{arm.name, arm.path})
		case plain >= 0:
			return nil, fmt.Errorf("the FILE arguments cannot belong to two arms, %q and %q: write --arm NAME=FILE",
				arms[plain].name, arm.name)
		case len(files) == 0:
			return nil, fmt.Errorf("--arm %q has no file: write --arm NAME=FILE, or name a FILE", arm.name)
		default:
			plain = i
			all = append(all, ofArm(arm.name, files)...)
		}
	}
	if plain < 0 {
		all = append(all, ofArm("", files)...)
	}
	if len(all) == 0 {
		return nil, errors.New("no file is named: write nearfar import FILE..., or --arm NAME=FILE\n" +
			"See 'nearfar import --help'")
	}
	return all, nil
}

func ofArm(arm string, files []string) []recording {
	var all []recording
	for _, file := range files {
		all = append(all, recording{arm, file})
	}
	return all
}

// expand replaces each directory with its files: all regular files that are not hidden, sorted by name.
func expand(named []recording) ([]recording, []error) {
	var all []recording
	var failed []error
	for _, r := range named {
		info, err := os.Stat(r.file)
		if r.file == "-" || err != nil || !info.IsDir() {
			all = append(all, r) // reading a missing file fails later
			continue
		}
		files, err := plainFiles(r.file)
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("%s: the directory contains no files", clean.Line(r.file))
		}
		if err != nil {
			failed = append(failed, err)
		}
		all = append(all, ofArm(r.arm, files)...)
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
