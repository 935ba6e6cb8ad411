package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/host"
)

// Create makes the run directory of a prepared run, in a folder. earlier is what an earlier run says about the hosts,
// as run.json keeps it; nil for nothing.
func (r *Run) Create(ctx context.Context, folder string, earlier json.RawMessage) error {
	versions := map[string]string{"nearfar": process.Version()}
	maps.Copy(versions, r.runner.Versions())
	dir, err := rundir.Create(folder, rundir.Manifest{
		Nearfar: "v1", Experiment: r.experiment, Seed: r.experiment.Schedule.Seed, Versions: versions,
		HostVersions: r.runner.HostVersions(), Skipped: r.runner.Skipped(), Hosts: r.hosts.Facts(ctx),
		Machine: MachineName(), Earlier: earlier, State: rundir.Running, Started: time.Now().UTC(),
	})
	if err != nil {
		return fmt.Errorf("the run directory cannot be made: %w", err)
	}
	r.dir, r.known = dir, true
	return nil
}

// ResumeOptions say what else a continued run measures.
type ResumeOptions struct {
	// AddWorkloads also measures workloads that the run left out because they could not run.
	AddWorkloads bool
	// RetryFailed repeats each failed trial once, after all others.
	RetryFailed bool
	// Kept is the deployment whose machines are still there; 0 if they are others.
	Kept int
}

// Resume continues an opened and prepared run: Measure runs the rest of its schedule.
func (r *Run) Resume(o ResumeOptions) error {
	before, err := r.Before()
	if err != nil {
		return err
	}
	m := r.dir.Manifest()
	if !o.AddWorkloads {
		r.runner.LeaveOut(m.Skipped)
	}
	r.hosts.Resume(m.Hosts, len(r.experiment.Slots())-len(before))
	if o.RetryFailed {
		r.runner.RetryFailed()
	}
	r.runner.Continue(o.Kept)
	skipped := r.runner.Skipped()
	return r.dir.Update(func(m *rundir.Manifest) { m.State, m.Skipped = rundir.Running, skipped })
}

// Until makes Measure end before the next block as soon as the trials so far are enough. It is asked once after each
// block, with all trials of the run.
func (r *Run) Until(enough func([]result.Trial) bool) { r.runner.Until(enough) }

// Measure runs the rest of the schedule into the run directory. It returns the error of ctx if that ends before; other
// errors are those of runner.Runner.Run.
func (r *Run) Measure(ctx context.Context) error {
	r.hosts.Use()
	r.ended = r.runner.Run(ctx, r.dir, r.before)
	return r.ended
}

// Finish writes the run's final state and the facts of its hosts into run.json, and closes the run directory. The state
// is complete if Measure returned no error.
func (r *Run) Finish(ctx context.Context) error {
	ended := time.Now().UTC()
	facts := r.dir.Manifest().Hosts
	if !errors.Is(r.ended, host.ErrLost) { // lost hosts cannot be read: their earlier facts stay
		facts = r.hosts.Facts(context.WithoutCancel(ctx))
	}
	err := r.dir.Update(func(m *rundir.Manifest) {
		m.State, m.Ended, m.Hosts = rundir.Complete, ended, facts
		if r.ended != nil {
			m.State = rundir.Interrupted
		}
	})
	return errors.Join(err, r.dir.Close())
}

// Interrupted writes into run.json that the run was interrupted, for a process that ends before Measure does. It may be
// called at any time after Create or Resume. After Finish or Close it leaves the state as it is.
func (r *Run) Interrupted() error {
	err := r.dir.Update(func(m *rundir.Manifest) { m.State, m.Ended = rundir.Interrupted, time.Now().UTC() })
	if errors.Is(err, rundir.ErrClosed) {
		return nil
	}
	return err
}

// Close frees the hosts, and closes the run directory if Finish has not done so. A run that was never prepared has
// nothing to free.
func (r *Run) Close() error {
	var errs []error
	if r.dir != nil {
		errs = append(errs, r.dir.Close())
	}
	if r.hosts != nil {
		if err := r.hosts.Close(); err != nil {
			errs = append(errs, fmt.Errorf("the hosts did not end cleanly: %w", err))
		}
	}
	return errors.Join(errs...)
}
