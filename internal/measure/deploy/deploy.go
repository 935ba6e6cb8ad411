// Package deploy makes the hosts of an experiment's arms and frees them. It is the only package that knows all kinds of
// hosts; the runner knows none.
package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/ssh"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// Options say how to deploy.
type Options struct {
	// Step gets a text for each step, for a person who waits. It may be nil. Calls do not overlap.
	Step func(format string, args ...any)
	// Program is the nearfar program that runs on the hosts; empty for the calling program.
	Program string
	// Files are put on every host: the keys are paths on the host, the values files of this machine. They are
	// executable.
	Files map[string]string
	// SSHConfig is the configuration file for ssh; empty for the user's own.
	SSHConfig string
	// Kubeconfig is the file that says how clusters are reached; empty for the files that kubectl reads.
	Kubeconfig string
	// Made names the machines that provision has made, if it did (provision.Record.MadeID). MadeWith are the variables
	// with which they were made after a refusal, as NAME=VALUE.
	Made     string
	MadeWith []string
	// Terminal is where ssh may ask for passwords and host keys; nil refuses hosts that need an answer.
	Terminal *ssh.Terminal
}

// lockedStep returns Step, made safe for several goroutines.
func (o Options) lockedStep() func(format string, args ...any) {
	if o.Step == nil {
		return func(string, ...any) {}
	}
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		o.Step(format, args...)
	}
}

// A Deployment is the hosts of all arms of an experiment.
type Deployment struct {
	experiment *experiment.Experiment
	hosts      map[string]host.Hosts
	kinds      []kind
	load       *machine.Load
	facts      keptFacts
	step       func(format string, args ...any)
	// machines are the machines of the deployments so far. made and madeWith are copied from the options.
	machines []MadeMachines
	made     string
	madeWith []string
}

// A kind makes hosts of one kind.
type kind interface {
	// build makes the hosts of the arms, which are owners of their hosts (experiment.HostsOf). It may be called once.
	build(ctx context.Context, arms []experiment.Arm) (map[string]host.Hosts, error)
	// preflight says what stops the traffic and the trials of the arms that have hosts of this kind.
	preflight(ctx context.Context, e *experiment.Experiment, traffic []host.Traffic) (problems []string)
	// peers are the addresses from which servers see their clients, by arm (Deployment.Peers).
	peers() map[string][]netip.Prefix
	// record adds the facts of the hosts to the part "hosts" of run.json. It leaves out facts that cannot be read.
	record(ctx context.Context, e *experiment.Experiment, r *Record)
	// close frees the hosts. It may be called after a failed build, and twice.
	close() error
}

// Up makes the hosts of all arms. The kinds of hosts are made at the same time. After an error nothing is left.
func Up(ctx context.Context, e *experiment.Experiment, o Options) (*Deployment, error) {
	o.Step = o.lockedStep()
	d := &Deployment{
		experiment: e, hosts: map[string]host.Hosts{}, step: o.Step, made: o.Made, madeWith: o.MadeWith,
	}
	if slices.ContainsFunc(e.Arms, func(a experiment.Arm) bool { return a.Lab != nil }) {
		d.load = readLoad(ctx, o.Step) // Preflight asks the hosts that the file names
	}
	o.Step("making the hosts of %d arms", len(e.Arms))
	arms, err := d.divide(o)
	if err != nil {
		return nil, err
	}
	if err := d.build(ctx, arms); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := d.put(ctx, o.Files); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// divide gives each arm that has hosts of its own to the kind of its hosts. The result is by kind, as in d.kinds.
func (d *Deployment) divide(o Options) ([][]experiment.Arm, error) {
	var labs, givenArms, podArms []experiment.Arm
	for _, arm := range d.experiment.Arms {
		switch {
		case d.experiment.HostsOf(arm.Name) != arm.Name:
		case arm.Lab != nil:
			labs = append(labs, arm)
		case arm.Kubernetes != nil:
			podArms = append(podArms, arm)
			if arm.Client != "" || arm.Server != "" {
				givenArms = append(givenArms, arm)
			}
		case arm.Client != "":
			givenArms = append(givenArms, arm)
		default:
			return nil, fmt.Errorf("arm %s: the experiment file does not say how to make its hosts", arm.Name)
		}
	}
	var arms [][]experiment.Arm
	if len(labs) > 0 {
		d.kinds, arms = append(d.kinds, newLabs(d.experiment, o)), append(arms, labs)
	}
	var named *given
	if len(givenArms) > 0 {
		named = newGiven(d.experiment, o)
		d.kinds, arms = append(d.kinds, named), append(arms, givenArms)
	}
	if len(podArms) > 0 {
		d.kinds, arms = append(d.kinds, newPods(d.experiment, o, named)), append(arms, podArms)
	}
	return arms, nil
}

// build makes the hosts of each kind, all at the same time. Arms that share hosts get the same ones.
func (d *Deployment) build(ctx context.Context, arms [][]experiment.Arm) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	made := make([]map[string]host.Hosts, len(d.kinds))
	errs := inParallel(d.kinds, func(i int, k kind) (err error) {
		if made[i], err = k.build(ctx, arms[i]); err != nil {
			cancel() // the others need not go on
		}
		return err
	})
	if err := firstCause(errs); err != nil {
		return err
	}
	for _, arm := range d.experiment.Arms {
		owner := d.experiment.HostsOf(arm.Name)
		for _, hosts := range made {
			if h, ok := hosts[owner]; ok {
				d.hosts[arm.Name] = h
			}
		}
	}
	return nil
}

// firstCause joins the errors. It leaves out errors of builds that were cancelled because another one failed.
func firstCause(errs []error) error {
	causes := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, context.Canceled) })
	if err := errors.Join(causes...); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// put writes the files on every host.
func (d *Deployment) put(ctx context.Context, files map[string]string) error {
	for arm, hosts := range d.hosts {
		if d.experiment.HostsOf(arm) != arm {
			continue
		}
		for path, file := range files {
			for _, h := range []host.Host{hosts.Client, hosts.Server} {
				if err := putFile(ctx, h, path, file); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func putFile(ctx context.Context, h host.Host, path, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	return errors.Join(h.Put(ctx, path, 0o755, f), f.Close())
}

// Hosts are the hosts of each arm.
func (d *Deployment) Hosts() map[string]host.Hosts { return d.hosts }

// Facts is the part "hosts" of run.json: the facts of the hosts, the counters of their paths, and how busy this machine
// was before. It leaves out facts that cannot be read, so that a run is not lost because of them.
func (d *Deployment) Facts(ctx context.Context) json.RawMessage {
	record := Record{
		Before: d.load, Facts: d.facts.kept, FactsLeftOut: d.facts.leftOut, Deployments: d.machines,
		Between: d.between(), Machines: map[string]agent.Facts{}, Sides: map[string]Sides{}, States: map[string]State{},
	}
	for _, k := range d.kinds {
		k.record(ctx, d.experiment, &record)
	}
	data, err := json.Marshal(record)
	if err != nil {
		return nil
	}
	return data
}

// Use says that the hosts are measured from now on: the join strings of agents are used up. Before, Close leaves such
// agents to another run.
func (d *Deployment) Use() {
	for _, k := range d.kinds {
		if named, ok := k.(*given); ok {
			named.use()
		}
	}
}

// Close ends everything on the hosts and frees them. It may be called twice.
func (d *Deployment) Close() error {
	return errors.Join(inParallel(d.kinds, func(_ int, k kind) error { return k.close() })...)
}

// inParallel calls do for all items at the same time, and gives the error of each.
func inParallel[T any](items []T, do func(i int, item T) error) []error {
	errs := make([]error, len(items))
	var all sync.WaitGroup
	for i, item := range items {
		all.Go(func() { errs[i] = do(i, item) })
	}
	all.Wait()
	return errs
}
