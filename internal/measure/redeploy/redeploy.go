// Package redeploy makes the machines of a run anew between its deployments.
package redeploy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/provision"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/tool"
)

// Machines are the machines of a run that are made anew.
type Machines struct {
	Project *provision.Project
	// File is the experiment file. Deleted says that its machines are deleted when the run ends.
	File    string
	Deleted bool
	// Agreed are the resources that may be deleted.
	Agreed []string
	// Note gets a text for each step.
	Note func(text string)
	// JustMade says that the machines were made a moment ago, so that they may not answer yet.
	JustMade bool
	// Kept is the number of the deployment whose machines are still there when a run is resumed; 0 if they are others.
	Kept int
	// up says that the machines of a resumed run are there.
	up bool
}

// Find finds the machines of a resumed run. more says that the rest of the run makes machines anew. hosts is the part
// of run.json, trials are the trials so far.
func (m *Machines) Find(
	e *experiment.Experiment, hosts json.RawMessage, trials []result.Trial,
) (more bool, err error) {
	record, err := m.Project.Record()
	if err != nil {
		return false, err
	}
	m.up = record != nil && record.State == provision.StateUp
	current := nextDeployment(e, trials)
	if last, ok := deploy.LastMade(hosts); ok && m.up && last.Made == record.MadeID {
		of := func(t result.Trial) bool { return t.Deployment == last.Deployment }
		if at := slices.IndexFunc(trials, of); at >= 0 {
			m.Kept, current = last.Deployment, e.Schedule.DeploymentOf(trials[at].Block)
		}
	}
	return !m.up || current < e.Schedule.DeploymentCount(), nil
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

// Resume gives the experiment of a resumed run the machines that Find found. If the run was interrupted while it made
// them, it makes them now.
func (m *Machines) Resume(ctx context.Context, e *experiment.Experiment) error {
	if !m.up {
		return m.Remake(ctx, e)
	}
	return m.reread(ctx, e)
}

// Made identifies the present machines, and gives the variables of retry with which they were made.
func (m *Machines) Made() (id string, variables []string) {
	r, err := m.Project.Record()
	if err != nil || r == nil {
		return "", nil
	}
	if n := len(r.Attempts); n > 0 {
		variables = r.Attempts[n-1].Variables
	}
	return r.MadeID, variables
}

// Remake makes the machines anew, and reads their addresses.
func (m *Machines) Remake(ctx context.Context, e *experiment.Experiment) error {
	m.Note("making the machines anew")
	if err := m.Project.Redeploy(ctx, m.Agreed); err != nil {
		if !m.Deleted {
			m.Note(fmt.Sprintf("what there is of the machines is kept. Go on with --resume, or delete it with: "+
				"nearfar down %s", clean.Line(m.File)))
		}
		return err
	}
	m.JustMade = true
	return m.reread(ctx, e)
}

// reread gives the experiment the hosts that the module has now.
func (m *Machines) reread(ctx context.Context, e *experiment.Experiment) error {
	in, err := m.Project.Hosts(ctx)
	if err != nil {
		return err
	}
	return experimentfile.Rehost(e, tool.Declared(), in)
}
