package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"nearfar/internal/result"
)

// RawFile is something that a tool printed, under its name in the run directory: "raw/0001-near.txt".
type RawFile struct {
	Name string
	Data []byte
}

// RawName gives the name of a raw output relative to the run directory.
func RawName(base string) string { return rawName + "/" + base }

// CreateWhole makes a run directory of a run that is over, below parent, and returns its path. It is made under a hidden
// name, synced, and renamed: it appears whole, or not at all.
func CreateWhole(parent string, m Manifest, trials []result.Trial, raw []RawFile) (path string, err error) {
	var lines bytes.Buffer
	for _, t := range trials {
		line, err := json.Marshal(t)
		if err != nil {
			return "", err
		}
		if len(line) >= maxLine {
			return "", fmt.Errorf("the record of trial %d has %d bytes; at most %d can be read again", t.Trial, len(line), maxLine)
		}
		lines.Write(line)
		lines.WriteByte('\n')
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	hidden, err := os.MkdirTemp(parent, ".new-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(hidden))
		}
	}()
	if err := os.Chmod(hidden, 0o755); err != nil {
		return "", err
	}
	d := &Dir{Path: hidden, manifest: m}
	if err := os.Mkdir(filepath.Join(hidden, rawName), 0o755); err != nil {
		return "", err
	}
	for _, f := range raw {
		if err := d.replace(f.Name, f.Data); err != nil {
			return "", err
		}
	}
	if err := d.replace(trialsName, lines.Bytes()); err != nil {
		return "", err
	}
	// The manifest comes last: what a crash leaves under the hidden name is no run directory.
	if err := d.writeManifest(); err != nil {
		return "", err
	}
	return publish(hidden, stem(parent, m))
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
		if err := os.Rename(hidden, path); err != nil {
			return "", err
		}
		return path, syncDir(filepath.Dir(path))
	}
}
