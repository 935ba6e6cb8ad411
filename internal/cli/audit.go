package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/audit"
	"nearfar/internal/cloud/provision"
	"nearfar/internal/measure/deploy"
)

// auditFlags are the flags of down about what providers still have.
type auditFlags struct {
	only      bool
	run       string
	providers []string
	wait      time.Duration
}

// defaultAuditWait is how long an audit waits for providers that still list deleted resources.
const defaultAuditWait = time.Minute

func (o *auditFlags) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.only, "audit", false, "delete nothing, and ask the providers what they still have of the run")
	f.StringVar(&o.run, "run", "", "with --audit in place of FILE: the `name` of the experiment")
	f.StringArrayVar(&o.providers, "provider", nil, "ask this provider too: `PROVIDER[:PART]`, which is aws:REGION, "+
		"azure:SUBSCRIPTION or google:PROJECT; may be given several times")
	f.DurationVar(&o.wait, "audit-wait", defaultAuditWait,
		"how long a provider may list a deleted resource before it counts as left")
}

// auditing says how providers are asked.
func (o *auditFlags) auditing() (provision.Auditing, error) {
	how := provision.Auditing{Auditor: audit.Auditor{}, Wait: o.wait}
	for _, text := range o.providers {
		place, err := audit.ParsePlace(text)
		if err != nil {
			return how, usagef("--provider: %w", err)
		}
		how.Further = append(how.Further, place)
	}
	if o.wait < 0 {
		return how, usagef("--audit-wait cannot be negative")
	}
	return how, nil
}

// auditRun asks the providers about a run for which there is no experiment file.
func (a *app) auditRun(ctx context.Context, o auditFlags, owner string) error {
	how, err := o.auditing()
	if err != nil {
		return err
	}
	if len(how.Further) == 0 {
		return usagef("--run %s: name the providers to ask, for example --provider aws:eu-west-1", clean.Line(o.run))
	}
	answers := how.Auditor.Audit(ctx, audit.Query{
		Run: o.run, Owner: cmp.Or(owner, deploy.PodOwner()), Places: audit.OfEnvironment(how.Further), Wait: 0,
	})
	return a.printAudit(ctx, o.run, answers)
}

// printAudit prints the result of an audit that no other verb started. Both an unanswered question and a resource that
// is left are errors.
func (a *app) printAudit(ctx context.Context, run string, answers []audit.Answer) error {
	unknown, left := printAnswers(a.stdout, run, answers), 0
	for _, answer := range answers {
		left += len(answer.Left)
		for _, r := range answer.Left {
			fmt.Fprintf(a.stdout, "left: %s\n", clean.Line(r.String()))
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case left > 0:
		return fmt.Errorf("%d resources are left", left)
	case len(answers) == 0:
		return errors.New("no provider is known that could be asked: name one, for example --provider aws:eu-west-1")
	case unknown:
		return errors.New("not everything could be asked")
	}
	return nil
}

// printAnswers prints the providers' answers, except the resources that are left. It says whether an answer is missing.
func printAnswers(w io.Writer, run string, answers []audit.Answer) (unknown bool) {
	tag := audit.TagRun + "=" + run
	for _, answer := range answers {
		place := clean.Line(answer.Place.String())
		for _, why := range answer.Unknown {
			unknown = true
			fmt.Fprintf(w, "%s: not known whether anything is left: %s\n", place, clean.Line(why))
		}
		for _, r := range answer.Others {
			fmt.Fprintf(w, "%s: of %s, not yours: %s %s\n", place, clean.Line(r.Owner), clean.Line(r.Kind),
				clean.Line(r.ID))
		}
		if answer.None() {
			fmt.Fprintf(w, "%s: nothing has the tag %s.\n", place, clean.Line(tag))
		}
	}
	if unknown {
		fmt.Fprintf(w, "Look there for the tag %s.\n", clean.Line(tag))
	}
	return unknown
}
