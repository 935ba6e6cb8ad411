package provision

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nearfar/internal/cloud/audit"
)

// Up makes the machines. ask is called with the plan of the first attempt, before anything is made; its error ends Up.
// After an error or an interrupt, what was made is still there and in the record; see Made.
func (p *Project) Up(ctx context.Context, ask func(Plan) error) (err error) {
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	if err := p.sameKind(); err != nil {
		return err
	}
	m, err := p.start(ctx)
	if err != nil {
		return err
	}
	if err := p.refuseLost(); err != nil {
		return err
	}
	var tried []Attempt
	for attempt := p.first(); ; attempt++ {
		variables, choice := p.provision.In(attempt)
		plan, err := m.plan(ctx, variables)
		if err != nil {
			return p.failed(ctx, m, err)
		}
		if p.options.Extend && p.record != nil && p.record.State == StateUp {
			if err := plan.extendable(); err != nil {
				return err
			}
		}
		if ask != nil {
			if err := ask(plan); err != nil {
				return err
			}
			ask = nil
		}
		if err := p.making(m, attempt, choice, StateMaking, plan.Add > 0); err != nil {
			return err
		}
		if err := p.save(func(r *Record) { r.price(plan.Cost) }); err != nil {
			return err
		}
		err = m.create(ctx, variables)
		if err == nil {
			return p.made(ctx, m)
		}
		failure, ok := errors.AsType[*FailedError](err)
		if !ok || failure.Refusal == nil {
			return p.failed(ctx, m, err)
		}
		r := *failure.Refusal
		last, saved := p.refused(r)
		if saved != nil {
			return errors.Join(err, saved)
		}
		tried = append(tried, last)
		if len(tried) >= max(1, p.provision.Retry.Attempts) {
			return p.failed(ctx, m, fmt.Errorf("%w%s", err, list(tried)))
		}
		p.options.Note("refused: " + r.String())
		if err := p.pause(ctx, attempt); err != nil {
			return p.failed(ctx, m, err)
		}
	}
}

// refused records that the last attempt was refused.
func (p *Project) refused(why Refusal) (last Attempt, err error) {
	err = p.save(func(r *Record) {
		a := &r.Attempts[len(r.Attempts)-1]
		a.Refused, a.Resource = why.Code, why.Resource
		last = *a
	})
	return last, err
}

// sameKind refuses to make machines with another kind of program while some are there that the former one made: only
// the former one knows them.
func (p *Project) sameKind() error {
	if p.record == nil || p.record.Tool == "" || kindOf(p.record.Tool) == p.kind {
		return nil
	}
	return fmt.Errorf("the machines that are there were made with %s: delete them first with nearfar down",
		p.record.Tool)
}

// list says what was tried, if more than one attempt was made.
func list(all []Attempt) string {
	if len(all) < 2 {
		return ""
	}
	var text strings.Builder
	text.WriteString("\nTried:")
	for _, a := range all {
		fmt.Fprintf(&text, "\n  %s %s: %s", a.At.UTC().Format(time.RFC3339), a.with(), a.Refused)
	}
	return text.String()
}

// with says with which variables an attempt was made.
func (a Attempt) with() string {
	if len(a.Variables) == 0 {
		return "with the file's variables"
	}
	return "with " + strings.Join(a.Variables, " ")
}

// pause waits before the next attempt, if this was the last one of a round.
func (p *Project) pause(ctx context.Context, attempt int) error {
	if _, choice := p.provision.In(attempt + 1); choice > 0 {
		p.options.Note("next attempt with " + strings.Join(p.choice(choice), " "))
		return nil
	}
	p.options.Note(fmt.Sprintf("next attempt in %v, with the file's variables", p.provision.Retry.Wait))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(p.provision.Retry.Wait):
		return nil
	}
}

// choice lists the variables of an entry of retry, which counts from 1.
func (p *Project) choice(choice int) (all []string) {
	if choice < 1 || choice > len(p.provision.Retry.Variables) {
		return nil
	}
	for _, v := range p.provision.Retry.Variables[choice-1] {
		all = append(all, v.Name+"="+v.Value)
	}
	return all
}

// making records an attempt, before anything is made. others says that it makes other machines than those that are
// there.
func (p *Project) making(m maker, attempt, choice int, state string, others bool) error {
	if p.record == nil {
		p.record = &Record{
			Nearfar: "v1", Name: p.name, File: p.file, Folder: p.folder, Owner: p.options.Owner,
			Since: p.now, Until: p.until(),
		}
	}
	if err := p.index(); err != nil {
		return err
	}
	name, version := m.program()
	this := Attempt{At: time.Now().UTC().Truncate(time.Second), Variables: p.choice(choice)}
	return p.save(func(r *Record) {
		r.Module, r.Tool, r.Version, r.State = p.module, name, version, state
		if others || r.MadeID == "" {
			r.MadeID = newID()
		}
		r.Process, r.Program = self(), nil
		r.Attempt, r.Until = attempt, p.until()
		r.Places, r.Untagged = audit.Join(r.Places, p.places), p.untagged
		r.Attempts = append(r.Attempts, this)
		if excess := len(r.Attempts) - maxAttempts; excess > 0 {
			r.Attempts = r.Attempts[excess:]
		}
	})
}

// maxAttempts bounds how many attempts a record has.
const maxAttempts = 200

// made checks the hosts and records that everything is there.
func (p *Project) made(ctx context.Context, m maker) error {
	output, name, err := m.hosts(ctx)
	if err == nil && len(p.hosts) > 0 {
		if _, err = hostsFile(output, p.hosts); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}
	if err != nil {
		return p.failed(ctx, m, err)
	}
	all, err := m.resources(ctx)
	if err != nil {
		return p.failed(ctx, m, err)
	}
	places := p.located(ctx, m)
	return p.save(func(r *Record) {
		r.Places = audit.Join(r.Places, places)
		r.State, r.Resources, r.Process = StateUp, all.count(), nil
		r.Attempts[len(r.Attempts)-1].Done = true
	})
}

// failed records that an up failed, and how many resources there are. It returns the error.
func (p *Project) failed(ctx context.Context, m maker, err error) error {
	if p.record == nil || p.record.State == StateUp {
		return err // nothing was begun
	}
	all, listErr := p.remaining(context.WithoutCancel(ctx), m)
	if listErr == nil && len(all.Resources) == 0 {
		// Nothing was made, so there is nothing to delete.
		return errors.Join(err, p.forget())
	}
	return errors.Join(err, p.save(func(r *Record) { r.State, r.Resources, r.Process = StateFailed, all.count(), nil }))
}
