package execution

import (
	"context"
	"errors"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/runner"
	"nearfar/internal/onhost/host"
)

// Options say how the hosts of a run are made, and who hears of it.
type Options struct {
	// Hosts say how hosts are made and reached. Hosts.Step gets a text for each step, for a person who waits; it may be
	// nil. If there are Machines, they say what Hosts.Made and Hosts.MadeWith are.
	Hosts deploy.Options
	// Event gets the start and the end of each trial, while nothing is measured; nil for nobody.
	Event func(runner.Event)
	// Machines makes the machines anew between the deployments of the schedule; nil if they are made once.
	Machines Machines
	// JustMade says that the machines were made a moment ago, so that they may not answer yet.
	JustMade bool
}

// Machines makes the machines of a run anew between its deployments.
type Machines interface {
	// Made identifies the present machines, and gives the variables with which they were made after a refusal.
	Made() (id string, variables []string)
	// Remake makes the machines anew, and gives the experiment their hosts.
	Remake(ctx context.Context, e *experiment.Experiment) error
}

// How long hosts may take after their machines were made until they answer, and then until they are ready; how long
// they may take to have tools without which they can be measured too; and the time between two tries.
const (
	startLimit    = 5 * time.Minute
	optionalLimit = time.Minute
	startPause    = 2 * time.Second
)

// Prepare makes the hosts of all arms, and checks that an experiment can run on them. The error lists all that is
// wrong. After an error no host is left.
func (r *Run) Prepare(ctx context.Context, o Options) error {
	if o.Hosts.Step == nil {
		o.Hosts.Step = func(string, ...any) {}
	}
	if o.Machines != nil {
		o.Hosts.Made, o.Hosts.MadeWith = o.Machines.Made()
	}
	r.options = o
	hosts, err := r.deploy(ctx, o.JustMade)
	if err != nil {
		return err
	}
	r.hosts, r.runner = hosts, newRunner(r.experiment, hosts.Hosts(), o.Event)
	r.runner.Deployments(r.deployAgain)
	r.runner.Deployed(r.readFacts)
	if r.experiment.HasPods() { // a cluster makes new pods; machines of the file are gone until someone repairs them
		r.runner.Recover(r.recover)
	}
	if err := r.checkNew(ctx, o.JustMade); err != nil {
		r.hosts = nil
		return errors.Join(err, hosts.Close())
	}
	return nil
}

// Check checks tools, addresses and hosts before anything is measured. The error lists all that is wrong with them.
func Check(ctx context.Context, e *experiment.Experiment, hosts *deploy.Deployment) error {
	return checkHosts(ctx, newRunner(e, hosts.Hosts(), nil), hosts)
}

// checkHosts also gives the runner the addresses from which servers see their clients.
func checkHosts(ctx context.Context, run *runner.Runner, hosts *deploy.Deployment) error {
	err := run.Prepare(ctx)
	if ctx.Err() != nil || errors.Is(err, host.ErrLost) {
		return err
	}
	err = errors.Join(err, hosts.Preflight(ctx, run.Traffic()))
	run.SetPeers(hosts.Peers())
	return err
}

// deploy makes the hosts. Machines that were just made may take a while until they answer and know their users, so
// every error is tried again until startLimit.
func (r *Run) deploy(ctx context.Context, justMade bool) (*deploy.Deployment, error) {
	end := time.Now().Add(startLimit)
	for {
		hosts, err := deploy.Up(ctx, r.experiment, r.options.Hosts)
		if err == nil || !justMade || ctx.Err() != nil || time.Now().After(end) {
			return hosts, err
		}
		r.step("the machines were just made, and not all answer yet: %v", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(startPause):
		}
	}
}

// deployAgain frees the hosts and makes them anew for the next deployment of the schedule.
// deployment is 0 if a host was lost: the machines of the file stay.
func (r *Run) deployAgain(ctx context.Context, deployment int) error {
	if err := r.hosts.Close(); err != nil {
		return err
	}
	machines := r.options.Machines != nil && deployment > 0
	if machines {
		if err := r.options.Machines.Remake(ctx, r.experiment); err != nil {
			return err
		}
		r.options.Hosts.Made, r.options.Hosts.MadeWith = r.options.Machines.Made()
	}
	hosts, err := r.deploy(ctx, machines)
	if err != nil {
		return err
	}
	hosts.Inherit(r.hosts)
	r.hosts = hosts
	r.runner.SetHosts(hosts.Hosts())
	return r.checkNew(ctx, machines)
}

// checkNew checks hosts whose machines may have been made a moment ago. Such a machine answers before its system has
// installed the tools, so whatever is missing is looked for again until startLimit. Tools that a run can do without are
// waited for only until optionalLimit: nobody may ever install them.
func (r *Run) checkNew(ctx context.Context, justMade bool) error {
	if !justMade {
		return checkHosts(ctx, r.runner, r.hosts)
	}
	return untilReady(ctx, r.step, startPause, startLimit, optionalLimit, func() (missing int, err error) {
		err = checkHosts(ctx, r.runner, r.hosts)
		return len(r.runner.Skipped()), err
	})
}

// untilReady calls check until it finds nothing missing, or until a time limit: most for an error, and optional for
// what is missing without an error.
func untilReady(
	ctx context.Context, step func(format string, args ...any), pause, most, optional time.Duration,
	check func() (missing int, err error),
) error {
	for began, shown := time.Now(), ""; ; {
		missing, err := check()
		limit, text := optional, "tools of optional workloads are missing"
		if err != nil {
			limit, text = most, clean.Line(err.Error())
		}
		if err == nil && missing == 0 || ctx.Err() != nil || errors.Is(err, host.ErrLost) || time.Since(began) > limit {
			return err
		}
		if text != shown {
			step("the machines were just made, and are not ready yet: %s", text)
			shown = text
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// readFacts reads the facts of the hosts of a deployment, before the first trial on them, and keeps them in run.json.
func (r *Run) readFacts(ctx context.Context, deployment int) (map[string]result.Sides[check.Facts], error) {
	facts := r.hosts.ReadFacts(ctx, deployment)
	if ctx.Err() != nil {
		return facts, nil
	}
	hosts := r.hosts.Facts(ctx)
	return facts, r.dir.Update(func(m *rundir.Manifest) { m.Hosts = hosts })
}

// recover frees the remaining hosts after one was lost, and makes all of them anew.
func (r *Run) recover(ctx context.Context, lost error) error {
	r.step("%s; making the hosts anew", clean.Line(lost.Error()))
	return r.deployAgain(ctx, 0)
}

// step says what is done, to a person who waits.
func (r *Run) step(format string, args ...any) { r.options.Hosts.Step(format, args...) }
