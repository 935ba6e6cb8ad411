package provision

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"time"

	"nearfar/internal/base/files"
	"nearfar/internal/cloud/audit"
)

// An Auditor asks providers what they still have of a run: an audit.Auditor, or what stands in for it in tests.
type Auditor interface {
	Audit(ctx context.Context, q audit.Query) []audit.Answer
}

// Auditing says how providers are asked which resources are left.
type Auditing struct {
	// Auditor asks them. If it is nil, nobody is asked.
	Auditor Auditor
	// Wait is for how long a provider may list deleted resources.
	Wait time.Duration
	// Further are places to ask besides those that are known.
	Further []audit.Place
}

// runVariable is the variable from which a module knows the value of the tag audit.TagRun.
const runVariable = "nearfar_run"

// notTagged is the reason why an empty list of a provider is no proof.
const notTagged = "the module declares no variable " + runVariable + ", so its resources cannot have the tag " +
	audit.TagRun + " of this run"

// Audit asks the providers what they have of this run, and deletes nothing. It needs no record: without one, the
// providers are those that the module's lock file names. An empty owner is the one of the record, or of this process.
func (p *Project) Audit(ctx context.Context, owner string) ([]audit.Answer, error) {
	record, err := p.Record()
	if err != nil {
		return nil, err
	}
	return p.ask(ctx, record, owner, 0), nil
}

// ask asks all places that are known. wait is for how long a place is asked again while it lists something.
func (p *Project) ask(ctx context.Context, record *Record, owner string, wait time.Duration) []audit.Answer {
	if p.options.Audit.Auditor == nil {
		return nil
	}
	if owner == "" && record != nil {
		owner = record.Owner
	}
	q := audit.Query{Run: p.name, Owner: cmp.Or(owner, p.options.Owner), Wait: wait}
	q.Places = audit.OfEnvironment(audit.Join(p.known(record), p.options.Audit.Further))
	answers := p.options.Audit.Auditor.Audit(ctx, q)
	for i := range answers {
		if record != nil && record.Untagged {
			answers[i].Unknown = append(answers[i].Unknown, notTagged)
		}
	}
	return answers
}

// known are the places in which the machines are, or may be.
func (p *Project) known(record *Record) []audit.Place {
	var places []audit.Place
	module, tool := p.module, ""
	if record != nil {
		places, tool = record.Places, record.Tool
		if record.Module != "" {
			module = record.Module
		}
	}
	kind := p.kind
	if tool != "" {
		kind = kindOf(tool)
	}
	switch kind {
	case kindAz:
		places = audit.Join(places, []audit.Place{{Provider: audit.Azure}})
	case kindCdk:
		places = audit.Join(places, []audit.Place{{Provider: audit.AWS}})
	}
	// A file that cannot be read names no provider; a module that was used has one.
	text, _ := files.ReadRegular(filepath.Join(module, ".terraform.lock.hcl"), maxRecord)
	return audit.Join(places, audit.OfLockFile(text))
}

// planned notes the places of a plan, before anything is made, and whether the module takes the name of the run.
func (p *Project) planned(shown []byte, takesRun bool) error {
	places, err := audit.OfTofu(shown)
	p.places, p.untagged = audit.Join(p.places, places), !takesRun
	return err
}

// located notes the places of what the state has. An error is no reason to delete nothing: the plan's places are known.
// Only OpenTofu's state says where they are.
func (p *Project) located(ctx context.Context, m maker) []audit.Place {
	t, ok := m.(*tool)
	if !ok {
		return nil
	}
	args := []string{"show", "-json"}
	if _, err := os.Stat(p.state()); err == nil {
		args = append(args, p.state())
	}
	out, err := t.output(ctx, nil, args...)
	if err != nil {
		return nil
	}
	places, err := audit.OfTofu(out)
	if err != nil {
		return nil
	}
	return places
}

// audit asks the providers after everything was deleted. Its error is a LeftError if they list anything.
func (p *Project) audit(ctx context.Context) error {
	p.answers = p.ask(ctx, p.record, "", p.options.Audit.Wait)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var left []string
	for _, a := range p.answers {
		for _, r := range a.Left {
			left = append(left, r.String())
		}
	}
	if len(left) == 0 {
		return nil
	}
	return &LeftError{Remaining{Resources: left}}
}

// Name is the name of the experiment: the value of the tag audit.TagRun.
func (p *Project) Name() string { return p.name }

// Answers are what the providers said after Down.
func (p *Project) Answers() []audit.Answer { return p.answers }
