package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/provision"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/tool"
)

// machinesAnew makes the machines of a run anew between its deployments.
type machinesAnew struct {
	project *provision.Project
	// agreed are the resources that may be deleted.
	agreed []string
	// note gets a text for each step.
	note func(text string)
	// justMade says that the machines were made a moment ago, so that they may not answer yet.
	justMade bool
	// kept is the number of the deployment whose machines are still there when a run is resumed; 0 if they are others.
	kept int
	// file is the experiment file. deleted says that its machines are deleted when the run ends.
	file    string
	deleted bool
}

// errNotStarted says that the user refused to let the run make new machines.
var errNotStarted = errors.New("the run was not started")

// openAnew finds the machines of an experiment file.
func (a *app) openAnew(file string, e *experiment.Experiment, o runOptions) (*machinesAnew, error) {
	m := &machinesAnew{file: file, deleted: o.down, note: func(text string) { fmt.Fprintln(a.stderr, text) }}
	var err error
	m.project, err = a.openProject(file, e, provision.Options{Note: func(text string) { m.note(text) }})
	return m, err
}

// checkYes refuses --yes for a new run that asks nothing.
func (a *app) checkYes(ctx context.Context, file string, o *runOptions) error {
	if file == "-" || o.text != nil {
		return yesWithoutUp()
	}
	if err := a.content(ctx, file, o); err != nil {
		return err
	}
	e, err := a.parseFile(file, o.data, &o.inputs)
	if err == nil && !e.Redeploys() {
		err = yesWithoutUp()
	}
	return err
}

// startAnew shows what a new run deletes and makes again between its deployments, and asks.
func (a *app) startAnew(
	ctx context.Context, file string, e *experiment.Experiment, o runOptions,
) (*machinesAnew, error) {
	m, err := a.openAnew(file, e, o)
	if err != nil {
		return nil, err
	}
	return m, a.agree(ctx, m, e, o.make.yes)
}

// agree shows what each deployment makes anew, and asks once for all deployments.
func (a *app) agree(ctx context.Context, m *machinesAnew, e *experiment.Experiment, yes bool) error {
	r, err := m.project.Redeployment(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "Between the %d deployments of the schedule, these resources are deleted and made again:\n",
		e.Schedule.DeploymentCount())
	for _, address := range r.Replaced {
		fmt.Fprintf(a.stderr, "  %s\n", clean.Line(address))
	}
	fmt.Fprintf(a.stderr, "Other resources that stay: %d.\n", r.Kept)
	m.agreed = r.Replaced
	switch {
	case yes:
		return nil
	case !a.asks():
		return usagef("nobody can be asked here whether to delete and make these again: give --yes")
	}
	fmt.Fprint(a.stderr, "Start the run? [y/N] ")
	answer, err := line(a.stdin)
	if err == nil && answer != "y" && answer != "yes" {
		err = errNotStarted
	}
	return err
}

// resumeAnew finds the machines of a resumed run. If the run was interrupted while it made them, it makes them now.
// hosts is the part of run.json, trials are the trials so far.
func (a *app) resumeAnew(
	ctx context.Context, e *experiment.Experiment, hosts json.RawMessage, trials []result.Trial, o *runOptions,
) (*machinesAnew, error) {
	file := e.Provision.File
	if file == "" {
		return nil, usagef("%s does not say which experiment file its machines belong to", clean.Line(o.resume))
	}
	// The values of variables are not recorded: they can be secrets.
	now, err := a.readExperiment(file, &o.inputs)
	if err != nil {
		return nil, err
	}
	if now.Name != e.Name || now.Provision == nil || len(now.Provision.Replace) == 0 {
		return nil, usagef("%s does not say any more how the machines of this run are made anew", clean.Line(file))
	}
	e.Provision = now.Provision
	e.Provision.File = file
	m, err := a.openAnew(file, e, *o)
	if err != nil {
		return nil, err
	}
	record, err := m.project.Record()
	if err != nil {
		return nil, err
	}
	up := record != nil && record.State == provision.StateUp
	current := nextDeployment(e, trials)
	if last, ok := deploy.LastMade(hosts); ok && up && last.Made == record.MadeID {
		of := func(t result.Trial) bool { return t.Deployment == last.Deployment }
		if at := slices.IndexFunc(trials, of); at >= 0 {
			m.kept, current = last.Deployment, e.Schedule.DeploymentOf(trials[at].Block)
		}
	}
	if !up || current < e.Schedule.DeploymentCount() {
		if err := a.agree(ctx, m, e, o.make.yes); err != nil {
			return nil, fmt.Errorf("%s: %w", clean.Line(file), err)
		}
	}
	if !up {
		return m, m.Anew(ctx, e)
	}
	return m, m.reread(ctx, e)
}

// nextDeployment is the deployment of the first trial of the schedule that has not run; the last one if all have.
func nextDeployment(e *experiment.Experiment, trials []result.Trial) int {
	ran := map[int]bool{}
	for _, t := range trials {
		ran[t.Trial] = true
	}
	for _, slot := range e.Slots() {
		if !ran[slot.Trial] {
			return slot.Deployment
		}
	}
	return e.Schedule.DeploymentCount()
}

// Made identifies the present machines, and gives the variables of retry with which they were made.
func (m *machinesAnew) Made() (id string, variables []string) {
	r, err := m.project.Record()
	if err != nil || r == nil {
		return "", nil
	}
	if n := len(r.Attempts); n > 0 {
		variables = r.Attempts[n-1].Variables
	}
	return r.MadeID, variables
}

// Anew makes the machines anew, and reads their addresses.
func (m *machinesAnew) Anew(ctx context.Context, e *experiment.Experiment) error {
	m.note("making the machines anew")
	if err := m.project.Redeploy(ctx, m.agreed); err != nil {
		if !m.deleted {
			m.note(fmt.Sprintf("what there is of the machines is kept. Go on with --resume, or delete it with: "+
				"nearfar down %s", clean.Line(m.file)))
		}
		return err
	}
	m.justMade = true
	return m.reread(ctx, e)
}

// reread gives the experiment the hosts that the module has now.
func (m *machinesAnew) reread(ctx context.Context, e *experiment.Experiment) error {
	name, text, err := m.project.Hosts(ctx)
	if err != nil {
		return err
	}
	return e.Rehost(tool.Declared(), experiment.Inputs{HostsName: name, Hosts: text, Made: true})
}
