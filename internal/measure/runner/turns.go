package runner

import (
	"context"
	"errors"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

// A turn is when a trial may do what. The zero value is for a trial that runs alone.
type turn struct {
	// open is closed when the trial before is recorded, and the client may start; nil if no trial runs.
	open <-chan struct{}
	// after is the server of the trial before, which is being ended; nil for none.
	after host.Process
	// ending is told of the trial's server before that is ended; nil for nobody.
	ending func(server host.Process)
}

// await waits until the trial before is recorded. The error is that of ctx, if it ends before.
func (t turn) await(ctx context.Context) error {
	if t.open == nil {
		return nil
	}
	select {
	case <-t.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// turns carries out the trials of a run, one after the other. Where hosts are far, one round trip ends the server of a
// trial and starts the server of the next trial. Nothing else overlaps. The next client starts when the trial before is
// recorded. A server starts when the server before it on the same host, and all that it started, have ended.
type turns struct {
	runner   *Runner
	ctx      context.Context //nolint:containedctx // of the run
	schedule *schedule
	next     *begun
}

// A begun trial has, or will have, a server, and waits for its turn.
type begun struct {
	slot   experiment.Slot
	open   chan struct{}
	giveUp context.CancelCauseFunc
	done   chan struct{} // closed when the rest is valid
	trial  result.Trial
	err    error
}

// trial carries out a trial, which may have begun already.
func (t *turns) trial(slot experiment.Slot) (result.Trial, error) {
	b := t.next
	if b == nil || b.slot != slot {
		t.drop() // the trial before failed, or the run ends
		return t.runner.trial(t.ctx, slot, turn{ending: t.beginAfter(slot)})
	}
	t.next = nil
	defer b.giveUp(nil)
	close(b.open)
	<-b.done
	return b.trial, b.err
}

// beginAfter gives the function that begins the next trial while the server of this one is being ended.
func (t *turns) beginAfter(slot experiment.Slot) func(server host.Process) {
	return func(server host.Process) {
		next, more := t.schedule.ahead(slot)
		if !more || !t.runner.mayOverlap(slot, next) {
			return
		}
		ctx, giveUp := context.WithCancelCause(t.ctx)
		b := &begun{slot: next, open: make(chan struct{}), giveUp: giveUp, done: make(chan struct{})}
		t.next = b
		go func() {
			defer close(b.done)
			b.trial, b.err = t.runner.trial(ctx, next, turn{open: b.open, after: server, ending: t.beginAfter(next)})
		}()
	}
}

// mayOverlap says whether a trial may begin while the server of the one before ends. One with a background may not: the
// background's data flows before the client starts.
func (r *Runner) mayOverlap(slot, next experiment.Slot) bool {
	w := r.cells.In(next).Workload
	return slot.Deployment == next.Deployment && w.Background == nil &&
		r.hosts[slot.Arm].Machines.Ahead(r.hosts[next.Arm].Machines)
}

// errNotNext says that another trial comes next than the one that has begun.
var errNotNext = errors.New("it is not the next trial")

// drop gives up the trial that has begun, and returns when nothing of it runs.
func (t *turns) drop() {
	if b := t.next; b != nil {
		t.next = nil
		b.giveUp(errNotNext)
		<-b.done
	}
}
