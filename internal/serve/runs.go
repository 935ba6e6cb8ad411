package serve

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"time"

	"nearfar/internal/rundir"
)

// maxText is how many characters of a text from a run are listed.
const maxText = 500

// Run is a line of the list of runs.
type Run struct {
	// ID names the run in addresses: "run/ID/" is its page.
	ID string `json:"id"`
	// Path is below the folder.
	Path string `json:"path"`
	// Error is why the run cannot be read; the rest is then empty.
	Error     string   `json:"error,omitempty"`
	Name      string   `json:"name"`
	Question  string   `json:"question"`
	Baseline  string   `json:"baseline"`
	Arms      []string `json:"arms"`
	Workloads []string `json:"workloads"`
	// State is running, complete or interrupted; running is also what a run that was killed says.
	State   string    `json:"state"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Changed is when something was last written.
	Changed time.Time `json:"changed,omitzero"`
	// Imported says that the results were recorded elsewhere: Started is when they were brought in, and no trials were planned.
	Imported bool `json:"imported,omitempty"`
	// Trials is how many have ended, Planned how many there were to be: those of the schedule, or Trials where
	// replacements of failed ones make these more.
	Trials  int `json:"trials"`
	Planned int `json:"planned"`
}

// Listing is the list of runs, newest first.
type Listing struct {
	Nearfar string `json:"nearfar"`
	// Folder is what the program was told to serve.
	Folder string `json:"folder"`
	Runs   []Run  `json:"runs"`
	// Cut says what was left out; empty where the list is whole.
	Cut string `json:"cut,omitempty"`
}

// describe reads what the list says of a run.
func describe(root *os.Root, folder string, p place) (Run, *rundir.Manifest) {
	r := Run{ID: p.id, Path: p.path, Arms: []string{}, Workloads: []string{}, Changed: p.stamp.changed()}
	failed := func(err error) (Run, *rundir.Manifest) {
		r.Error = clip(err.Error())
		return r, nil
	}
	if p.broken != nil {
		return failed(p.broken)
	}
	if err := safe(root, p.path); err != nil {
		return failed(err)
	}
	dir, err := rundir.Open(filepathOf(folder, p.path))
	if err != nil {
		return failed(err)
	}
	m := dir.Manifest()
	if r.Trials, err = countLines(root, path.Join(p.path, trialsName)); err != nil {
		return failed(err)
	}
	e := m.Experiment
	r.Name, r.Question, r.Baseline = clip(e.Name), clip(e.Question), clip(e.Baseline)
	r.State, r.Started, r.Ended = clip(m.State), m.Started, m.Ended
	r.Imported = e.Imported
	if !e.Imported {
		r.Planned = max(e.Planned(m.Skipped), r.Trials)
	}
	for _, arm := range e.Arms {
		r.Arms = append(r.Arms, clip(arm.Name))
	}
	for _, w := range e.Workloads {
		r.Workloads = append(r.Workloads, clip(w.Name))
	}
	return r, &m
}

// countLines counts whole lines; a file that is not there has none.
func countLines(root *os.Root, name string) (lines int, err error) {
	f, err := rundir.OpenRegular(root, name, rundir.MaxTrials)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := bufio.NewReaderSize(io.LimitReader(f, rundir.MaxTrials), 1<<16)
	for {
		piece, err := r.ReadSlice('\n')
		lines += bytes.Count(piece, []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return lines, err
		}
	}
}

// clip bounds a text.
func clip(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxText {
			return s[:i] + "..."
		}
	}
	return s
}
