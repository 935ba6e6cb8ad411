package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/files"
	"nearfar/internal/declare/rundir"
)

// runsFolder is the default folder of run directories.
const runsFolder = "runs"

// maxListed bounds how many entries of a folder are looked at.
const maxListed = 10_000

// runsOf lists the paths of the run directories in a folder; after an error, those so far.
func runsOf(folder string) (paths []string, err error) {
	entries, err := files.List(folder, maxListed)
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if _, err := os.Stat(filepath.Join(path, "run.json")); err == nil {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// namedRun is a run of a folder.
type namedRun struct {
	path, experiment, state string
	started                 time.Time
}

// runsByAge lists the readable runs of a folder, the newest first.
func runsByAge(folder string) ([]namedRun, error) {
	paths, err := runsOf(folder)
	if len(paths) == 0 && err != nil {
		return nil, err
	}
	var all []namedRun
	for _, path := range paths {
		dir, err := rundir.Open(path)
		if err != nil {
			continue
		}
		m := dir.Manifest()
		all = append(all, namedRun{path, m.Experiment.Name, m.State, m.Started})
	}
	slices.SortFunc(all, func(a, b namedRun) int {
		return cmp.Or(b.started.Compare(a.started), cmp.Compare(b.path, a.path))
	})
	return all, nil
}

// newest returns the newest run of the folder runs (count 1), or the newest two runs of one experiment, the older one
// first (count 2). It names them on standard error. A run that is being measured is not compared.
func (a *app) newest(count int, what string) ([]string, error) {
	all, err := runsByAge(runsFolder)
	if err != nil || len(all) == 0 {
		return nil, usagef("name %s: without a name the newest is taken, and there are no runs in %s/",
			what, runsFolder)
	}
	if count == 1 {
		fmt.Fprintln(a.stderr, "nearfar: the newest run:", clean.Line(all[0].path))
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
			fmt.Fprintf(a.stderr, "nearfar: the newest two runs of %s: %s and then %s\n",
				clean.Line(experiment), clean.Line(taken[0]), clean.Line(taken[1]))
			return taken, nil
		}
	}
	if experiment == "" {
		return nil, usagef("name %s: no run in %s/ has ended", what, runsFolder)
	}
	return nil, usagef("name %s: %s/ has only one run of %s, and two are needed",
		what, runsFolder, clean.Line(experiment))
}
