package provision

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Redeployment is what is deleted and made again for each deployment of a schedule.
type Redeployment struct {
	// Replaced are the addresses of the resources that are deleted: those that the file names, and those that depend on
	// them.
	Replaced []string
	// Kept is how many other resources there are.
	Kept int
}

// Redeployment says what Redeploy would delete. The machines must be up, or a Redeploy must have failed.
func (p *Project) Redeployment(ctx context.Context) (r Redeployment, err error) {
	if err := p.begin(ctx); err != nil {
		return Redeployment{}, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	t, err := p.startAgain(ctx)
	if err != nil {
		return Redeployment{}, err
	}
	targets, err := p.targets(ctx, t)
	if err != nil {
		return Redeployment{}, err
	}
	variables, _ := p.provision.In(p.attempt())
	plan, err := t.planWith(ctx, variables, deletion(targets)...)
	if err != nil {
		return Redeployment{}, err
	}
	all, err := t.resources(ctx)
	if err != nil {
		return Redeployment{}, err
	}
	r.Replaced = slices.Clone(p.record.Replaced) // an interrupted Redeploy may have deleted them
	for _, c := range plan.Changes {
		r.Replaced = append(r.Replaced, c.Resource)
	}
	slices.Sort(r.Replaced)
	r.Replaced = slices.Compact(r.Replaced)
	for _, address := range all.Resources {
		if !slices.Contains(r.Replaced, address) {
			r.Kept++
		}
	}
	return r, nil
}

// Redeploy deletes what decides where the machines are, waits until all of it is gone, and makes it again. All of it is
// deleted before anything is made, because a placement group can stay where it is while it has a machine. agreed are
// the resources that may be deleted; if a plan would delete another one, nothing more is done.
//
// After a refusal for lack of capacity or quota it tries again as the file says, each time from the deletion on. After
// an error or an interrupt, Redeploy can be called again.
func (p *Project) Redeploy(ctx context.Context, agreed []string) (err error) {
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	t, err := p.startAgain(ctx)
	if err != nil {
		return err
	}
	targets, err := p.targets(ctx, t)
	if err != nil {
		return err
	}
	var tried []Attempt
	for attempt := p.attempt(); ; attempt++ {
		err := p.replace(ctx, t, attempt, targets, agreed)
		if err == nil {
			return p.made(ctx, t)
		}
		failure, ok := errors.AsType[*FailedError](err)
		if !ok || failure.Refusal == nil || p.record.State != StateRedeploying {
			return p.failedAgain(ctx, t, err)
		}
		last, saved := p.refused(*failure.Refusal)
		if saved != nil {
			return errors.Join(err, saved)
		}
		if tried = append(tried, last); len(tried) >= max(1, p.provision.Retry.Attempts) {
			return p.failedAgain(ctx, t, fmt.Errorf("%w%s", err, list(tried)))
		}
		p.options.Note("refused: " + failure.Refusal.String())
		if err := p.pause(ctx, attempt); err != nil {
			return p.failedAgain(ctx, t, err)
		}
	}
}

// replace deletes the targets, and then makes everything that is missing.
func (p *Project) replace(ctx context.Context, t *tool, attempt int, targets, agreed []string) error {
	old, _ := p.provision.In(p.attempt())
	plan, err := t.planWith(ctx, old, deletion(targets)...)
	if err != nil {
		return err
	}
	if err := onlyAgreed(plan, agreed); err != nil {
		return err
	}
	variables, choice := p.provision.In(attempt)
	if err := p.making(t, attempt, choice, StateRedeploying, true); err != nil {
		return err
	}
	if err := p.save(func(r *Record) { r.Replaced = agreed }); err != nil {
		return err
	}
	if !plan.Empty() {
		if err := t.create(ctx, old); err != nil {
			return err
		}
	}
	if plan, err = t.plan(ctx, variables); err != nil {
		return err
	}
	if err := onlyAgreed(plan, agreed); err != nil {
		return err
	}
	return t.create(ctx, variables)
}

// failedAgain is failed for a Redeploy. Nothing is forgotten if nothing is left: the next Redeploy makes it.
func (p *Project) failedAgain(ctx context.Context, t *tool, err error) error {
	if p.record.State != StateRedeploying {
		return err // nothing was begun
	}
	all, listErr := p.remaining(context.WithoutCancel(ctx), t)
	return errors.Join(err, p.save(func(r *Record) {
		if r.State, r.Process = StateFailed, nil; listErr == nil {
			r.Resources = all.count()
		}
	}))
}

// startAgain is start for machines that were made before.
func (p *Project) startAgain(ctx context.Context) (*tool, error) {
	if p.record == nil || p.record.State == StateDestroying {
		return nil, &NotUpError{p.record}
	}
	m, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	t, ok := m.(*tool)
	if !ok {
		return nil, errors.New("provision: replace needs a module of OpenTofu or Terraform: " +
			"only its resources can be named")
	}
	return t, p.refuseLost()
}

// targets are the addresses of the resources that the file names, as far as they are there or were when a Redeploy
// began.
func (p *Project) targets(ctx context.Context, t *tool) ([]string, error) {
	there, err := t.resources(ctx)
	if err != nil {
		return nil, err
	}
	all := append(there.Resources, p.record.Replaced...)
	slices.Sort(all)
	all = slices.Compact(all)
	var targets []string
	for _, entry := range p.provision.Replace {
		count := len(targets)
		for _, address := range all {
			if names(entry, address) {
				targets = append(targets, address)
			}
		}
		if len(targets) == count {
			return nil, fmt.Errorf("provision: replace: %s is no resource of the module in %s: it has %s",
				entry, p.module, strings.Join(all, ", "))
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets), nil
}

// deletion are the arguments of a plan that deletes the targets with all that depends on them.
func deletion(targets []string) []string {
	args := []string{"-destroy"}
	for _, address := range targets {
		args = append(args, "-target="+address)
	}
	return args
}

// onlyAgreed fails if a plan would delete a resource that is not in agreed.
func onlyAgreed(plan Plan, agreed []string) error {
	for _, c := range plan.Changes {
		if (c.Action == "delete" || c.Action == "replace") && !slices.Contains(agreed, c.Resource) {
			return fmt.Errorf("provision: %s would be deleted (%s), and it was to stay between deployments: "+
				"nothing more was done. If it belongs to what decides where machines are, "+
				"name it in replace", c.Resource, c.Action)
		}
	}
	return nil
}

// newID draws the identifier of the machines.
func newID() string {
	id := make([]byte, 8)
	rand.Read(id) // never fails
	return hex.EncodeToString(id)
}
