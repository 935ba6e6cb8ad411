package main

import (
	"context"
	"errors"
	"fmt"

	"nearfar/internal/declare/result"
	"nearfar/internal/measure/runner"
)

// Under a hypervisor two CPUs may share a cache in one second and not in the next. The core-to-core latency then
// changes several times over. If that happens between two trials, their ratio says nothing about the tools, and the
// trials are measured again. The decision depends on the core-to-core latency alone, never on the figures of the
// trials.

// mostTakes is how often a group is measured in a block at most. The last take counts in any case.
const mostTakes = 6

// A take is one measurement of a group in a block, whose trials are not recorded yet.
type take struct {
	*record
	held []result.Trial
}

// Append keeps the trial in memory.
func (t *take) Append(trial result.Trial) error {
	t.held = append(t.held, trial)
	return nil
}

// moves counts the takes of groups that have rows and a CPU for each side.
type moves struct {
	// Groups counts the takes that were kept. Again counts the takes that were discarded. Stayed counts the takes that
	// were kept although the core-to-core latency changed.
	Groups, Again, Stayed int
}

func (m moves) String() string {
	return fmt.Sprintf("%d of %d takes were discarded and measured again, because the core-to-core latency changed "+
		"between their trials; %d were kept in spite of it", m.Again, m.Groups+m.Again, m.Stayed)
}

// A schedule runs all its trials except those in done. A *runner.Runner is one.
type schedule interface {
	Run(ctx context.Context, record runner.Record, done []result.Trial) error
}

// measure measures one group in one block and records its trials. done lists the trials of the other blocks.
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
			b.progress("the core-to-core latency changed between the trials of %s: measured again", g.Workloads[0].Name)
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
