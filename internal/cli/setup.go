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

	"nearfar/internal/deploy"
	"nearfar/internal/engine/process"
	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/host/ssh"
	"nearfar/internal/hostverbs"
	"nearfar/internal/runner"
)

// setup holds the hosts and the runner of a run. The hosts have been made and the tools found.
type setup struct {
	experiment *experiment.Experiment
	hosts      *deploy.Deployment
	runner     *runner.Runner
	progress   *progress
	watch      *watcher // nil without --watch
}

// planOnly is a setup for the plan of an experiment with hosts, which connects to nothing.
func planOnly(e *experiment.Experiment) *setup {
	s := &setup{experiment: e}
	s.runner = runner.New(e, newTools(hostverbs.NewSecret()), deploy.Planned(e), runner.DefaultLimits(), nil)
	return s
}

// setUp makes the hosts of all arms and checks that they have the tools. The caller closes the setup.
func (a *app) setUp(ctx context.Context, e *experiment.Experiment, o runOptions) (*setup, error) {
	tools := newTools(hostverbs.NewSecret())
	p := newProgress(a.stderr, e, o.progress)
	hosts, err := deploy.Up(ctx, e, deploy.Options{
		Step: p.step, SSHConfig: o.sshConfig, Terminal: ssh.NewTerminal(a.stderr),
	})
	if err != nil {
		return nil, err
	}
	s := &setup{experiment: e, hosts: hosts, progress: p}
	s.runner = runner.New(e, tools, hosts.Hosts(), runner.DefaultLimits(), s.event)
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(err, hosts.Close())
	}
	for workload, reason := range s.runner.Skipped() {
		p.note("workload %s is left out: %s", workload, reason)
	}
	return s, nil
}

// check checks tools, addresses and hosts before anything is measured. The error lists all that is wrong with them.
func (s *setup) check(ctx context.Context) error {
	err := s.runner.Prepare(ctx)
	if ctx.Err() != nil || errors.Is(err, host.ErrLost) {
		return err
	}
	return errors.Join(err, s.hosts.Preflight(ctx, s.runner.Traffic()))
}

// event receives the runner's events.
func (s *setup) event(e runner.Event) {
	s.watch.event(e) // first: it only notifies the pages, so that their work falls into the pause between trials
	s.progress.event(e)
}

func (s *setup) close(stderr io.Writer) {
	if err := s.hosts.Close(); err != nil {
		fmt.Fprintln(stderr, "nearfar: the hosts did not end cleanly:", err)
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
