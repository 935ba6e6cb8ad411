package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nearfar/internal/engine"
	"nearfar/internal/experiment"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
)

// The bounds of an imported run. What is longer is no recording of measurements.
const (
	maxImported       = 256 << 20 // bytes, of all files together: they are copied into the run directory
	maxImportedTrials = experiment.MaxTrials
)

// importRunOptions are the flags of import that make a run.
type importRunOptions struct {
	name, baseline, question, workload, out string
	// paired says that the order of an arm's trials is that of blocks.
	paired bool
	report reportOptions
}

// importRun makes a run directory of the files, and prints its answer. Whatever is wrong, there is then no run directory.
func (a *app) importRun(ctx context.Context, named []recording, arms []string, toolName string, o importRunOptions) error {
	if err := o.report.check(); err != nil {
		return err
	}
	// What the flags say is checked before anything is read.
	if _, err := experiment.Recorded(o.name, o.question, o.baseline, arms, nil); err != nil {
		return &usageError{err}
	}
	if o.workload != "" && !experiment.IsName(o.workload) {
		return &usageError{fmt.Errorf("--workload %q: a name has letters, digits, and after the first also . _ -", o.workload)}
	}
	files, err := a.readForRun(ctx, named, toolName)
	if err != nil {
		return err
	}
	trials, raw := collect(files, o.workload)
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
		Nearfar: "v1", Experiment: e, Versions: importVersions(trials), State: rundir.Complete, Started: now, Ended: now,
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
		return fmt.Errorf("every trial failed; the first: %s", cell(trials[0].Error))
	}
	return nil
}

// readForRun reads all files, within bounds. Every file that cannot be read is named.
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
				failed = append(failed, fmt.Errorf("%s: %w", cell(r.file), err))
			}
		}
		bytes += len(read.data)
		trials += len(read.trials)
		if bytes > maxImported {
			return nil, errors.Join(append(failed, fmt.Errorf("the files have more than %d MiB together, and a run holds copies of them", maxImported>>20))...)
		}
		if trials > maxImportedTrials {
			return nil, errors.Join(append(failed, fmt.Errorf("the files hold more than %d trials", maxImportedTrials))...)
		}
		all = append(all, read)
	}
	return all, errors.Join(failed...)
}

// boundTrial cuts texts that are too long, and refuses what no tool prints: what could not be read again.
func boundTrial(t *result.Trial) error {
	t.Shorten()
	if err := t.Check(); err != nil {
		return fmt.Errorf("one run of %s has %w", t.Tool.Name, err)
	}
	return nil
}

// collect counts the trials, gives each the workload that it belongs to, and names the copies of the files.
func collect(files []recorded, workload string) (trials []result.Trial, raw []rundir.RawFile) {
	for i, f := range files {
		base := f.file
		if base == "-" {
			base = "stdin"
		}
		name := rundir.RawName(fmt.Sprintf("%05d-%s-%s", i+1, f.arm, experiment.ToName(filepath.Base(base))))
		raw = append(raw, rundir.RawFile{Name: name, Data: f.data})
		for j, t := range f.trials {
			t.Trial = len(trials) + 1
			t.Raw = []string{name}
			if histogram := f.histograms[j]; len(histogram) > 0 {
				t.Histogram = rundir.RawName(fmt.Sprintf("%05d-%s.hdr", t.Trial, f.arm))
				raw = append(raw, rundir.RawFile{Name: t.Histogram, Data: histogram})
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

// workloadName says what a trial measured: tool, mode, protocol, message size, and how many connections side by side where
// there are several: "sockperf-rr-tcp-1400B". Trials of one name are compared with each other.
func workloadName(t result.Trial) string {
	parts := []string{t.Tool.Name}
	if t.Mode != t.Tool.Name {
		parts = append(parts, t.Mode)
	}
	parts = append(parts, t.Protocol)
	if t.MessageBytes != nil {
		parts = append(parts, fmt.Sprintf("%dB", *t.MessageBytes))
	}
	if n := connections(t); n != "" {
		parts = append(parts, n+"-connections")
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return experiment.ToName(strings.Join(parts, "-"))
}

// connections says how many connections a trial had side by side; "" for one, and where it is not known.
func connections(t result.Trial) string {
	if n := t.Facts["connections"]; n != "1" && n != "0" && n != "" {
		return n
	}
	streams := map[string]bool{}
	for _, m := range t.Metrics {
		if at := strings.Index(m.Scope, "stream "); at >= 0 {
			streams[m.Scope[at:]] = true
		}
	}
	if len(streams) > 1 {
		return fmt.Sprint(len(streams))
	}
	return ""
}

// oneWorkload refuses to give one name to trials that differ in what no rule of comparison would notice: how many connections
// they had side by side. All else that trials of one workload must share is looked at when they are compared.
func oneWorkload(trials []result.Trial, workload string) error {
	if workload == "" {
		return nil
	}
	for _, t := range trials {
		if first, n := connections(trials[0]), connections(t); n != first {
			return fmt.Errorf("--workload %s would put trials of %s and of %s connections side by side under one name: leave it out",
				workload, cmp.Or(first, "1"), cmp.Or(n, "1"))
		}
	}
	return nil
}

// workloadsOf lists the workloads of the trials, in the order in which they come.
func workloadsOf(trials []result.Trial) []experiment.Workload {
	var all []experiment.Workload
	for _, t := range trials {
		at := slices.IndexFunc(all, func(w experiment.Workload) bool { return w.Name == t.Workload })
		if at < 0 {
			all = append(all, experiment.Workload{Name: t.Workload, Tool: t.Tool.Name, Mode: t.Mode, Protocol: t.Protocol})
			continue
		}
		// What the trials of one workload differ in is not said of it.
		w := &all[at]
		for _, property := range []struct {
			of   *string
			here string
		}{{&w.Tool, t.Tool.Name}, {&w.Mode, t.Mode}, {&w.Protocol, t.Protocol}} {
			if *property.of != property.here {
				*property.of = ""
			}
		}
	}
	return all
}

// pairUp gives the nth trial of a workload in each arm the block n. Every arm that has trials of a workload must have as many
// of it as the others: else a pair would hold trials that did not run together.
func pairUp(e *experiment.Experiment, trials []result.Trial) error {
	counts := map[[2]string]int{}
	for i := range trials {
		t := &trials[i]
		counts[[2]string{t.Arm, t.Workload}]++
		t.Block = counts[[2]string{t.Arm, t.Workload}]
		e.Schedule.Blocks = max(e.Schedule.Blocks, t.Block)
	}
	for _, w := range e.Workloads {
		first, n := "", 0
		for _, arm := range e.Arms {
			count := counts[[2]string{arm.Name, w.Name}]
			switch {
			case count == 0 || count == n:
			case first == "":
				first, n = arm.Name, count
			default:
				return fmt.Errorf("--paired: arm %s has %d trials of %s and arm %s has %d: with --paired the first trials of all arms belong together, "+
					"then the second ones, and so on", first, n, w.Name, arm.Name, count)
			}
		}
	}
	e.Paired = true
	return nil
}

// importVersions gives nearfar's version and those that the tools printed of themselves, where all trials agree.
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
	versions["nearfar"] = engine.Version()
	return versions
}

// refuseImported says why a run cannot be gone on with, where its results were recorded elsewhere.
func refuseImported(path string) error {
	dir, err := rundir.Open(path)
	if err != nil {
		return err
	}
	if dir.Manifest().Experiment.Imported {
		return fmt.Errorf("%s was imported: its results were recorded elsewhere, and there is nothing to go on with", path)
	}
	return nil
}
