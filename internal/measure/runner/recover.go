package runner

import (
	"context"
	"fmt"

	"nearfar/internal/declare/experiment"
)

// lostInARow is how many trials in a row may lose their hosts: hosts that are made anew would be lost again.
const lostInARow = 3

// Recovery makes new hosts for all arms after a host was lost, as Deployments does. lost wraps host.ErrLost.
type Recovery func(ctx context.Context, lost error) error

// Recover sets the function that makes hosts anew when one was lost. Without it, a lost host ends the run.
func (r *Runner) Recover(remake Recovery) { r.recovery.remake = remake }

// recovery counts how often hosts were lost.
type recovery struct {
	remake Recovery
	// row counts the trials that lost their hosts since a trial succeeded.
	row int
	// times is how often hosts were made anew, most how often they may be.
	times, most int
}

// recover makes new hosts if the trial lost one; lost is nil if it did not. The rest of the deployment then gets
// another number, because it runs on other hosts. The error wraps host.ErrLost.
func (r *Runner) recover(ctx context.Context, slot experiment.Slot, good bool, lost error) error {
	v := &r.recovery
	if good {
		v.row = 0
	}
	if lost == nil {
		return nil
	}
	v.row++
	gaveUp := givenUp(slot, lost)
	switch {
	case v.remake == nil:
		return gaveUp
	case v.row >= lostInARow:
		return fmt.Errorf("%w. Hosts were lost in %d trials, and no trial between them succeeded", gaveUp, v.row)
	case v.times >= v.most:
		return fmt.Errorf("%w. The hosts were made anew %d times, which is the limit for this schedule", gaveUp,
			v.times)
	}
	v.times++
	if err := r.again(func() error { return v.remake(ctx, lost) }); err != nil {
		return fmt.Errorf("%w\nThe hosts cannot be made anew: %w", gaveUp, err)
	}
	r.deployed.other()
	return ctx.Err()
}

// givenUp is the error of a trial whose host was lost.
func givenUp(slot experiment.Slot, lost error) error {
	return fmt.Errorf("trial %d (%s, %s) was given up: %w", slot.Trial, slot.Arm, slot.Workload, lost)
}

// inLab says whether an arm's hosts are in a lab.
func (r *Runner) inLab(arm string) bool {
	a, ok := r.experiment.Arm(r.experiment.HostsOf(arm))
	return ok && a.Lab != nil
}
