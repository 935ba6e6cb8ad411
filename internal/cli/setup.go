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
	"time"

	"nearfar/internal/check"
	"nearfar/internal/clean"
	"nearfar/internal/deploy"
	"nearfar/internal/engine"
	"nearfar/internal/engine/process"
	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/host/ssh"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
	"nearfar/internal/runner"
	"nearfar/internal/tool"
)

// setup holds the hosts and the runner of a run. The hosts have been made and the tools found.
type setup struct {
	experiment *experiment.Experiment
	hosts      *deploy.Deployment
	runner     *runner.Runner
	progress   *progress
	watch      *watcher // nil without --watch
	options    deploy.Options
	anew       *machinesAnew // nil if no machines are made anew between deployments
	// dir is the run directory; nil before the run has one.
	dir *rundir.Dir
}

// connects says whether a run connects to hosts of the file or to a cluster. A dry run then connects to nothing.
func connects(e *experiment.Experiment) bool { return len(e.Hosts) > 0 || e.HasPods() }

// planOnly is a setup for the plan of an experiment that connects to hosts. It connects to nothing.
func planOnly(e *experiment.Experiment) *setup {
	s := &setup{experiment: e}
	s.runner = runner.New(e, tool.All(engine.NewSecret()), deploy.Planned(e), runner.DefaultLimits(), nil)
	return s
}

// setUp makes the hosts of all arms and checks that they have the tools. The caller closes the setup.
func (a *app) setUp(ctx context.Context, e *experiment.Experiment, o runOptions) (*setup, error) {
	tools := tool.All(engine.NewSecret())
	p := newProgress(a.stderr, e, o.progress)
	options := deploy.Options{
		Step: p.step, SSHConfig: o.sshConfig, Kubeconfig: o.kubeconfig, Terminal: ssh.NewTerminal(a.stderr),
	}
	if o.anew != nil {
		o.anew.note = func(text string) { p.step("%s", text) }
		options.Made, options.MadeWith = o.anew.made()
	}
	justMade := o.up || o.anew != nil && o.anew.justMade
	hosts, err := deployNew(ctx, e, options, justMade)
	if err != nil {
		return nil, err
	}
	s := &setup{experiment: e, hosts: hosts, progress: p, options: options, anew: o.anew}
	s.runner = runner.New(e, tools, hosts.Hosts(), runner.DefaultLimits(), s.event)
	s.runner.Deployments(s.deployAgain)
	s.runner.Deployed(s.readFacts)
	if e.HasPods() { // a cluster makes new pods; machines of the file are gone until someone repairs them
		s.runner.Recover(s.recover)
	}
	if err := s.checkNew(ctx, justMade); err != nil {
		return nil, errors.Join(err, hosts.Close())
	}
	for workload, reason := range s.runner.Skipped() {
		p.note("workload %s is left out: %s", workload, reason)
	}
	for _, text := range s.runner.Unprotected() {
		p.note("%s", text)
	}
	return s, nil
}

// check checks tools, addresses and hosts before anything is measured. The error lists all that is wrong with them.
func (s *setup) check(ctx context.Context) error {
	err := s.runner.Prepare(ctx)
	if ctx.Err() != nil || errors.Is(err, host.ErrLost) {
		return err
	}
	err = errors.Join(err, s.hosts.Preflight(ctx, s.runner.Traffic()))
	s.runner.SetPeers(s.hosts.Peers())
	return err
}

// deployAgain frees the hosts and makes them anew for the next deployment of the schedule.
// deployment is 0 if a host was lost: the machines of the file stay.
func (s *setup) deployAgain(ctx context.Context, deployment int) error {
	if err := s.hosts.Close(); err != nil {
		return err
	}
	machines := s.anew != nil && deployment > 0
	if machines {
		if err := s.anew.redeploy(ctx, s.experiment); err != nil {
			return err
		}
		s.options.Made, s.options.MadeWith = s.anew.made()
	}
	hosts, err := deployNew(ctx, s.experiment, s.options, machines)
	if err != nil {
		return err
	}
	hosts.Inherit(s.hosts)
	s.hosts = hosts
	s.runner.SetHosts(hosts.Hosts())
	return s.checkNew(ctx, machines)
}

// checkNew is check for hosts whose machines may have been made a moment ago. Such a machine answers before its system
// has installed the tools, so whatever is missing is looked for again until startLimit. Tools that a run can do without
// are waited for only until optionalLimit: nobody may ever install them.
func (s *setup) checkNew(ctx context.Context, justMade bool) error {
	if !justMade {
		return s.check(ctx)
	}
	return untilReady(ctx, s.progress.step, startPause, startLimit, optionalLimit, func() (missing int, err error) {
		err = s.check(ctx)
		return len(s.runner.Skipped()), err
	})
}

// untilReady calls check until it finds nothing missing, or until a time limit: most for an error, and optional for
// what is missing without an error.
func untilReady(
	ctx context.Context, step func(format string, args ...any), pause, most, optional time.Duration,
	check func() (missing int, err error),
) error {
	for began, told := time.Now(), ""; ; {
		missing, err := check()
		limit, text := optional, "tools of optional workloads are missing"
		if err != nil {
			limit, text = most, clean.Line(err.Error())
		}
		if err == nil && missing == 0 || ctx.Err() != nil || errors.Is(err, host.ErrLost) || time.Since(began) > limit {
			return err
		}
		if text != told {
			step("the machines were just made, and are not ready yet: %s", text)
			told = text
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// readFacts reads the facts of the hosts of a deployment, before the first trial on them, and keeps them in run.json.
func (s *setup) readFacts(ctx context.Context, deployment int) (map[string]result.Sides[check.Facts], error) {
	facts := s.hosts.ReadFacts(ctx, deployment)
	if s.dir == nil || ctx.Err() != nil {
		return facts, nil
	}
	hosts := s.hosts.Facts(ctx)
	return facts, s.dir.Update(func(m *rundir.Manifest) { m.Hosts = hosts })
}

// recover frees the remaining hosts after one was lost, and makes all of them anew.
func (s *setup) recover(ctx context.Context, lost error) error {
	s.progress.step("%s; making the hosts anew", clean.Line(lost.Error()))
	return s.deployAgain(ctx, 0)
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
