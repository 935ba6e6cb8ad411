package serve

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"nearfar/internal/declare/rundir"
)

// The bounds of a folder. The list says which runs were left out because of them.
const (
	maxDepth   = 5      // levels of folders below the one that is served
	maxEntries = 50_000 // entries of all folders together
	maxRuns    = 5000
)

const (
	manifestName = "run.json"
	trialsName   = "trials.jsonl"
)

// place is where a run directory is, and the stamp of its files when the folder was read.
type place struct {
	// id names the run in addresses, so that no path is ever taken from an address.
	id string
	// path is relative to the folder, with slashes; "." is the folder itself.
	path  string
	stamp stamp
	// broken says why the run cannot be read; nil if no reason is known.
	broken error
}

// stamp changes when a run's files do.
type stamp struct {
	manifestSize, trialsSize int64
	manifest, trials         time.Time
}

// changed returns when one of the files was last written.
func (s stamp) changed() time.Time {
	if s.trials.After(s.manifest) {
		return s.trials
	}
	return s.manifest
}

// scan finds the run directories in and below the folder. It follows no symbolic links and does not look inside a run
// directory. cut says which were left out, or "".
func scan(root *os.Root) (places []place, cut string, err error) {
	entries := 0
	var visit func(dir string, depth int) error
	visit = func(dir string, depth int) error {
		names, more, err := list(root, dir, maxEntries-entries)
		if err != nil {
			if dir == "." {
				return err
			}
			return nil // it was removed meanwhile, or may not be read
		}
		entries += len(names)
		if more {
			cut = fmt.Sprintf("only the first %d files and folders were looked at", maxEntries)
		}
		isRun := func(e fs.DirEntry) bool { return e.Name() == manifestName || e.Name() == trialsName }
		if slices.ContainsFunc(names, isRun) {
			if len(places) >= maxRuns {
				cut = fmt.Sprintf("only %d runs are listed", maxRuns)
				return nil
			}
			places = append(places, look(root, dir))
			return nil
		}
		for _, e := range names {
			if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			if depth == maxDepth {
				cut = cmp.Or(cut, fmt.Sprintf("folders more than %d levels down were not looked at", maxDepth))
				break
			}
			if err := visit(path.Join(dir, e.Name()), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	err = visit(".", 0)
	return places, cut, err
}

// list returns at most most entries of a folder, sorted by name, and whether there are more.
func list(root *os.Root, dir string, most int) (entries []fs.DirEntry, more bool, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	entries, err = f.ReadDir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if len(entries) > most {
		entries, more = entries[:most], true
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}

// look reads the stamp of a run directory.
func look(root *os.Root, dir string) place {
	sum := sha256.Sum256([]byte(dir))
	p := place{id: hex.EncodeToString(sum[:8]), path: dir}
	manifest, err := regular(root, path.Join(dir, manifestName), rundir.MaxManifest)
	if err != nil {
		p.broken = err
		return p
	}
	p.stamp.manifestSize, p.stamp.manifest = manifest.Size(), manifest.ModTime()
	trials, err := regular(root, path.Join(dir, trialsName), rundir.MaxTrials)
	switch {
	case errors.Is(err, fs.ErrNotExist): // nothing has been measured yet
	case err != nil:
		p.broken = err
	default:
		p.stamp.trialsSize, p.stamp.trials = trials.Size(), trials.ModTime()
	}
	return p
}

// regular returns an error unless name is a regular file of at most most bytes: a link may lead anywhere, and a pipe
// may never end.
func regular(root *os.Root, name string, most int64) (fs.FileInfo, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no %s: %w", path.Base(name), fs.ErrNotExist)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path.Base(name))
	case info.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", path.Base(name), info.Size(), most)
	}
	return info, nil
}

// safe returns an error if reading the run directory could read something outside the folder: the directories on its
// path must be directories, and it may only contain directories and regular files.
func safe(root *os.Root, dir string) error {
	for parent := dir; parent != "."; parent = path.Dir(parent) {
		info, err := root.Lstat(parent)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", parent)
		}
	}
	entries := 0
	var visit func(inside string, depth int) error
	visit = func(inside string, depth int) error {
		names, more, err := list(root, inside, maxEntries-entries)
		if err != nil {
			return err
		}
		entries += len(names)
		if more || depth > maxDepth {
			return fmt.Errorf("it holds more than %d files, or folders more than %d levels deep", maxEntries, maxDepth)
		}
		for _, e := range names {
			name := path.Join(inside, e.Name())
			if e.IsDir() {
				err = visit(name, depth+1)
			} else if !e.Type().IsRegular() {
				err = fmt.Errorf("%s is not a regular file: "+
					"a run directory with a link, a pipe or a device is not opened", strings.TrimPrefix(name, dir+"/"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return visit(dir, 0)
}
