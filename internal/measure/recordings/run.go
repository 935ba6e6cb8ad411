package recordings

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/onhost/engine/process"
)

// Plan says what kind of run is made of recordings.
type Plan struct {
	Name, Question string
	// Baseline is one of Arms; empty for the first.
	Baseline string
	Arms     []string
	// Workload is the name of the workload of all trials; if it is empty, each kind of trials is one.
	Workload string
	// Paired says that the nth trials of all arms belong to block n.
	Paired bool
}

// Check says what is wrong with the plan, before any file is read.
func (p Plan) Check() error {
	if _, err := experiment.Recorded(p.Name, p.Question, p.Baseline, p.Arms, nil); err != nil {
		return err
	}
	if p.Workload != "" && !experiment.IsName(p.Workload) {
		return fmt.Errorf("--workload %q: a name has letters and digits, and after the first character also . _ -",
			p.Workload)
	}
	return nil
}

// A Run is what a run directory is made of.
type Run struct {
	plan      Plan
	workloads []experiment.Workload
	blocks    int
	raw       []rundir.RawFile
	Trials    []result.Trial
}

// Run makes a run of files that r has read. It refuses files that do not fit the plan.
func (p Plan) Run(r Reader, files []File) (Run, error) {
	run := Run{plan: p}
	run.collect(r, files)
	if err := oneWorkload(run.Trials, p.Workload); err != nil {
		return Run{}, err
	}
	run.workloads = workloadsOf(run.Trials)
	if p.Paired {
		if err := run.pair(); err != nil {
			return Run{}, err
		}
	}
	return run, nil
}

// collect numbers the trials, sets their workloads, and names the copies of the files.
func (run *Run) collect(r Reader, files []File) {
	for i, f := range files {
		base := f.File
		if base == "-" {
			base = "stdin"
		}
		copied := fmt.Sprintf("%05d-%s-%s", i+1, f.Arm, experiment.ToName(filepath.Base(base)))
		name := rundir.RawName(copied)
		run.raw = append(run.raw, rundir.RawFile{Name: name, Read: func() ([]byte, error) { return r.readAgain(f) }})
		for j, t := range f.trials {
			t.Trial = len(run.Trials) + 1
			t.Raw = []string{name}
			if histogram := f.histograms[j]; len(histogram) > 0 {
				t.Histogram = rundir.RawName(fmt.Sprintf("%05d-%s.hdr", t.Trial, f.Arm))
				run.raw = append(run.raw, rundir.RawOf(t.Histogram, histogram))
			}
			t.Workload = run.plan.Workload
			if t.Workload == "" {
				t.Workload = workloadName(t)
			}
			run.Trials = append(run.Trials, t)
		}
	}
}

// Write makes the run directory in a folder, and returns its path. After an error it leaves none.
func (run Run) Write(ctx context.Context, folder string) (path string, err error) {
	p := run.plan
	e, err := experiment.Recorded(p.Name, p.Question, p.Baseline, p.Arms, run.workloads)
	if err != nil {
		return "", err
	}
	e.Paired, e.Schedule.Blocks = p.Paired, run.blocks
	started, ended := stated(run.Trials, time.Now().UTC())
	path, err = rundir.CreateWhole(ctx, folder, rundir.Manifest{
		Nearfar: "v1", Experiment: e, Versions: versions(run.Trials),
		State: rundir.Complete, Started: started, Ended: ended,
	}, run.Trials, run.raw)
	if err != nil {
		return "", fmt.Errorf("the run directory cannot be made: %w", err)
	}
	return path, nil
}

// versions returns nearfar's version, and the versions that the tools printed, if all trials of a tool agree.
func versions(trials []result.Trial) map[string]string {
	all := map[string]string{}
	for _, t := range trials {
		if old, known := all[t.Tool.Name]; known && old != t.Tool.Version {
			all[t.Tool.Name] = ""
			continue
		}
		all[t.Tool.Name] = t.Tool.Version
	}
	maps.DeleteFunc(all, func(_, version string) bool { return version == "" })
	all["nearfar"] = process.Version()
	return all
}

// stated is the time of a run by the trials that state theirs: from the first begin to the last end. If none does, it
// is the time of the import, now.
func stated(trials []result.Trial, now time.Time) (started, ended time.Time) {
	for _, t := range trials {
		if t.Started.IsZero() {
			continue
		}
		if started.IsZero() || t.Started.Before(started) {
			started = t.Started
		}
		if end := t.Started.Add(time.Duration(t.DurationSeconds * float64(time.Second))); end.After(ended) {
			ended = end
		}
	}
	if started.IsZero() {
		return now, now
	}
	return started, ended
}
