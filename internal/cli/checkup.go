package cli

import (
	"context"
	"fmt"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/preflight"
	"nearfar/internal/cloud/provision"
	"nearfar/internal/declare/experiment"
)

// checkedUp is what up --check prints as JSON; its keys are stable.
type checkedUp struct {
	Nearfar string            `json:"nearfar"`
	File    string            `json:"file"`
	OK      int               `json:"ok"`
	Refused int               `json:"would_be_refused"`
	Unknown int               `json:"not_looked_at"`
	Checks  []preflight.Check `json:"checks"`
	// Hourly is the known part of the price for an hour, in US dollars; AtLeast says that there may be more.
	Hourly  float64 `json:"hourly_usd"`
	AtLeast bool    `json:"at_least"`
}

// checkUp asks providers what they would refuse of what an up would make. Something that would be refused is an error.
func (a *app) checkUp(ctx context.Context, file string, e *experiment.Experiment, format string) error {
	p, err := a.project(file, e, false)
	if err != nil {
		return err
	}
	plan, err := p.Plan(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, "asking the providers; nothing is made")
	checks := preflight.Checker{Now: time.Now()}.Check(ctx, plan.Wants)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	all := checkedUp{
		Nearfar: "v1", File: file, OK: preflight.Count(checks, preflight.OK),
		Refused: preflight.Count(checks, preflight.Refused), Unknown: preflight.Count(checks, preflight.Unknown),
		Checks: append([]preflight.Check{}, checks...),
	}
	all.Hourly, all.AtLeast = plan.Cost.Hourly()
	all.AtLeast = all.AtLeast || plan.Script != "" || !plan.Cost.Known()
	if format == "json" {
		err = a.writeJSON(all)
	} else {
		a.printChecks(all, plan, e.Provision.TTL)
	}
	if err == nil && all.Refused > 0 {
		err = fmt.Errorf("%s: %d of %d checks say that the provider would refuse it; nothing was made", clean.Line(file),
			all.Refused, len(checks))
	}
	return err
}

// printChecks prints the checks, and what is known of the price.
func (a *app) printChecks(all checkedUp, plan provision.Plan, ttl time.Duration) {
	for _, c := range all.Checks {
		place := textIf(c.Place != "", c.Place+", ")
		fmt.Fprintf(a.stdout, "%s: %s%s: %s: %s\n", c.Status, clean.Line(place), c.Kind, clean.Line(c.About),
			clean.Line(c.Found))
		if c.Do != "" && c.Status != preflight.OK {
			fmt.Fprintf(a.stdout, "    %s\n", clean.Line(c.Do))
		}
	}
	if plan.Script == "" && !plan.Empty() {
		printCost(a.stdout, plan.Cost, ttl, time.Now())
	}
	switch {
	case len(all.Checks) == 0:
		fmt.Fprintln(a.stdout, "Nothing would be made: there was nothing to look at.")
	case all.Refused > 0:
		fmt.Fprintf(a.stdout, "%d would be refused, %d were not looked at, %d are ok.\n", all.Refused, all.Unknown, all.OK)
	case all.Unknown > 0:
		fmt.Fprintf(a.stdout, "Of what was looked at (%d), nothing would be refused; %d were not looked at.\n", all.OK,
			all.Unknown)
	default:
		fmt.Fprintf(a.stdout, "All %d were looked at, and none would be refused.\n", all.OK)
	}
}

// printRetirements warns about what the machines are made of.
func (a *app) printRetirements(warnings []string, err error) {
	for _, text := range warnings {
		fmt.Fprintf(a.stderr, "warning: %s\n", clean.Line(text))
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "warning: %s\n", clean.Line(err.Error()))
	}
}
