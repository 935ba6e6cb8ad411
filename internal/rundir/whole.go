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

	"nearfar/internal/result"
)

// RawFile is something that a tool printed, under its name in the run directory: "raw/0001-near.txt".
type RawFile struct {
	Name string
	Data []byte
}

// RawName gives the name of a raw output relative to the run directory.
func RawName(base string) string { return rawName + "/" + base }

// hiddenPrefix begins the names under which run directories are made.
const hiddenPrefix = ".new-"

// CreateWhole makes a run directory of a run that is over, below parent, and returns its path. It is made under a
// hidden name, synced, and renamed: it appears whole, or not at all, also where ctx ends. What a killed process left
// under such a name is taken away.
func CreateWhole(ctx context.Context, parent string, m Manifest, trials []result.Trial, raw []RawFile) (path string, err error) {
	var lines bytes.Buffer
	for _, t := range trials {
		line, err := lineOf(t)
		if err != nil {
			return "", err
		}
		lines.Write(line)
	}
	return makeWhole(parent, m, func(d *Dir) error {
		for _, f := range raw {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := d.replace(f.Name, f.Data); err != nil {
				return err
			}
		}
		return d.replace(trialsName, lines.Bytes())
	})
}

// makeWhole makes a run directory under a hidden name, lets fill write what it holds beside the manifest, and renames
// it. If anything fails, nothing is left.
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
	held, err := hold(hidden, true) // who looks for abandoned directories has the lock for a moment
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
	// The manifest comes last: what a crash leaves under the hidden name is no run directory.
	if err := d.writeManifest(); err != nil {
		return "", err
	}
	if err := d.Close(); err != nil {
		return "", err
	}
	return publish(hidden, stem(parent, m))
}

// removeAbandoned removes what processes that were killed left of runs that they were making. Each process holds a lock
// on what it makes until it ends, however that happens; where a system has no such locks, nothing is removed. What
// cannot be removed is in nobody's way.
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
		// One that is new and empty is about to be locked.
		inside, err := os.ReadDir(path)
		if info, statErr := entry.Info(); err == nil && statErr == nil && (len(inside) > 0 || time.Since(info.ModTime()) > aboutToLock) {
			_ = os.RemoveAll(path)
		}
		_ = held.Close()
	}
}

// aboutToLock is how long a process may take from making a directory to locking it.
const aboutToLock = time.Minute

// hold locks a directory for this process, until what it returns is closed or the process ends. If another process has
// the lock, hold waits for it, or returns an error.
func hold(path string, wait bool) (io.Closer, error) {
	root, err := openRoot(path)
	if err != nil {
		return nil, err
	}
	held, err := lockDir(root, wait)
	return held, errors.Join(err, root.Close())
}

// publish gives a directory the first free name.
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

// syncParent makes the name of a path durable.
func syncParent(path string) error {
	root, err := openRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(syncDir(root, "."), root.Close())
}
