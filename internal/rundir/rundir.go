// Package rundir keeps a run on disk, so that a run killed at any instant loses at most the trial in flight.
//
//	runs/20261121T192200Z-overlay/
//	  run.json        the experiment as resolved, seed, versions, facts of the hosts, state
//	  trials.jsonl    a line for each finished trial, synced as it is written; never rewritten
//	  raw/            what each tool printed, and the engine's histograms
package rundir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

// The states of a run.
const (
	// Running is also what a run that was killed says: nobody was left to write more.
	Running     = "running"
	Complete    = "complete"
	Interrupted = "interrupted"
)

// Manifest is run.json.
type Manifest struct {
	// Nearfar is the version of the format: "v1".
	Nearfar    string                 `json:"nearfar"`
	Experiment *experiment.Experiment `json:"experiment"`
	// Seed is the one that the order was drawn from, also where the experiment left it open.
	Seed uint64 `json:"seed"`
	// Versions are those of nearfar and of the tools, by name.
	Versions map[string]string `json:"versions"`
	// Skipped are optional workloads that could not run, with the reason.
	Skipped map[string]string `json:"skipped,omitempty"`
	// Hosts are the facts of the hosts and of the lab, as whoever made them tells.
	Hosts json.RawMessage `json:"hosts,omitempty"`
	// Machine is the name of the machine that measured; empty where nobody wrote it down.
	Machine string    `json:"machine,omitempty"`
	State   string    `json:"state"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Dir is a run directory.
type Dir struct {
	// Path is where it is.
	Path     string
	manifest Manifest
	trials   *os.File // open for appending, and locked, while a run goes on; nil for reading
}

const (
	manifestName = "run.json"
	trialsName   = "trials.jsonl"
	rawName      = "raw"
	// maxLine bounds a line of trials.jsonl.
	maxLine = 16 << 20
	// maxSame bounds how many runs of one name can start within a second.
	maxSame = 1000
)

// stem is the path of a run, but for what tells it from others of the same second.
func stem(parent string, m Manifest) string {
	return filepath.Join(parent, m.Started.UTC().Format("20060102T150405Z")+"-"+m.Experiment.Name)
}

// Create makes a new run directory below parent, named after the start and the experiment. It never reuses one: a
// second run within the same second gets a suffix.
func Create(parent string, m Manifest) (*Dir, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	stem := stem(parent, m)
	path := stem
	for n := 2; ; n++ {
		err := os.Mkdir(path, 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) || n > maxSame {
			return nil, err
		}
		path = fmt.Sprintf("%s-%d", stem, n)
	}
	if err := os.Mkdir(filepath.Join(path, rawName), 0o755); err != nil {
		return nil, err
	}
	d := &Dir{Path: path, manifest: m}
	if err := d.writeManifest(); err != nil {
		return nil, err
	}
	if err := d.openTrials(); err != nil {
		return nil, err
	}
	return d, nil
}

// Open opens a run directory for reading. A run that goes on, or that was killed, can be read.
func Open(path string) (*Dir, error) {
	name := filepath.Join(path, manifestName)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s is no run directory: %w", path, err)
	}
	d := &Dir{Path: path}
	if err := json.Unmarshal(data, &d.manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if d.manifest.Nearfar != "v1" {
		return nil, fmt.Errorf("%s: version %q, and this program reads v1", name, d.manifest.Nearfar)
	}
	if d.manifest.Experiment == nil {
		return nil, fmt.Errorf("%s: holds no experiment", name)
	}
	return d, nil
}

// Resume opens a run directory to go on with it. A last line that a crash left torn is cut off: its trial runs again.
func Resume(path string) (*Dir, error) {
	d, err := Open(path)
	if err != nil {
		return nil, err
	}
	if err := d.openTrials(); err != nil {
		return nil, err
	}
	if err := d.cutTornLine(); err != nil {
		return nil, errors.Join(err, d.trials.Close())
	}
	return d, nil
}

func (d *Dir) openTrials() error {
	f, err := os.OpenFile(filepath.Join(d.Path, trialsName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if err := lock(f); err != nil {
		return errors.Join(fmt.Errorf("%s: another nearfar is writing this run", d.Path), f.Close())
	}
	d.trials = f
	return syncDir(d.Path)
}

func (d *Dir) cutTornLine() error {
	data, err := io.ReadAll(d.trials)
	if err != nil {
		return err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if end == len(data) {
		return nil
	}
	return d.trials.Truncate(int64(end))
}

// Manifest gives the content of run.json.
func (d *Dir) Manifest() Manifest { return d.manifest }

// Update rewrites run.json, whole or not at all.
func (d *Dir) Update(change func(*Manifest)) error {
	change(&d.manifest)
	return d.writeManifest()
}

func (d *Dir) writeManifest() error {
	data, err := json.MarshalIndent(d.manifest, "", "  ")
	if err != nil {
		return err
	}
	return d.replace(manifestName, append(data, '\n'))
}

// Append adds a finished trial and returns when it is on the disk.
func (d *Dir) Append(t result.Trial) error {
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if _, err := d.trials.Write(append(line, '\n')); err != nil {
		return err
	}
	return d.trials.Sync()
}

// WriteRaw keeps what a trial printed, and returns its name relative to the run directory.
func (d *Dir) WriteRaw(name string, data []byte) (string, error) {
	rel := filepath.ToSlash(filepath.Join(rawName, name))
	return rel, d.replace(rel, data)
}

// replace writes a file beside its place, syncs it and renames it, so that no reader sees half of it. The name of the
// new file is fixed, so that a crash leaves at most one, which the next write takes.
func (d *Dir) replace(name string, data []byte) error {
	path := filepath.Join(d.Path, filepath.FromSlash(name))
	next := filepath.Join(d.Path, ".next")
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Trials reads all finished trials, as Each does.
func (d *Dir) Trials() (trials []result.Trial, err error) {
	err = d.Each(func(t result.Trial) error {
		trials = append(trials, t)
		return nil
	})
	return trials, err
}

// Each reads the finished trials one after the other, in the order in which they ended, and stops at the first error of
// visit. A torn last line (a run that goes on, or was killed) is passed over; a broken line anywhere else is an error with
// its place.
func (d *Dir) Each(visit func(result.Trial) error) (err error) {
	name := filepath.Join(d.Path, trialsName)
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := bufio.NewReaderSize(io.LimitReader(f, 1<<32), 1<<16)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(line) > maxLine {
			return fmt.Errorf("%s:%d: a line of %d bytes; at most %d are read", name, n, len(line), maxLine)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var t result.Trial
		if err := json.Unmarshal(line, &t); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if err := visit(t); err != nil {
			return err
		}
	}
}

// Close gives the run up for others to resume.
func (d *Dir) Close() error {
	if d.trials == nil {
		return nil
	}
	f := d.trials
	d.trials = nil
	return f.Close()
}
