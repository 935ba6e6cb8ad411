package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nearfar/internal/rundir"
)

// runsFolder is where runs are looked for that nobody named.
const runsFolder = "runs"

// namedRun is a run of a folder.
type namedRun struct {
	path, experiment, state string
	started                 time.Time
}

// runsByAge lists the runs of a folder, the newest first. What cannot be read is no run.
func runsByAge(folder string) ([]namedRun, error) {
	directory, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	entries, err := directory.ReadDir(maxSuggested)
	err = errors.Join(err, directory.Close())
	if len(entries) == 0 && err != nil {
		return nil, err
	}
	var all []namedRun
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if _, err := os.Stat(filepath.Join(path, "run.json")); err != nil {
			continue
		}
		dir, err := rundir.Open(path)
		if err != nil {
			continue
		}
		m := dir.Manifest()
		all = append(all, namedRun{path, m.Experiment.Name, m.State, m.Started})
	}
	slices.SortFunc(all, func(a, b namedRun) int { return cmp.Or(b.started.Compare(a.started), cmp.Compare(b.path, a.path)) })
	return all, nil
}

// newest gives the newest run of the folder runs, or the newest two of its experiment with the older one first, and says on
// standard error which these are. A run that still goes on is no side of a comparison.
func (a *app) newest(count int, what string) ([]string, error) {
	all, err := runsByAge(runsFolder)
	if err != nil || len(all) == 0 {
		return nil, &usageError{fmt.Errorf("name %s: there are no runs in %s/ to take the newest of", what, runsFolder)}
	}
	if count == 1 {
		fmt.Fprintln(a.stderr, "nearfar: the newest run:", cell(all[0].path))
		return []string{all[0].path}, nil
	}
	var taken []string
	experiment := ""
	for _, r := range all {
		if r.state == rundir.Running || experiment != "" && r.experiment != experiment {
			continue
		}
		experiment = r.experiment
		if taken = append(taken, r.path); len(taken) == count {
			slices.Reverse(taken)
			fmt.Fprintf(a.stderr, "nearfar: the newest two runs of %s: %s and then %s\n", cell(experiment), cell(taken[0]), cell(taken[1]))
			return taken, nil
		}
	}
	return nil, &usageError{fmt.Errorf("name %s: in %s/ there is one run of %s, and it takes two", what, runsFolder, cell(experiment))}
}
