package provision

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nearfar/internal/cloud/preflight"
	"nearfar/internal/declare/experiment"
)

// plan makes the plan that create then carries out, and checks that the module takes the variables.
func (t *tool) plan(ctx context.Context, variables []experiment.ModuleVariable) (Plan, error) {
	return t.planWith(ctx, variables)
}

// planWith is plan with more arguments of the program.
func (t *tool) planWith(
	ctx context.Context, variables []experiment.ModuleVariable, further ...string,
) (Plan, error) {
	p := t.project
	p.options.Note(t.name + " plan")
	var plan Plan
	seen := events{on: func(e event) {
		switch {
		case e.Type == "planned_change" && len(plan.Changes) < maxChanges:
			plan.Changes = append(plan.Changes, Change{e.Change.Resource.Addr, e.Change.Action})
		case e.Type == "change_summary":
			plan.Add, plan.Change, plan.Remove = e.Changes.Add, e.Changes.Change, e.Changes.Remove
		}
	}}
	args := append([]string{"plan", "-json", "-input=false", p.stateFlag(), "-out=" + p.planFile()}, further...)
	if err := t.stream(ctx, variables, false, &seen, args...); err != nil {
		return Plan{}, err
	}
	declared, shown, err := t.declaredVariables(ctx, p.planFile(), variables)
	if err != nil {
		return Plan{}, err
	}
	if plan.Cost, err = cost(shown, p.provision.Prices); err != nil {
		return Plan{}, err
	}
	if plan.Wants, err = preflight.OfPlan(shown, os.Getenv); err != nil {
		return Plan{}, fmt.Errorf("%s show -json: %w", t.name, err)
	}
	if plan.stops, err = stopped(shown); err != nil {
		return Plan{}, fmt.Errorf("%s show -json: %w", t.name, err)
	}
	for _, v := range variables {
		if !slices.Contains(declared, v.Name) {
			return Plan{}, fmt.Errorf("the module in %s declares no variable %s: its variables are %s",
				p.module, v.Name, strings.Join(declared, ", "))
		}
	}
	return plan, nil
}

// create carries out the plan.
func (t *tool) create(ctx context.Context, variables []experiment.ModuleVariable) error {
	p := t.project
	p.options.Note(t.name + " apply")
	seen := &events{on: p.showProgress}
	err := t.change(ctx, variables, seen, "apply", "-json", "-input=false", p.stateFlag(), p.planFile())
	if err != nil {
		return err
	}
	return p.refuseLost()
}

// showProgress prints an event.
func (p *Project) showProgress(e event) {
	if text := e.progress(); text != "" {
		p.options.Note(text)
	}
}

// remove deletes all resources of the state.
func (t *tool) remove(ctx context.Context, variables []experiment.ModuleVariable) error {
	p := t.project
	p.options.Note(t.name + " destroy")
	seen := &events{on: p.showProgress}
	return t.change(ctx, variables, seen, "destroy", "-json", "-auto-approve", "-input=false", "-lock-timeout=10m",
		p.stateFlag())
}

func (p *Project) state() string     { return filepath.Join(p.folder, "terraform.tfstate") }
func (p *Project) planFile() string  { return filepath.Join(p.folder, "plan") }
func (p *Project) stateFlag() string { return "-state=" + p.state() }
