// Package execution is the life of a run: the hosts of an experiment are made and checked, its trials are measured into
// a run directory, and the hosts are freed. It knows no flags, prints nothing, and computes no answer.
//
//	r := execution.New(e)              // or Open, for a run that was interrupted
//	defer r.Close()                    // frees the hosts
//	err := r.Prepare(ctx, options)     // makes the hosts, and looks for programs, addresses and ports
//	err = r.Create(ctx, folder, nil)   // makes the run directory; or Resume, after Open
//	err = r.Measure(ctx)               // runs the schedule, or the rest of it
//	err = r.Finish(ctx)                // writes the final state, and closes the run directory
//
// After an error of Prepare, Create or Resume the only call left is Close. Finish also follows a Measure that failed:
// the trials so far stay, and Open continues the run.
package execution

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/runner"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/engine"
	"nearfar/internal/onhost/host"
)

// A Run is one run of an experiment. Its methods are called in the order of the package's comment, from one goroutine.
// Interrupted alone may be called at the same time as another one.
type Run struct {
	experiment *experiment.Experiment
	options    Options
	hosts      *deploy.Deployment // nil before Prepare
	runner     *runner.Runner
	dir        *rundir.Dir // nil before Create
	// before are the trials of a run that is continued; known says that they were read.
	before []result.Trial
	known  bool
	// ended is the error with which Measure ended.
	ended error
}

// New is a new run of an experiment. It draws a seed for the order of trials if the experiment has none.
func New(e *experiment.Experiment) *Run {
	if e.Schedule.Seed == 0 {
		e.Schedule.Seed = DrawSeed()
	}
	return &Run{experiment: e}
}

// Open opens the directory of a run that was interrupted or killed, to continue it. Join strings of hosts are not in it
// (see experiment.Experiment.Rejoin).
func Open(path string) (*Run, error) {
	seen, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	if seen.Manifest().Experiment.Imported {
		return nil, fmt.Errorf("%s was imported: its results were recorded elsewhere, so it cannot be continued", path)
	}
	dir, err := rundir.Resume(path, tool.Declared())
	if err != nil {
		return nil, err
	}
	m := dir.Manifest()
	m.Experiment.Schedule.Seed = m.Seed
	return &Run{experiment: m.Experiment, dir: dir}, nil
}

// Experiment is what is measured.
func (r *Run) Experiment() *experiment.Experiment { return r.experiment }

// Path is the run directory; empty before Create.
func (r *Run) Path() string {
	if r.dir == nil {
		return ""
	}
	return r.dir.Path
}

// Manifest is what run.json says. The run has a directory.
func (r *Run) Manifest() rundir.Manifest { return r.dir.Manifest() }

// Trials reads the trials so far. The run has a directory, which may be closed.
func (r *Run) Trials() ([]result.Trial, error) { return r.dir.Trials() }

// Before are the trials that the run had when it was opened. A new run has none.
func (r *Run) Before() (trials []result.Trial, err error) {
	if r.known || r.dir == nil {
		return r.before, nil
	}
	r.before, err = r.dir.Trials()
	r.known = err == nil
	return r.before, err
}

// Prepared says whether the hosts were made.
func (r *Run) Prepared() bool { return r.hosts != nil }

// Plans lists what each trial runs. Before Prepare it is as far as the file alone says, and nothing is connected to.
func (r *Run) Plans() ([]runner.Planned, error) {
	if !r.Prepared() {
		return newRunner(r.experiment, deploy.Planned(r.experiment), nil).Plans()
	}
	return r.runner.Plans()
}

// Skipped are the optional workloads that cannot run, with the reason. They are known after Prepare.
func (r *Run) Skipped() map[string]string {
	if !r.Prepared() {
		return nil
	}
	return r.runner.Skipped()
}

// Unprotected says which programs run on hosts that cannot confine them, as Prepare saw it.
func (r *Run) Unprotected() []string { return r.runner.Unprotected() }

// DrawSeed draws a random seed, which is never 0. It has at most 53 bits, so that every JSON reader keeps it exactly.
func DrawSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])>>11 | 1
}

// MachineName is the name of this machine, as run.json has it; empty if it has none.
func MachineName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// newRunner makes a runner with every tool.
func newRunner(e *experiment.Experiment, hosts map[string]host.Hosts, event func(runner.Event)) *runner.Runner {
	return runner.New(e, tool.All(engine.NewSecret()), hosts, runner.DefaultLimits(), event)
}
