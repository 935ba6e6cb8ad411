package execution_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/execution"
	"nearfar/internal/measure/runner"
	"nearfar/internal/measure/tool"
)

// waiting reads the experiment of the example.
func waiting(t *testing.T) *experiment.Experiment {
	t.Helper()
	file := filepath.Join("testdata", "experiment.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	e, err := experimentfile.Parse(file, text, tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// created makes a run whose hosts are prepared and that has a directory.
func created(ctx context.Context, t *testing.T, e *experiment.Experiment, o execution.Options) *execution.Run {
	t.Helper()
	r := execution.New(e)
	if err := r.Prepare(ctx, o); err != nil {
		t.Fatal(err)
	}
	if err := r.Create(ctx, t.TempDir(), nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestInterruptedAndResumed: a run whose context ends after a trial keeps that trial, and is continued by another Run.
func TestInterruptedAndResumed(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	afterFirst := func(e runner.Event) {
		if e.Trial != nil {
			interrupt()
		}
	}
	var steps []string
	o := execution.Options{Event: afterFirst}
	o.Hosts.Step = func(format string, _ ...any) { steps = append(steps, format) }
	r := created(ctx, t, waiting(t), o)
	if err := r.Measure(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the interrupted run ends with %v", err)
	}
	// A second Ctrl-C may come just after the run has finished.
	if err := errors.Join(r.Finish(ctx), r.Interrupted(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if m := r.Manifest(); m.State != rundir.Interrupted || m.Versions["nearfar"] == "" || len(m.Hosts) == 0 {
		t.Errorf("run.json of the interrupted run: %+v", m)
	}
	if !slices.Contains(steps, "making the hosts of %d arms") {
		t.Errorf("the steps are %q", steps)
	}

	again, err := execution.Open(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	before, err := again.Before()
	if err != nil || len(before) != 1 || before[0].Error != "" {
		t.Fatalf("%d trials before, %v", len(before), err)
	}
	if err := again.Prepare(t.Context(), execution.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := again.Resume(execution.ResumeOptions{}); err != nil {
		t.Fatal(err)
	}
	if state := again.Manifest().State; state != rundir.Running {
		t.Errorf("the continued run is %s", state)
	}
	if err := errors.Join(again.Measure(t.Context()), again.Finish(t.Context()), again.Interrupted(),
		again.Close()); err != nil {
		t.Fatal(err)
	}
	trials, err := again.Trials()
	if err != nil || len(trials) != 2 || trials[0].Arm == trials[1].Arm || again.Manifest().State != rundir.Complete {
		t.Errorf("the trials are %+v, %v", trials, err)
	}
}

// TestUntil: Measure ends before the next block when the trials are enough.
func TestUntil(t *testing.T) {
	e := waiting(t)
	e.Schedule.Blocks = 3
	r := created(t.Context(), t, e, execution.Options{})
	asked := 0
	r.Until(func(trials []result.Trial) bool { asked++; return len(trials) == 2 })
	if err := errors.Join(r.Measure(t.Context()), r.Finish(t.Context()), r.Close()); err != nil {
		t.Fatal(err)
	}
	trials, err := r.Trials()
	if err != nil || len(trials) != 2 || asked != 1 || r.Manifest().State != rundir.Complete {
		t.Errorf("%d trials, asked %d times, %s, %v", len(trials), asked, r.Manifest().State, err)
	}
}

// TestPrepareFails: the error says what is wrong with the hosts, and none of them is left.
func TestPrepareFails(t *testing.T) {
	e := waiting(t)
	folder := t.TempDir()
	e.Hosts[0].Folder = folder
	e.Workloads[0].IP = experiment.IPv6 // the host has an address of IPv4 alone
	for i := range e.Arms {
		e.Arms[i].Set, e.Arms[i].Workloads = nil, nil
	}
	r := execution.New(e)
	err := r.Prepare(t.Context(), execution.Options{})
	if err == nil || !strings.Contains(err.Error(), "addresses are missing, and nothing was measured") || r.Prepared() {
		t.Errorf("prepared %v, with %v", r.Prepared(), err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestNeverPrepared: a run knows its plans from the file alone; Open refuses a run that is being measured, and Close
// gives its directory free.
func TestNeverPrepared(t *testing.T) {
	e := waiting(t)
	e.Schedule.Seed = 0
	r := execution.New(e)
	plans, err := r.Plans()
	if err != nil || len(plans) != 2 || plans[0].Arm != "plain" || r.Path() != "" || e.Schedule.Seed == 0 {
		t.Errorf("%d plans, directory %q, seed %d, %v", len(plans), r.Path(), e.Schedule.Seed, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	r = created(t.Context(), t, waiting(t), execution.Options{})
	if _, err := execution.Open(r.Path()); err == nil {
		t.Error("a run that is being measured was opened")
	}
	if err := errors.Join(r.Interrupted(), r.Close()); err != nil {
		t.Error(err)
	}
	again, err := execution.Open(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	if state := again.Manifest().State; state != rundir.Interrupted {
		t.Errorf("the run is %s", state)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
