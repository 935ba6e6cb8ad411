// Package runner carries out an experiment's schedule. It knows only tools, hosts and the run directory.
package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/result"
	"nearfar/internal/tool"
)

// Tools finds a measuring program by the name that the experiment gives it.
type Tools interface {
	Lookup(name string) (tool.Tool, bool)
}

// Stage makes the hosts of the arms.
type Stage interface {
	// Build makes the two hosts of an arm, or fails, within a time that the kind of hosts bounds. Arms stand side by side.
	Build(ctx context.Context, arm experiment.Arm) (Pair, error)
	// CPUs says on which CPUs client and server run; nil for any.
	CPUs(p experiment.Placement) (client, server []int, err error)
	// Stolen is how long a hypervisor has kept each of the CPUs (nil for any) from their machine so far, on average; false
	// where that is not known.
	Stolen(cpus []int) (time.Duration, bool)
	// CoreToCore is how long a cache line now takes from the client's CPUs to the server's and back; false where they share
	// some, where either is nil, and where it is not known.
	CoreToCore(client, server []int) (time.Duration, bool)
	// Watch begins to look at what happens on the machine beside a trial of the arm on these CPUs (nil for any); the function
	// that it returns ends it.
	Watch(arm string, client, server []int) (end func() host.Ground)
	// Lost says what of the ground that the hosts stand on has died or hangs: an error that wraps host.ErrLost; nil while all is there.
	Lost() error
}

// Pair is the two hosts of an arm.
type Pair struct{ Client, Server host.Host }

// Record keeps what was measured.
type Record interface {
	Append(result.Trial) error
	WriteRaw(name string, data []byte) (string, error)
}

// Event is what happened, for progress.
type Event struct {
	// Slot is the trial that starts or has ended; Total is how many the run has, with the replacements of failed trials
	// so far.
	Slot  experiment.Slot
	Total int
	// Done counts the trials of the run that have ended, also before a resume.
	Done int
	// Trial is the record, nil when the trial starts.
	Trial *result.Trial
	// Left is about how long the rest of the run will take.
	Left time.Duration
}

// Runner carries out a schedule.
type Runner struct {
	experiment *experiment.Experiment
	tools      Tools
	stage      Stage
	record     Record
	limits     Limits
	progress   func(Event)

	pairs    map[string]Pair
	versions map[string]string
	skipped  map[string]string
	// retryFailed says that failed trials of before are run again.
	retryFailed bool
}

// New makes a runner. progress is called in order, from one goroutine, and may be nil.
func New(e *experiment.Experiment, tools Tools, stage Stage, limits Limits, progress func(Event)) *Runner {
	if progress == nil {
		progress = func(Event) {}
	}
	return &Runner{
		experiment: e, tools: tools, stage: stage, limits: limits, progress: progress,
		pairs: map[string]Pair{}, versions: map[string]string{}, skipped: map[string]string{},
	}
}

// Prepare makes the hosts of all arms, and sees that they have the addresses that the workloads need and every tool, before
// anything is measured.
func (r *Runner) Prepare(ctx context.Context) error {
	for _, arm := range r.experiment.Arms {
		if shared, ok := r.pairs[r.experiment.HostsOf(arm.Name)]; ok {
			r.pairs[arm.Name] = shared
			continue
		}
		pair, err := r.stage.Build(ctx, arm)
		if err != nil {
			return fmt.Errorf("arm %s: %w", arm.Name, err)
		}
		r.pairs[arm.Name] = pair
	}
	if err := r.haveAddresses(); err != nil {
		return err
	}
	return r.findTools(ctx)
}

// Versions gives the version of each tool that Prepare found.
func (r *Runner) Versions() map[string]string { return r.versions }

// Skipped gives the optional workloads that cannot run, with the reason.
func (r *Runner) Skipped() map[string]string { return r.skipped }

// Pairs gives the hosts of each arm.
func (r *Runner) Pairs() map[string]Pair { return r.pairs }

// RetryFailed makes Run repeat the trials of before that failed, once each and after all others, unless a good one
// stands for them already.
func (r *Runner) RetryFailed() { r.retryFailed = true }

// Run measures what of the schedule is not done yet and keeps it in the record; before are the trials that the record
// has, in the order in which they ran. A failed trial is recorded with its reason and does not end the run; it is run
// again at the end of its block as often as the schedule says. When ctx ends, the trial in flight is given up and ctx's
// error returned. When a host is lost, the trial in flight is given up too, and the error wraps host.ErrLost: what was
// measured without the host means nothing.
func (r *Runner) Run(ctx context.Context, record Record, before []result.Trial) error {
	r.record = record
	plan := newSchedule(r.experiment, r.skipped, before)
	if r.retryFailed {
		plan.retryFailed(before)
	}
	left := plan.left()
	if len(left) == 0 && len(before) == 0 {
		return errors.New("nothing to measure: every workload was skipped")
	}
	done, total := len(before), len(before)+len(left)
	clock := newEstimate(left, r.cell, r.expected)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		slot, more := plan.next()
		if !more {
			return nil
		}
		if slot.Replaces > 0 {
			total++
			clock.added(slot, r.expected)
		}
		r.progress(Event{Slot: slot, Total: total, Done: done, Left: clock.left()})
		started := time.Now()
		trial, err := r.trial(ctx, slot)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, host.ErrLost) {
			return fmt.Errorf("trial %d (%s, %s) was given up: %w", slot.Trial, slot.Arm, slot.Workload, err)
		}
		if err != nil {
			return err
		}
		if err := record.Append(trial); err != nil {
			return fmt.Errorf("trial %d cannot be kept: %w", slot.Trial, err)
		}
		done++
		plan.ended(slot, trial.Error != "")
		clock.ended(slot, time.Since(started))
		r.progress(Event{Slot: slot, Total: total, Done: done, Trial: &trial, Left: clock.left()})
	}
}

// cell names what takes equally long: a workload, and one as an arm has it that sets some of its keys.
func (r *Runner) cell(slot experiment.Slot) string {
	if r.experiment.SetIn(slot.Arm, slot.Workload) == nil {
		return slot.Workload
	}
	return slot.Workload + "\x00" + slot.Arm
}

// expected is about how long a trial takes beside the overhead.
func (r *Runner) expected(slot experiment.Slot) time.Duration {
	w, _ := r.experiment.WorkloadIn(slot.Arm, slot.Workload)
	if t, ok := r.tools.Lookup(w.Tool); ok {
		server := r.pairs[slot.Arm].Server.Endpoint()
		plan, err := t.Plan(w, server)
		if err == nil {
			behind, _ := r.background(w, plan, server)
			return plan.Expected + behind.adds()
		}
	}
	return w.Duration
}

// Planned is what would be run for a workload in an arm.
type Planned struct {
	Arm, Workload string
	// Commands are the command lines, server first; those of the background follow.
	Commands []string
	// ClientCPUs and ServerCPUs are lists of CPU numbers, or "any".
	ClientCPUs, ServerCPUs string
	// Takes is about how long one trial takes; Trials is how many of them the schedule has.
	Takes  time.Duration
	Trials int
}

// Plans lists what each trial would run, without running it. Prepare comes before it.
func (r *Runner) Plans() ([]Planned, error) {
	var all []Planned
	for _, arm := range r.experiment.Arms {
		for _, plain := range r.experiment.Workloads {
			if _, skipped := r.skipped[plain.Name]; skipped {
				continue
			}
			w, _ := r.experiment.WorkloadIn(arm.Name, plain.Name)
			t, _ := r.tools.Lookup(w.Tool)
			plan, err := t.Plan(w, r.pairs[arm.Name].Server.Endpoint())
			if err != nil {
				return nil, fmt.Errorf("workload %s: %w", w.Name, err)
			}
			client, server, err := r.stage.CPUs(w.Placement)
			if err != nil {
				return nil, fmt.Errorf("workload %s: %w", w.Name, err)
			}
			behind, err := r.background(w, plan, r.pairs[arm.Name].Server.Endpoint())
			if err != nil {
				return nil, fmt.Errorf("workload %s: %w", w.Name, err)
			}
			all = append(all, Planned{
				Arm: arm.Name, Workload: w.Name, Commands: commandLines(plan, behind),
				ClientCPUs: cpuList(client), ServerCPUs: cpuList(server), Takes: plan.Expected + behind.adds() + overhead,
				Trials: r.experiment.TrialsOf(arm.Name),
			})
		}
	}
	return all, nil
}
