package main

import (
	"context"
	"errors"
	"fmt"

	"nearfar/internal/result"
	"nearfar/internal/runner"
)

// Under a hypervisor two CPUs may share a cache in one second and not in the next, and what passes between them then costs
// several times as much. A ratio of two trials says nothing of the tools where that happened between them. So such trials are
// taken again: by what the machine did, not by what came of them.

// mostTakes is how often a group is measured in a block before it counts as it is.
const mostTakes = 6

// A take is the trials of a group in a block, before they count.
type take struct {
	*record
	held []result.Trial
}

// Append holds the trial.
func (t *take) Append(trial result.Trial) error {
	t.held = append(t.held, trial)
	return nil
}

// moves counts what became of the takes of groups whose rows compare two sides.
type moves struct {
	// Groups is how many were measured with a CPU for each side, Again how many takes were thrown away, and Stayed how many groups
	// count although the CPUs were moved.
	Groups, Again, Stayed int
}

func (m moves) String() string {
	return fmt.Sprintf("%d takes of %d were measured again, since the CPUs came nearer or went apart in between; %d count all the same",
		m.Again, m.Groups+m.Again, m.Stayed)
}

// A schedule can be carried out, but for the trials that are done: a runner.
type schedule interface {
	Run(ctx context.Context, record runner.Record, done []result.Trial) error
}

// measure carries out one group in one block, whose trials are those that are not done, and keeps them.
func (b *bench) measure(ctx context.Context, s schedule, g group, done []result.Trial) error {
	for n := 1; ; n++ {
		t := &take{record: b.record}
		err := s.Run(ctx, t, done)
		var cpus result.CoreToCore
		if len(g.Rows) > 0 {
			cpus = result.CoreToCoreOf(t.held)
		}
		moved := cpus.Slow > 0
		if err == nil && moved && n < mostTakes {
			b.moves.Again++
			b.progress("the CPUs were moved between the trials of %s: measured again", g.Workloads[0].Name)
			continue
		}
		if cpus.Known > 0 {
			b.moves.Groups++
		}
		if moved {
			b.moves.Stayed++
		}
		for _, trial := range t.held {
			err = errors.Join(err, b.keep(trial))
		}
		return err
	}
}
