package provision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"nearfar/internal/cloud/audit"
)

// A LeftError lists what is left after Down.
type LeftError struct {
	// Remaining is what the state has; or, if the state is empty, what providers list.
	Remaining
}

func (e *LeftError) Error() string {
	if e.Vague {
		return "something can be left"
	}
	return fmt.Sprintf("%d resources are left", len(e.Resources))
}

// Down deletes the machines, looks at the state again and asks the providers. If a deletion fails, it deletes the
// resource groups of Azure that the module made for this run. It returns false if nothing was made. If
// anything is left in the state or at a provider, the error is a LeftError. See also Answers: a provider that could not
// be asked is no error.
func (p *Project) Down(ctx context.Context) (did bool, err error) {
	if _, err := os.Stat(p.folder); errors.Is(err, fs.ErrNotExist) {
		return false, p.unindex()
	}
	if err := p.begin(ctx); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	if p.record == nil && !p.hasState() {
		p.remove = true
		return false, p.unindex()
	}
	if p.record == nil {
		p.record = &Record{Nearfar: "v1", Name: p.name, File: p.file, Folder: p.folder, Module: p.module,
			Owner: p.options.Owner}
	}
	p.asRecorded()
	m, err := p.start(ctx)
	if err != nil {
		return false, err
	}
	places := p.located(ctx, m)
	name, version := m.program()
	err = p.save(func(r *Record) {
		r.Places = audit.Join(r.Places, places)
		r.Tool, r.Version, r.State, r.Process, r.Program = name, version, StateDestroying, self(), nil
	})
	if err != nil {
		return false, err
	}
	variables, _ := p.provision.In(p.attempt())
	failure := m.remove(ctx, variables)
	if failure != nil && ctx.Err() == nil {
		did, err := p.removeGroups(ctx, m)
		if failure = errors.Join(failure, err); did && err == nil {
			failure = m.remove(ctx, variables) // what is gone leaves the state
		}
	}
	if ctx.Err() != nil {
		return true, ctx.Err()
	}
	left, err := p.remaining(ctx, m)
	if err != nil {
		return true, errors.Join(failure, err)
	}
	if len(left.Resources) > 0 {
		saved := p.save(func(r *Record) { r.Resources, r.Process = left.count(), nil })
		return true, errors.Join(failure, &LeftError{left}, saved)
	}
	if failure != nil {
		return true, failure
	}
	if err := p.audit(ctx); err != nil {
		return true, err
	}
	p.gone = m.gone()
	return true, p.forget()
}

// Gone says in words how Down knows that nothing is left, after a Down without an error.
func (p *Project) Gone() string { return p.gone }

// stateFiles are the files of this project's folder that show which resources were made.
func stateFiles() []string {
	return []string{"terraform.tfstate", "terraform.tfstate.backup", beforeFile, hostsName, outputsName, stacksName}
}

// hasState says that there is a state without a record.
func (p *Project) hasState() bool {
	return slices.ContainsFunc(stateFiles(), func(name string) bool {
		_, err := os.Stat(p.own(name))
		return err == nil
	})
}

// forget removes the state, which is empty, and then the record.
func (p *Project) forget() error {
	if p.record == nil {
		return nil
	}
	for _, name := range append(stateFiles(), recordFile) {
		if err := removeFile(p.own(name)); err != nil {
			return err
		}
	}
	p.record, p.remove = nil, true
	return p.unindex()
}

// Left lists the resources that are in the state, and deletes nothing.
func (p *Project) Left(ctx context.Context) (left Remaining, err error) {
	if _, err := os.Stat(p.folder); errors.Is(err, fs.ErrNotExist) {
		return left, nil
	}
	if err := p.begin(ctx); err != nil {
		return left, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	if p.record == nil {
		return left, nil
	}
	p.asRecorded()
	m, err := p.find(ctx)
	if err != nil {
		return left, err
	}
	return p.remaining(ctx, m)
}
