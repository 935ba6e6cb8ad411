package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxRuns is the largest number of runs in a directory.
const maxRuns = 100_000

// found is a run directory. The stamp changes when its files change; the run is then read again.
type found struct{ name, path, stamp string }

// SingleRunError says that a directory is a run, and not a directory of runs.
type SingleRunError struct{ dir string }

func (e *SingleRunError) Error() string {
	return fmt.Sprintf("%s is a single run: give the directory that holds it, %s", e.dir, filepath.Join(e.dir, ".."))
}

// scan lists the run directories in a directory. It reads none of them.
func scan(dir string) ([]found, error) {
	if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
		return nil, &SingleRunError{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []found
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		manifest, err := stampOf(filepath.Join(path, "run.json"))
		if err == nil && manifest == "" || err != nil && !entry.IsDir() {
			continue // not a run directory
		}
		if err != nil {
			manifest = err.Error() // reading the run will report it
		}
		trials, err := stampOf(filepath.Join(path, "trials.jsonl"))
		if err != nil {
			trials = err.Error() // reading the run will report it
		}
		if len(all) == maxRuns {
			return nil, fmt.Errorf("%s holds more than %d runs: move some of them elsewhere", dir, maxRuns)
		}
		all = append(all, found{entry.Name(), path, manifest + " " + trials})
	}
	return all, nil
}

// stampOf gives the size and the modification time of a file; "" if there is no such file.
func stampOf(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d@%d", info.Size(), info.ModTime().UnixNano()), nil
}
