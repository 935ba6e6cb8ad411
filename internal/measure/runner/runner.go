// Package runner carries out an experiment's schedule. It knows only tools, hosts and the run directory.
package runner

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// Tools finds a measuring program by its name in the experiment.
type Tools interface {
	Lookup(name string) (tool.Tool, bool)
}

// Record stores the trials and their raw outputs.
type Record interface {
	Append(result.Trial) error
	WriteRaw(name string, data []byte) (string, error)
}

// Event reports that a trial starts or has ended.
type Event struct {
	// Slot is the trial. Total is the number of trials of the run, with the replacements of failed trials so far.
	Slot  experiment.Slot
	Total int
	// Done counts the trials of the run that have ended, including those before a resume.
	Done int
	// Trial is the record; nil when the trial starts.
	Trial *result.Trial
	// Left estimates how long the rest of the run will take.
	Left time.Duration
}

// Runner carries out a schedule.
type Runner struct {
	experiment *experiment.Experiment
	cells      experiment.Cells
	tools      Tools
	hosts      map[string]host.Hosts // by arm
	record     Record
	limits     Limits
	progress   func(Event)

	// versions are the versions of the tools on the client of the first arm, byHost those on all hosts that an arm
	// owns.
	versions map[string]string
	byHost   map[host.Host]map[string]string
	skipped  map[string]string
	// retryFailed says that trials that failed before this run are run again.
	retryFailed bool
	// enough says whether the trials so far suffice; nil for a run of a fixed number of blocks.
	enough      func([]result.Trial) bool
	deployed    deployed
	peers       map[string][]netip.Prefix // see SetPeers
	unprotected []string                  // see Unprotected
	recovery    recovery
}

// New makes a runner. hosts has the hosts of every arm, by its name. progress is called in order, from one goroutine,
// and may be nil.
func New(
	e *experiment.Experiment, tools Tools, hosts map[string]host.Hosts, limits Limits, progress func(Event),
) *Runner {
	if progress == nil {
		progress = func(Event) {}
	}
	return &Runner{
		experiment: e, cells: e.Cells(), tools: tools, hosts: hosts, limits: limits, progress: progress,
		versions: map[string]string{}, byHost: map[host.Host]map[string]string{}, skipped: map[string]string{},
	}
}

// Prepare checks that the hosts have the addresses and the tools that the workloads need, and that the tools support
// the workloads between these hosts.
func (r *Runner) Prepare(ctx context.Context) error {
	addresses, tools := r.haveAddresses(), r.findTools(ctx)
	if addresses != nil || tools != nil {
		return errors.Join(addresses, tools)
	}
	if err := r.checkPlans(); err != nil {
		return err
	}
	if err := r.findCommands(ctx); err != nil {
		return err
	}
	if err := r.prepareApps(ctx); err != nil {
		return err
	}
	return r.checkConfined(ctx)
}

// Versions are the versions of the tools that Prepare found on the client of the first arm.
func (r *Runner) Versions() map[string]string { return r.versions }

// HostVersions are the versions of the tools on the hosts of each arm that has hosts of its own.
func (r *Runner) HostVersions() map[string]result.HostVersions {
	all := map[string]result.HostVersions{}
	for _, arm := range r.owners() {
		hosts := r.hosts[arm]
		all[arm] = result.HostVersions{Client: r.byHost[hosts.Client], Server: r.byHost[hosts.Server]}
	}
	return all
}

// LeaveOut leaves out more workloads than those that cannot run: by name, with the reason. It is called before Run.
func (r *Runner) LeaveOut(workloads map[string]string) {
	for workload, reason := range workloads {
		if _, known := r.skipped[workload]; !known {
			r.skipped[workload] = reason
		}
	}
}

// Skipped are the optional workloads that cannot run, with the reason.
func (r *Runner) Skipped() map[string]string { return r.skipped }

// RetryFailed makes Run repeat the trials that failed before, once each and after all others. Those that have a
// successful replacement are not repeated.
func (r *Runner) RetryFailed() { r.retryFailed = true }

// Until makes Run end before the next block as soon as the trials of the complete blocks so far are enough. It is asked
// once after each block, with all trials of the run.
func (r *Runner) Until(enough func([]result.Trial) bool) { r.enough = enough }

// Run carries out the rest of the schedule and stores each trial in the record. before are the trials that the record
// has, in the order in which they ran. A failed trial is recorded with its reason and does not end the run; it is run
// again at the end of its block as often as the schedule says. When ctx ends, Run gives up the running trial and
// returns ctx's error.
//
// When a host is lost, the running trial has failed. Run continues if new hosts can be made (see Recover); otherwise
// the error wraps host.ErrLost. A lost lab ends the run, and its trial is not recorded: nearfar's own processes ended,
// which says nothing about the measured hosts.
func (r *Runner) Run(ctx context.Context, record Record, before []result.Trial) error {
	r.record = record
	r.deployed.begin(r.experiment.Schedule, before)
	plan := newSchedule(r.experiment, r.skipped, before)
	if r.retryFailed {
		plan.retryFailed(before)
	}
	left := plan.left()
	if len(left) == 0 && len(before) == 0 {
		return errors.New("nothing to measure: every workload was skipped")
	}
	r.recovery.most = plan.most
	done, total := len(before), len(before)+len(left)
	clock := newEstimate(left, r.pace, r.expected)
	trials := slices.Clone(before) // only kept for r.enough
	turns := &turns{runner: r, ctx: ctx, schedule: plan}
	defer turns.drop()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		slot, more := plan.next()
		if !more {
			return nil
		}
		if r.enough != nil && slot.Block > plan.block && plan.block > 0 && r.enough(trials) {
			return nil
		}
		if slot.Replaces > 0 {
			total++
			clock.added(slot, r.expected)
		}
		r.progress(Event{Slot: slot, Total: total, Done: done, Left: clock.left()})
		if err := r.deploy(ctx, slot); err != nil {
			return err
		}
		started := time.Now()
		trial, err := turns.trial(slot)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		lost := err
		switch {
		case err == nil:
		case !errors.Is(err, host.ErrLost):
			return err
		case r.inLab(slot.Arm):
			return givenUp(slot, err)
		default:
			turns.drop() // it is on the hosts that are lost
			trial.Error = err.Error()
			trial.Bound()
		}
		if err := record.Append(trial); err != nil {
			return fmt.Errorf("trial %d cannot be kept: %w", slot.Trial, err)
		}
		done++
		if r.enough != nil {
			trials = append(trials, trial)
		}
		plan.ended(slot, trial.Error != "")
		clock.ended(slot, time.Since(started))
		r.progress(Event{Slot: slot, Total: total, Done: done, Trial: &trial, Left: clock.left()})
		if err := r.recover(ctx, slot, trial.Error == "", lost); err != nil {
			return err
		}
	}
}

// pace names the trials that take about equally long: those of a workload, or of a workload in an arm that sets some of
// its keys.
func (r *Runner) pace(slot experiment.Slot) string {
	if r.cells.In(slot).Set == nil {
		return slot.Workload
	}
	return slot.Workload + "\x00" + slot.Arm
}

// expected estimates how long a trial takes, without the overhead.
func (r *Runner) expected(slot experiment.Slot) time.Duration {
	w := r.cells.In(slot).Workload
	if t, ok := r.tools.Lookup(w.Tool); ok {
		hosts := r.hosts[slot.Arm]
		plan, err := t.Plan(w, hosts.Endpoints())
		if err == nil {
			behind, _ := r.background(w, plan, hosts)
			return plan.Expected + behind.adds()
		}
	}
	return w.Duration
}

// Planned says what would run for a workload in an arm.
type Planned struct {
	Arm, Workload string
	// Placement is where the workload asks client and server to run.
	Placement experiment.Placement
	// Commands are the command lines, server first; those of the background follow.
	Commands []string
	// ClientCPUs and ServerCPUs are lists of CPU numbers, or "any".
	ClientCPUs, ServerCPUs string
	// Takes estimates how long one trial takes; Trials is how many of them the schedule has.
	Takes  time.Duration
	Trials int
}

// Plans lists what each trial would run. It runs nothing, and needs a Prepare before it.
func (r *Runner) Plans() ([]Planned, error) {
	var all []Planned
	for arm, w := range r.measured() {
		t, _ := r.tools.Lookup(w.Tool)
		work, behind, err := r.job(t, w, arm)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", w.Name, err)
		}
		all = append(all, Planned{
			Arm: arm, Workload: w.Name, Placement: w.Placement, Commands: commandLines(work.plan, behind),
			ClientCPUs: cpuList(work.clientCPUs), ServerCPUs: cpuList(work.serverCPUs),
			Takes:  work.plan.Expected + behind.adds() + overhead,
			Trials: r.experiment.TrialsOf(arm),
		})
	}
	return all, nil
}
