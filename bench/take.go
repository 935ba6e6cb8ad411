package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nearfar/internal/result"
	"nearfar/internal/runner"
)

// Under a hypervisor two CPUs may share a cache in one second and not in the next, and what passes between them then costs
// several times as much. A ratio of two trials says nothing of the tools where that happened between them. So such trials are
// taken again: by what the machine did, not by what came of them.

const (
	// farApart is how many times as long a cache line takes between CPUs that were moved.
	farApart = 2
	// mostTakes is how often a group is measured in a block before it counts as it is.
	mostTakes = 6
)

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

// known says whether any trial of the take says how far apart its CPUs were.
func (t *take) known() bool {
	for _, trial := range t.held {
		if _, _, known := trial.CoreToCore(); known {
			return true
		}
	}
	return false
}

// moved says whether the CPUs were nearer to each other at one moment of the take than at another; not where nothing is known
// of them.
func (t *take) moved() bool {
	var nearest, farthest time.Duration
	for _, trial := range t.held {
		before, after, known := trial.CoreToCore()
		if !known {
			continue
		}
		if nearest == 0 {
			nearest = before
		}
		nearest, farthest = min(nearest, before, after), max(farthest, before, after)
	}
	return farthest >= farApart*nearest && nearest > 0
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

// A schedule is what a runner carries out of it, but for the trials that are done.
type schedule interface {
	Run(ctx context.Context, record runner.Record, done map[int]bool) error
}

// measure carries out one group in one block, whose trials are those that are not done, and keeps them.
func (b *bench) measure(ctx context.Context, s schedule, g group, done map[int]bool) error {
	for n := 1; ; n++ {
		t := &take{record: b.record}
		err := s.Run(ctx, t, done)
		moved := len(g.Rows) > 0 && t.moved()
		if err == nil && moved && n < mostTakes {
			b.moves.Again++
			b.progress("the CPUs were moved between the trials of %s: measured again", g.Workloads[0].Name)
			continue
		}
		if len(g.Rows) > 0 && t.known() {
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
