package cli

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"nearfar/internal/engine/process"
	"nearfar/internal/experiment"
	"nearfar/internal/host/lab"
	"nearfar/internal/runner"
)

// setup holds the lab and the runner of a run. The hosts have been made and the tools found.
type setup struct {
	experiment *experiment.Experiment
	lab        *lab.Lab
	runner     *runner.Runner
	progress   *progress
	watch      *watcher // nil without --watch
	// load says how busy the machine was before the lab was made; nil if unknown.
	load *lab.Load
}

// setUp makes the hosts of all arms and checks that they have the tools. The caller closes the setup.
func (a *app) setUp(ctx context.Context, e *experiment.Experiment, progress string) (*setup, error) {
	tools := newTools(newSecret())
	p := newProgress(a.stderr, e, progress)
	load := machineLoad(ctx, p)
	p.step("making the hosts of %d arms", len(e.Arms))
	l, err := lab.Open(ctx, lab.Options{RateOnly: wiresOnlyLimitRate(e)})
	if err != nil {
		return nil, err
	}
	s := &setup{experiment: e, lab: l, progress: p, load: load}
	s.runner = runner.New(e, tools, labStage{l}, runner.DefaultLimits(), s.event)
	if err := s.runner.Prepare(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	for workload, reason := range s.runner.Skipped() {
		p.note("workload %s is left out: %s", workload, reason)
	}
	return s, nil
}

// event receives the runner's events.
func (s *setup) event(e runner.Event) {
	s.watch.event(e) // first: it only notifies the pages, so that their work falls into the pause between trials
	s.progress.event(e)
}

func (s *setup) close(stderr io.Writer) {
	if err := s.lab.Close(); err != nil {
		fmt.Fprintln(stderr, "nearfar: the lab did not end cleanly:", err)
	}
}

func (s *setup) versions() map[string]string {
	versions := map[string]string{"nearfar": process.Version()}
	maps.Copy(versions, s.runner.Versions())
	return versions
}

// machineName returns the machine's host name, "" if it has none.
func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// drawSeed draws a random seed, which is never 0. It has at most 53 bits, so that every JSON reader keeps it exactly.
func drawSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])>>11 | 1
}
