package bisection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"nearfar/internal/base/files"
	"nearfar/internal/declare/rundir"
)

const (
	planName   = "bisection.json"
	fileName   = "experiment.yaml"
	visitsName = "visits.jsonl"
	runsName   = "runs"
	logName    = "place.log"
	// maxSame bounds how many bisections of one name can start within a second.
	maxSame = 1000
)

// Dir is the directory of a bisection.
type Dir struct {
	Path   string
	plan   Plan
	text   []byte
	visits []Visit
	// file is visits.jsonl, open for writing and locked.
	file *os.File
}

// Create makes the directory of a new bisection below a folder, named after its start and its experiment. text is the
// experiment file.
func Create(folder string, p Plan, text []byte) (*Dir, error) {
	p.Nearfar = "v1"
	if err := p.check(); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, err
	}
	path, err := makeFolder(folder, p)
	if err != nil {
		return nil, err
	}
	// The plan comes last: a directory without it is no bisection.
	err = errors.Join(
		os.Mkdir(filepath.Join(path, runsName), 0o755),
		files.WriteWhole(filepath.Join(path, fileName), text),
		files.WriteWhole(filepath.Join(path, planName), append(data, '\n')),
	)
	if err != nil {
		return nil, err
	}
	return Open(path)
}

// makeFolder makes an empty directory that did not exist.
func makeFolder(folder string, p Plan) (string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	stem := filepath.Join(folder, rundir.Name(p.Started, p.Name))
	for n := 1; ; n++ {
		path := stem
		if n > 1 {
			path = fmt.Sprintf("%s-%d", stem, n)
		}
		if err := os.Mkdir(path, 0o755); err == nil || !errors.Is(err, os.ErrExist) || n == maxSame {
			return path, err
		}
	}
}

// Open opens the directory of a bisection to continue it. An incomplete last line, which a crash may leave, is removed:
// that visit is made again.
func Open(path string) (*Dir, error) {
	d := &Dir{Path: path}
	data, err := files.ReadRegular(filepath.Join(path, planName), maxRecord)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is not the directory of a bisection: it has no %s", path, planName)
	}
	if err == nil {
		err = json.Unmarshal(data, &d.plan)
	}
	if err == nil {
		err = d.plan.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, planName), err)
	}
	if d.text, err = files.ReadRegular(filepath.Join(path, fileName), maxRecord); err != nil {
		return nil, err
	}
	name := filepath.Join(path, visitsName)
	d.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	if err := files.Lock(d.file); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: another nearfar is writing this bisection", path), d.file.Close())
	}
	if err := d.readVisits(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), d.file.Close())
	}
	return d, nil
}

// readVisits reads visits.jsonl, and cuts an incomplete last line.
func (d *Dir) readVisits() error {
	data, err := io.ReadAll(io.LimitReader(d.file, maxRecord+1))
	if err != nil {
		return err
	}
	if len(data) > maxRecord {
		return fmt.Errorf("it has more than %d bytes", maxRecord)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for n, line := range bytes.Split(bytes.TrimSuffix(data[:whole], []byte("\n")), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var v Visit
		if err := json.Unmarshal(line, &v); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
		if v.Step < 0 || v.Step >= len(d.plan.Steps) || math.IsInf(v.Value, 0) || math.IsNaN(v.Value) || v.Trials < 0 {
			return fmt.Errorf("line %d: step %d with the value %v from %d trials", n+1, v.Step, v.Value, v.Trials)
		}
		if d.visits = append(d.visits, v); len(d.visits) > MaxVisits {
			return fmt.Errorf("it has more than %d visits", MaxVisits)
		}
	}
	if whole == len(data) {
		return nil
	}
	return d.file.Truncate(int64(whole))
}

// Plan is what is bisected.
func (d *Dir) Plan() Plan { return d.plan }

// Text is the experiment file.
func (d *Dir) Text() []byte { return d.text }

// Visits are the visits so far, in their order.
func (d *Dir) Visits() []Visit { return d.visits }

// Runs is the folder of the visits' run directories.
func (d *Dir) Runs() string { return filepath.Join(d.Path, runsName) }

// OpenLog opens the file that has what the command printed that puts steps in place.
func (d *Dir) OpenLog() (*os.File, error) {
	return os.OpenFile(filepath.Join(d.Path, logName), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
}

// Relative is the name of a visit's run directory in its record.
func (d *Dir) Relative(run string) string {
	if name, err := filepath.Rel(d.Path, run); err == nil {
		return filepath.ToSlash(name)
	}
	return run
}

// Append adds a visit and returns when it is on the disk.
func (d *Dir) Append(v Visit) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := d.file.Write(append(line, '\n')); err != nil {
		return err
	}
	d.visits = append(d.visits, v)
	return d.file.Sync()
}

// Close closes the record.
func (d *Dir) Close() error { return d.file.Close() }
