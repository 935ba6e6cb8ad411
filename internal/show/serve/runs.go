package serve

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"time"

	"nearfar/internal/declare/rundir"
)

// maxText is how many characters of a text from a run are shown in the list.
const maxText = 500

// Run is a line of the list of runs.
type Run struct {
	// ID names the run in addresses: "run/ID/" is its page.
	ID string `json:"id"`
	// Path is relative to the folder.
	Path string `json:"path"`
	// Error says why the run cannot be read; the other fields are then empty.
	Error     string   `json:"error,omitempty"`
	Name      string   `json:"name"`
	Question  string   `json:"question"`
	Baseline  string   `json:"baseline"`
	Arms      []string `json:"arms"`
	Workloads []string `json:"workloads"`
	// State is running, complete or interrupted. A run that was killed stays in the state running.
	State   string    `json:"state"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Changed is when one of its files was last written.
	Changed time.Time `json:"changed,omitzero"`
	// Imported says that the results were recorded elsewhere. Started is then the time of the import, and Planned is 0.
	Imported bool `json:"imported,omitempty"`
	// Trials is how many trials have ended. Planned is how many the schedule has, or Trials if repeated trials make
	// that more.
	Trials  int `json:"trials"`
	Planned int `json:"planned"`
}

// Listing is the list of runs, newest first.
type Listing struct {
	Nearfar string `json:"nearfar"`
	// Folder is the folder as it was given to the program.
	Folder string `json:"folder"`
	Runs   []Run  `json:"runs"`
	// Cut says which runs were left out; empty if the list is complete.
	Cut string `json:"cut,omitempty"`
}

// describe makes a run's line of the list. The manifest is nil if the run cannot be read.
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

// countLines counts the complete lines of a file, 0 if there is no such file.
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

// clip shortens a text to maxText characters.
func clip(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxText {
			return s[:i] + "..."
		}
	}
	return s
}
