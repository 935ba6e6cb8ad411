// Package rundir keeps a run on disk, so that a run killed at any instant loses at most the trial in flight.
//
//	runs/20261121T192200Z-overlay/
//	  run.json        the experiment with all defaults filled in, seed, versions, facts of the hosts, state
//	  trials.jsonl    a line for each finished trial, synced as it is written; never rewritten
//	  raw/            the output of each tool, and the engine's histograms
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
	"sync"
	"time"

	"nearfar/internal/base/files"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// The states of a run.
const (
	// Running is also the state of a run that was killed, because it could not write another state.
	Running     = "running"
	Complete    = "complete"
	Interrupted = "interrupted"
)

// Manifest is run.json.
type Manifest struct {
	// Nearfar is the version of the format: "v1".
	Nearfar    string                 `json:"nearfar"`
	Experiment *experiment.Experiment `json:"experiment"`
	// Seed is the seed of the order of trials, also if the experiment file does not set one.
	Seed uint64 `json:"seed"`
	// Versions has the versions of nearfar and of the tools, by name; if hosts have different ones, those of the first
	// arm's client.
	Versions map[string]string `json:"versions"`
	// HostVersions has the versions of the tools on the hosts of each arm that has hosts of its own, by arm.
	HostVersions map[string]result.HostVersions `json:"host_versions,omitempty"`
	// Skipped has the optional workloads that could not run, with the reason.
	Skipped map[string]string `json:"skipped,omitempty"`
	// Hosts are the facts of the hosts and of the lab. Their format is the caller's.
	Hosts json.RawMessage `json:"hosts,omitempty"`
	// HostsLeftOut is why Hosts is missing, if that would have made the file too large to be read again.
	HostsLeftOut string `json:"hosts_left_out,omitempty"`
	// Earlier is what an earlier comparison of an arm with itself said about the hosts when the run started. Its format
	// is the caller's.
	Earlier json.RawMessage `json:"earlier_baseline,omitempty"`
	// Machine is the name of the machine that measured; empty if unknown.
	Machine string    `json:"machine,omitempty"`
	State   string    `json:"state"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Dir is a run directory.
type Dir struct {
	Path string
	// writing is held while a file is replaced or the manifest is changed.
	writing  sync.Mutex
	manifest Manifest
	// root and trials are open for writing, and nil if the directory was opened for reading. trials is locked.
	root   *os.Root
	trials *os.File
}

const (
	manifestName = "run.json"
	trialsName   = "trials.jsonl"
	rawName      = "raw"
	nextName     = ".next"
	// maxSame bounds how many runs of one name can start within a second.
	maxSame = 1000
	// maxManifestValues and maxTrialValues bound how many values run.json and a line of trials.jsonl have. There is
	// room for a hundred arms that each set a hundred workloads, and for a trial with result.MaxEntries entries of each
	// kind.
	maxManifestValues = 300_000
	maxTrialValues    = 200_000
	// maxLines bounds the lines of trials.jsonl. It is greater than the number of trials that a run can have.
	maxLines = experiment.MaxTrials * 5 / 4
)

// stem returns the path of a run without the suffix that distinguishes runs of the same second.
func stem(parent string, m Manifest) string {
	return filepath.Join(parent, Name(m.Started, m.Experiment.Name))
}

// Name is the name of a directory of what was begun at a time for an experiment, to the second.
func Name(started time.Time, experiment string) string {
	return started.UTC().Format("20060102T150405Z") + "-" + experiment
}

// Create makes a new run directory below parent, named after the start and the experiment. It never reuses a directory:
// a second run within the same second gets a suffix. The directory appears together with its run.json, so that a killed
// process leaves either no run directory, or one that can be resumed.
func Create(parent string, m Manifest) (*Dir, error) {
	path, err := makeWhole(parent, m, func(*Dir) error { return nil })
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: path, manifest: m}
	if err := d.openForWriting(); err != nil {
		return nil, err
	}
	if err := d.openTrials(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Is says whether path looks like a run directory: it has a manifest.
func Is(path string) bool {
	_, err := os.Lstat(filepath.Join(path, manifestName))
	return err == nil
}

// Open opens a run directory for reading, also of a run that is being measured or was killed. The directory may come
// from an untrusted source: its content is bounded and checked, and nothing outside it is read.
func Open(path string) (*Dir, error) {
	name := filepath.Join(path, manifestName)
	root, err := openRoot(path)
	if err != nil {
		return nil, fmt.Errorf("%s is not a run directory: %w", path, err)
	}
	data, err := readRegular(root, manifestName, MaxManifest)
	if errors.Is(err, os.ErrNotExist) {
		err = errors.New("it has no " + manifestName)
	}
	if err = errors.Join(err, root.Close()); err != nil {
		return nil, fmt.Errorf("%s is not a run directory: %w", path, err)
	}
	if n := structure(data); n > maxManifestValues {
		return nil, fmt.Errorf("%s has %d values; at most %d are read", name, n, maxManifestValues)
	}
	d := &Dir{Path: path}
	if err := json.Unmarshal(data, &d.manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if d.manifest.Nearfar != "v1" {
		return nil, fmt.Errorf("%s: version %q, and this program reads v1", name, d.manifest.Nearfar)
	}
	if d.manifest.Experiment == nil {
		return nil, fmt.Errorf("%s has no experiment", name)
	}
	if err := d.manifest.Experiment.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// Resume opens a run directory to continue the run. It checks the experiment as strictly as an experiment file, with
// what the tools declare, because the experiment decides which programs run and where files are written. It removes an
// incomplete last line of trials.jsonl, which a crash may leave; that trial runs again.
func Resume(path string, tools experiment.Tools) (*Dir, error) {
	d, err := Open(path)
	if err != nil {
		return nil, err
	}
	if err := d.manifest.Experiment.CheckRunnable(tools); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, manifestName), err)
	}
	if err := d.openForWriting(); err != nil {
		return nil, err
	}
	if err := d.openTrials(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := d.cutTornLine(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// openForWriting opens the directory, and creates its folder of raw outputs if it does not exist.
func (d *Dir) openForWriting() error {
	root, err := openRoot(d.Path)
	if err != nil {
		return err
	}
	info, err := root.Lstat(rawName)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", filepath.Join(d.Path, rawName))
	}
	if errors.Is(err, os.ErrNotExist) {
		err = root.Mkdir(rawName, 0o755)
	}
	if err != nil {
		return errors.Join(err, root.Close())
	}
	d.root = root
	return nil
}

func (d *Dir) openTrials() error {
	f, err := openRegular(d.root, trialsName, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if err := files.Lock(f); err != nil {
		return errors.Join(fmt.Errorf("%s: another nearfar is writing this run", d.Path), f.Close())
	}
	d.trials = f
	return syncDir(d.root, ".")
}

// cutTornLine removes an incomplete last line. It looks for the end of the last complete line in the last
// result.MaxLine bytes, because no longer line is ever written.
func (d *Dir) cutTornLine() error {
	info, err := d.trials.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	from := max(0, size-result.MaxLine)
	tail, err := io.ReadAll(io.NewSectionReader(d.trials, from, size-from))
	if err != nil {
		return err
	}
	end := int64(bytes.LastIndexByte(tail, '\n') + 1)
	switch {
	case end == 0 && from > 0:
		return fmt.Errorf("%s: the last line has more than %d bytes", filepath.Join(d.Path, trialsName), result.MaxLine)
	case from+end == size:
		return nil
	}
	return d.trials.Truncate(from + end)
}

// Manifest returns the content of run.json.
func (d *Dir) Manifest() Manifest {
	d.writing.Lock()
	defer d.writing.Unlock()
	return d.manifest
}

// Update changes the manifest and replaces run.json atomically. After Close it changes nothing and returns ErrClosed.
// Several goroutines may call it.
func (d *Dir) Update(change func(*Manifest)) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	if err := d.checkOpen(); err != nil {
		return err
	}
	change(&d.manifest)
	return d.writeManifest()
}

// writeManifest writes run.json. What would make it too large to be read again is left out, or an error: the facts of
// the hosts come from the hosts, and must not cost the run. It is called with writing held, or before others have the
// directory.
func (d *Dir) writeManifest() error {
	data, err := encodeManifest(d.manifest)
	if errors.Is(err, errTooLarge) && len(d.manifest.Hosts) > 0 {
		d.manifest.Hosts, d.manifest.HostsLeftOut = nil, "the facts of the hosts are left out: with them, "+err.Error()
		data, err = encodeManifest(d.manifest)
	}
	if err != nil {
		return err
	}
	return d.replaceLocked(manifestName, data)
}

// ErrClosed is the error of changes after Close.
var ErrClosed = errors.New("the run directory is closed")

// checkOpen returns ErrClosed, with the path, after Close. It is called with writing held.
func (d *Dir) checkOpen() error {
	if d.root == nil {
		return fmt.Errorf("%s: %w", d.Path, ErrClosed)
	}
	return nil
}

// errTooLarge says that a manifest could not be read again.
var errTooLarge = errors.New("too large")

// encodeManifest refuses a manifest that could not be read again.
func encodeManifest(m Manifest) ([]byte, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	data = append(data, '\n')
	if len(data) > MaxManifest {
		return nil, fmt.Errorf("%s is %w: %d bytes; at most %d are read", manifestName, errTooLarge, len(data),
			MaxManifest)
	}
	if n := structure(data); n > maxManifestValues {
		return nil, fmt.Errorf("%s is %w: %d values; at most %d are read", manifestName, errTooLarge, n,
			maxManifestValues)
	}
	return data, nil
}

// Append adds a finished trial and returns when it is on the disk. It refuses a trial that exceeds the bounds for
// reading: see result.Trial.Bound.
func (d *Dir) Append(t result.Trial) error {
	line, err := lineOf(t)
	if err != nil {
		return err
	}
	info, err := d.trials.Stat()
	if err != nil {
		return err
	}
	if size := info.Size() + int64(len(line)); size > MaxTrials {
		return fmt.Errorf("%s has %d bytes with trial %d; at most %d are read, and the run ends here", trialsName, size,
			t.Trial, MaxTrials)
	}
	if _, err := d.trials.Write(line); err != nil {
		return err
	}
	return d.trials.Sync()
}

// lineOf encodes a trial as a line. It refuses a trial that could not be read again.
func lineOf(t result.Trial) ([]byte, error) {
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("the record of trial %d: %w", t.Trial, err)
	}
	line, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	line = append(line, '\n')
	if len(line) > result.MaxLine {
		return nil, fmt.Errorf("the record of trial %d has %d bytes; at most %d are read", t.Trial, len(line),
			result.MaxLine)
	}
	if n := structure(line); n > maxTrialValues {
		return nil, fmt.Errorf("the record of trial %d has %d values; at most %d are read", t.Trial, n, maxTrialValues)
	}
	return line, nil
}

// WriteRaw stores an output of a trial, and returns its name relative to the run directory. The given name must be
// a file name without directories.
func (d *Dir) WriteRaw(name string, data []byte) (string, error) {
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return "", fmt.Errorf("%q is not a file name", name)
	}
	rel := RawName(name)
	return rel, d.replace(rel, data)
}

// replace writes a temporary file, syncs it and renames it, so that readers see the old content or the new one. The
// temporary name is fixed, so that a crash leaves at most one such file, which the next write removes. Links under
// either name are replaced and never followed.
func (d *Dir) replace(name string, data []byte) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	return d.replaceLocked(name, data)
}

func (d *Dir) replaceLocked(name string, data []byte) error {
	if err := d.checkOpen(); err != nil {
		return err
	}
	name = filepath.FromSlash(name)
	if err := d.root.Remove(nextName); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := d.root.OpenFile(nextName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
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
	if err := d.root.Rename(nextName, name); err != nil {
		return err
	}
	return syncDir(d.root, filepath.Dir(name))
}

// Trials reads all finished trials, as Each does.
func (d *Dir) Trials() ([]result.Trial, error) { return d.read(false) }

// Brief reads all finished trials as answers need them (result.Trial.Brief), in a fraction of the memory of Trials.
// Trials share what they have in common: nothing in them may be changed. Of what is left out, only the syntax is
// checked.
func (d *Dir) Brief() ([]result.Trial, error) { return d.read(true) }

func (d *Dir) read(brief bool) (trials []result.Trial, err error) {
	err = d.each(brief, func(t result.Trial, left int) error {
		if trials == nil {
			trials = make([]result.Trial, 0, left+1)
		}
		trials = append(trials, t)
		return nil
	})
	return trials, err
}

// Each reads the finished trials one after the other, in the order in which they ended, and stops at the first error of
// visit. It ignores an incomplete last line, which a run that is being measured or was killed may have. Any other
// invalid line, and a trial that exceeds the bounds, is an error with file and line.
func (d *Dir) Each(visit func(result.Trial) error) error {
	return d.each(false, func(t result.Trial, _ int) error { return visit(t) })
}

// each is Each, of brief trials or of whole ones. left is how many trials may follow, by the length of the file.
func (d *Dir) each(brief bool, visit func(t result.Trial, left int) error) (err error) {
	name := filepath.Join(d.Path, trialsName)
	f, err := d.OpenFile(trialsName, MaxTrials)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.Path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	size := info.Size()
	r := bufio.NewReaderSize(io.LimitReader(f, MaxTrials), 1<<16)
	decode := newDecoder(brief)
	var line []byte
	for n := 1; ; n++ {
		line, err = readLine(r, line[:0])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if n > maxLines {
			return fmt.Errorf("%s: more than %d lines", name, maxLines)
		}
		t, err := decode.trial(line)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if err := visit(t, int(min(size/int64(len(line)), maxLines))); err != nil {
			return err
		}
	}
}

// readLine reads a line into a buffer, and fails if it is longer than result.MaxLine.
func readLine(r *bufio.Reader, line []byte) ([]byte, error) {
	for {
		piece, err := r.ReadSlice('\n')
		if len(line)+len(piece) > result.MaxLine {
			return line, fmt.Errorf("a line of more than %d bytes, which is the most that a trial has", result.MaxLine)
		}
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// readTrial reads a trial from its line.
func readTrial(line []byte) (t result.Trial, err error) {
	// A shorter line cannot have as many values.
	if len(line) > maxTrialValues && structure(line) > maxTrialValues {
		return t, fmt.Errorf("more than %d values, which is the most that a trial has", maxTrialValues)
	}
	if err := json.Unmarshal(line, &t); err != nil {
		return t, err
	}
	return t, t.Check()
}

// Close closes the run directory and releases its lock.
func (d *Dir) Close() error {
	d.writing.Lock()
	defer d.writing.Unlock()
	var errs []error
	if d.trials != nil {
		errs = append(errs, d.trials.Close())
	}
	if d.root != nil {
		errs = append(errs, d.root.Close())
	}
	d.trials, d.root = nil, nil
	return errors.Join(errs...)
}
