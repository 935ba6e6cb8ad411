package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/provision"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/redeploy"
)

// errNotStarted says that the user refused to let the run make new machines.
var errNotStarted = errors.New("the run was not started")

// openAnew finds the machines of an experiment file.
func (a *app) openAnew(file string, e *experiment.Experiment, o runOptions) (*redeploy.Machines, error) {
	m := &redeploy.Machines{File: file, Deleted: o.down, Note: func(text string) { fmt.Fprintln(a.stderr, text) }}
	var err error
	m.Project, err = a.openProject(file, e, provision.Options{Note: func(text string) { m.Note(text) }})
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

// agree shows what each deployment makes anew, and asks once for all deployments.
func (a *app) agree(ctx context.Context, m *redeploy.Machines, e *experiment.Experiment, yes bool) error {
	r, err := m.Project.Redeployment(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "Between the %d deployments of the schedule, these resources are deleted and made again:\n",
		e.Schedule.DeploymentCount())
	for _, address := range r.Replaced {
		fmt.Fprintf(a.stderr, "  %s\n", clean.Line(address))
	}
	fmt.Fprintf(a.stderr, "Other resources that stay: %d.\n", r.Kept)
	m.Agreed = r.Replaced
	if yes {
		return nil
	}
	return a.askFor("delete and make these again", "--yes", "Start the run?", errNotStarted)
}

// resumeRedeploying finds the machines of a resumed run. If the run was interrupted while it made them, it makes them
// now. hosts is the part of run.json, trials are the trials so far.
func (a *app) resumeRedeploying(
	ctx context.Context, e *experiment.Experiment, hosts json.RawMessage, trials []result.Trial, o *runOptions,
) (*redeploy.Machines, error) {
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
	more, err := m.Find(e, hosts, trials)
	if err != nil {
		return nil, err
	}
	if more {
		if err := a.agree(ctx, m, e, o.make.yes); err != nil {
			return nil, fmt.Errorf("%s: %w", clean.Line(file), err)
		}
	}
	return m, m.Resume(ctx, e)
}
