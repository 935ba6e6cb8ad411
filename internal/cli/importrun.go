package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/onhost/engine/process"
)

// The bounds of an imported run.
const (
	maxImported       = 256 << 20 // bytes of all files together: they are copied into the run directory
	maxImportedTrials = experiment.MaxTrials
)

// importRunOptions are the flags of import that make a run.
type importRunOptions struct {
	name, baseline, question, workload, out string
	// paired says that the nth trials of all arms belong to block n.
	paired bool
	report reportOptions
}

// importRun makes a run directory of the files, and prints its answer. After an error in the flags or files it leaves
// no run directory.
func (a *app) importRun(
	ctx context.Context, named []recording, arms []string, toolName string, o importRunOptions,
) error {
	if err := o.report.check(); err != nil {
		return err
	}
	if err := checkFolder("--out", o.out); err != nil {
		return err
	}
	// Check the flags before any file is read.
	if _, err := experiment.Recorded(o.name, o.question, o.baseline, arms, nil); err != nil {
		return &usageError{err}
	}
	if o.workload != "" && !experiment.IsName(o.workload) {
		return usagef("--workload %q: a name has letters and digits, and after the first character also . _ -",
			o.workload)
	}
	files, err := a.readForRun(ctx, named, toolName)
	if err != nil {
		return err
	}
	trials, raw := a.collect(files, o.workload)
	if err := oneWorkload(trials, o.workload); err != nil {
		return &usageError{err}
	}
	e, err := experiment.Recorded(o.name, o.question, o.baseline, arms, workloadsOf(trials))
	if err != nil {
		return err
	}
	if o.paired {
		if err := pairUp(e, trials); err != nil {
			return &usageError{err}
		}
	}
	now := time.Now().UTC()
	path, err := rundir.CreateWhole(ctx, o.out, rundir.Manifest{
		Nearfar: "v1", Experiment: e, Versions: importVersions(trials),
		State: rundir.Complete, Started: now, Ended: now,
	}, trials, raw)
	if err != nil {
		return fmt.Errorf("the run directory cannot be made: %w", err)
	}
	ans, err := readAnswer(path)
	if err != nil {
		return err
	}
	if err := a.writeReport(ans, o.report); err != nil {
		return err
	}
	if ans.Failed == ans.Trials {
		return fmt.Errorf("every trial failed; the first: %s", clean.Line(trials[0].Error))
	}
	return nil
}

// readForRun reads all files, within bounds. The error names every file that cannot be read.
func (a *app) readForRun(ctx context.Context, named []recording, toolName string) ([]recorded, error) {
	files, failed := expand(named)
	var all []recorded
	bytes, trials := 0, 0
	for _, r := range files {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		read, err := a.readRecording(r, toolName)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for i := range read.trials {
			if err := boundTrial(&read.trials[i]); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", clean.Line(r.file), err))
			}
		}
		bytes += read.size
		trials += len(read.trials)
		if bytes > maxImported {
			err := fmt.Errorf("the files have more than %d MiB together, the most that is copied into a run directory",
				maxImported>>20)
			return nil, errors.Join(someOf(failed), err)
		}
		if trials > maxImportedTrials {
			return nil, errors.Join(someOf(failed), errTooManyTrials())
		}
		if len(failed) == 0 {
			all = append(all, read)
		}
	}
	return all, someOf(failed)
}

func errTooManyTrials() error {
	return fmt.Errorf("the files have more than %d trials, the most that a run can have", maxImportedTrials)
}

// boundTrial shortens long texts. It refuses a trial that exceeds the bounds for reading, which no tool prints.
func boundTrial(t *result.Trial) error {
	t.Shorten()
	if err := t.Check(); err != nil {
		return fmt.Errorf("one run of %s has %w", t.Tool.Name, err)
	}
	return nil
}

// collect numbers the trials, sets their workloads, and names the copies of the files.
func (a *app) collect(files []recorded, workload string) (trials []result.Trial, raw []rundir.RawFile) {
	for i, f := range files {
		base := f.file
		if base == "-" {
			base = "stdin"
		}
		copied := fmt.Sprintf("%05d-%s-%s", i+1, f.arm, experiment.ToName(filepath.Base(base)))
		name := rundir.RawName(copied)
		raw = append(raw, rundir.RawFile{Name: name, Read: func() ([]byte, error) { return a.readAgain(f) }})
		for j, t := range f.trials {
			t.Trial = len(trials) + 1
			t.Raw = []string{name}
			if histogram := f.histograms[j]; len(histogram) > 0 {
				t.Histogram = rundir.RawName(fmt.Sprintf("%05d-%s.hdr", t.Trial, f.arm))
				raw = append(raw, rundir.RawOf(t.Histogram, histogram))
			}
			t.Workload = workload
			if workload == "" {
				t.Workload = workloadName(t)
			}
			trials = append(trials, t)
		}
	}
	return trials, raw
}

// importVersions returns nearfar's version, and the versions that the tools printed, if all trials of a tool agree.
func importVersions(trials []result.Trial) map[string]string {
	versions := map[string]string{}
	for _, t := range trials {
		if old, known := versions[t.Tool.Name]; known && old != t.Tool.Version {
			versions[t.Tool.Name] = ""
			continue
		}
		versions[t.Tool.Name] = t.Tool.Version
	}
	maps.DeleteFunc(versions, func(_, version string) bool { return version == "" })
	versions["nearfar"] = process.Version()
	return versions
}
