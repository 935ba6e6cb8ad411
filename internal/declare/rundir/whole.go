package rundir

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nearfar/internal/declare/result"
)

// RawFile is an output of a tool, with its name in the run directory, such as "raw/0001-near.txt". Read gives the
// content, so that not all of them are in memory at once.
type RawFile struct {
	Name string
	Read func() ([]byte, error)
}

// RawOf is a file whose content is in memory.
func RawOf(name string, data []byte) RawFile {
	return RawFile{name, func() ([]byte, error) { return data, nil }}
}

// RawName returns the name of a raw output relative to the run directory.
func RawName(base string) string { return rawName + "/" + base }

// hiddenPrefix is the prefix of the temporary names under which run directories are made.
const hiddenPrefix = ".new-"

// CreateWhole makes the run directory of a finished run below parent, and returns its path. It writes the directory
// under a hidden name, syncs it and renames it: it appears complete, or not at all, also if ctx ends. It removes
// directories with such a name that killed processes left.
func CreateWhole(
	ctx context.Context, parent string, m Manifest, trials []result.Trial, raw []RawFile,
) (path string, err error) {
	if len(trials) > maxLines {
		return "", fmt.Errorf("%d trials; at most %d are read", len(trials), maxLines)
	}
	var lines bytes.Buffer
	for _, t := range trials {
		line, err := lineOf(t)
		if err != nil {
			return "", err
		}
		if lines.Write(line); lines.Len() > MaxTrials {
			return "", fmt.Errorf("the records of the trials have more than %d bytes, which is the most that is read",
				MaxTrials)
		}
	}
	return makeWhole(parent, m, func(d *Dir) error {
		for _, f := range raw {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			data, err := f.Read()
			if err == nil {
				err = d.replace(f.Name, data)
			}
			if err != nil {
				return err
			}
		}
		return d.replace(trialsName, lines.Bytes())
	})
}

// makeWhole makes a run directory under a hidden name, calls fill to write all files but the manifest, writes the
// manifest, and renames the directory. After an error nothing is left.
func makeWhole(parent string, m Manifest, fill func(d *Dir) error) (path string, err error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	removeAbandoned(parent)
	hidden := filepath.Join(parent, hiddenPrefix+rand.Text())
	if err := os.Mkdir(hidden, 0o755); err != nil {
		return "", err
	}
	d := &Dir{Path: hidden, manifest: m}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close(), os.RemoveAll(hidden))
		}
	}()
	held, err := hold(hidden, true) // a removeAbandoned of another process may have the lock for a moment
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return "", err
	}
	if held != nil {
		defer func() { err = errors.Join(err, held.Close()) }()
	}
	if err := d.openForWriting(); err != nil {
		return "", err
	}
	if err := fill(d); err != nil {
		return "", err
	}
	// The manifest comes last, so that a directory left by a crash is not a run directory.
	if err := d.writeManifest(); err != nil {
		return "", err
	}
	if err := d.Close(); err != nil {
		return "", err
	}
	return publish(hidden, stem(parent, m))
}

// removeAbandoned removes the hidden directories that killed processes left. A process locks the directory that it is
// making until it ends, however it ends. On systems without such locks nothing is removed. Errors are ignored, because
// a directory that stays disturbs nothing.
func removeAbandoned(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), hiddenPrefix) {
			continue
		}
		path := filepath.Join(parent, entry.Name())
		held, err := hold(path, false)
		if err != nil {
			continue
		}
		// A new, empty directory stays, because the process that made it may not have locked it yet.
		inside, err := os.ReadDir(path)
		info, statErr := entry.Info()
		if err == nil && statErr == nil && (len(inside) > 0 || time.Since(info.ModTime()) > aboutToLock) {
			_ = os.RemoveAll(path)
		}
		_ = held.Close()
	}
}

// aboutToLock is the longest time assumed between the creation of a directory and its locking.
const aboutToLock = time.Minute

// hold locks a directory for this process, until the returned closer is closed or the process ends. If another process
// has the lock, hold waits for it, or fails at once.
func hold(path string, wait bool) (io.Closer, error) {
	root, err := openRoot(path)
	if err != nil {
		return nil, err
	}
	held, err := lockDir(root, wait)
	return held, errors.Join(err, root.Close())
}

// publish renames a directory to the first free name that begins with stem.
func publish(hidden, stem string) (string, error) {
	path := stem
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); err == nil {
			if n > maxSame {
				return "", fmt.Errorf("%s: %w", path, os.ErrExist)
			}
			path = fmt.Sprintf("%s-%d", stem, n)
			continue
		}
		err := os.Rename(hidden, path)
		if errors.Is(err, os.ErrExist) {
			continue // another process has just taken the name
		}
		if err != nil {
			return "", err
		}
		return path, syncParent(path)
	}
}

// syncParent writes the directory entry of a path to the disk.
func syncParent(path string) error {
	root, err := openRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(syncDir(root, "."), root.Close())
}
