package cli

import (
	"context"
	"fmt"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/ssh"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/execution"
	"nearfar/internal/measure/runner"
)

// connects says whether a run connects to hosts of the file or to a cluster. A dry run then connects to nothing.
func connects(e *experiment.Experiment) bool { return len(e.Hosts) > 0 || e.HasPods() }

// prepare makes the hosts of a run, checks them, and says what it leaves out. The progress shows the run.
func (a *app) prepare(ctx context.Context, r *execution.Run, o runOptions) (*progress, error) {
	p := newProgress(a.stderr, r.Experiment(), o.progress)
	options := execution.Options{
		Hosts: deploy.Options{
			Step: p.step, SSHConfig: o.sshConfig, Kubeconfig: o.kubeconfig, Terminal: ssh.NewTerminal(a.stderr),
		},
		Event: func(e runner.Event) {
			o.watch.event(e) // first: it only notifies the pages, so that their work falls into the pause between trials
			p.event(e)
		},
		JustMade: o.up || o.redeploy != nil && o.redeploy.JustMade,
	}
	if o.redeploy != nil {
		o.redeploy.Note = func(text string) { p.step("%s", text) }
		options.Machines = o.redeploy
	}
	if err := r.Prepare(ctx, options); err != nil {
		return nil, err
	}
	for workload, reason := range r.Skipped() {
		p.note("workload %s is left out: %s", workload, reason)
	}
	for _, text := range r.Unprotected() {
		p.note("%s", text)
	}
	return p, nil
}

// free frees the hosts of a run.
func (a *app) free(r *execution.Run) {
	if err := r.Close(); err != nil {
		fmt.Fprintln(a.stderr, "nearfar:", err)
	}
}
