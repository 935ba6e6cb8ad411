package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"nearfar/internal/base/files"
	"nearfar/internal/declare/experiment"
)

// A Lost resource was made, and its program's state does not have it.
type Lost struct {
	// Address is its address in the module, ID what the provider calls it.
	Address string `json:"address"`
	ID      string `json:"id"`
}

func (l Lost) String() string {
	if l.ID == "" {
		return l.Address + ", which the state does not have: its id is not known"
	}
	return fmt.Sprintf("%s, which the state does not have: its id is %q", l.Address, l.ID)
}

const (
	// beforeFile is the state before the last command that changed it.
	beforeFile = "terraform.tfstate.before"
	maxState   = 1 << 30 // bytes
	// maxLost bounds the addresses and ids that a record takes, in bytes: a record that is too large is not read.
	maxLost = maxRecord / 4
)

// change runs a command that makes or deletes resources, and looks afterwards whether the local state is whole.
//
// OpenTofu 1.12.6 can empty its local state when it is interrupted just before it ends: it has written the state and
// given up its lock, and then the hook that Stop calls opens the file again and truncates it, and the process exits
// before the hook has written it (StateHook.Stopping, statemgr.Filesystem.PersistState). The exit code is 0. An empty
// state after an interrupt was also reported of Terraform (hashicorp/terraform, issue 30266).
func (t *tool) change(
	ctx context.Context, variables []experiment.ModuleVariable, seen *events, args ...string,
) error {
	if err := t.keepState(); err != nil {
		return err
	}
	err := t.stream(ctx, variables, true, seen, args...)
	if lost := t.mend(context.WithoutCancel(ctx), variables); lost != nil {
		return errors.Join(err, lost)
	}
	return err
}

// keepState copies the state, if there is one.
func (t *tool) keepState() error {
	p := t.project
	state, err := files.ReadRegular(p.state(), maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return removeFile(p.own(beforeFile))
	case err != nil:
		return err
	}
	return files.WriteWhole(p.own(beforeFile), state)
}

// emptied says that there is a local state that the program has not written to its end.
func (p *Project) emptied() (bool, error) {
	state, err := files.ReadRegular(p.state(), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // nothing was made, or the module keeps its state elsewhere
	}
	return err == nil && !json.Valid(state), err
}

// mend restores a state that the program has emptied: first as it was before, so that nothing of that is forgotten.
// What has been deleted since leaves it when the program next looks. What has been made since is imported. What cannot
// be imported stays in the record.
func (t *tool) mend(ctx context.Context, variables []experiment.ModuleVariable) error {
	p := t.project
	if p.record == nil {
		return nil
	}
	emptied, err := p.emptied()
	if err != nil {
		return err
	}
	if emptied {
		p.options.Note(t.name + " has lost its state while it was asked to end: restoring it")
		made, more := p.madeLast()
		if more > 0 {
			p.options.Note(fmt.Sprintf("%d more resources were made, and are too many to be recorded: "+
				"look for them at the provider", more))
		}
		// Recorded first: importing overwrites what the program has printed.
		if err := p.save(func(r *Record) {
			for _, l := range made {
				if !slices.Contains(r.Lost, l) {
					r.Lost = append(r.Lost, l)
				}
			}
		}); err != nil {
			return err
		}
		if err := t.stateBefore(ctx, made); err != nil {
			return err
		}
	}
	return t.importLost(ctx, variables)
}

// importLost imports what the state does not have. tofu also computes the module's outputs then, and fails if one of
// them needs another resource that is still missing: so it is tried again after each success.
func (t *tool) importLost(ctx context.Context, variables []experiment.ModuleVariable) error {
	p := t.project
	refused := map[Lost]error{}
	for again := true; again; {
		again = false
		for _, l := range slices.Clone(p.record.Lost) {
			there, err := t.adopt(ctx, variables, l)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if refused[l] = err; err != nil {
				continue
			}
			again = true
			if there {
				p.options.Note(l.Address + ": is in the state again")
			} else {
				p.options.Note(l.Address + ": is not there any more")
			}
			if err := p.save(func(r *Record) {
				r.Lost = slices.DeleteFunc(r.Lost, func(o Lost) bool { return o == l })
			}); err != nil {
				return err
			}
		}
	}
	for _, l := range p.record.Lost {
		p.options.Note(fmt.Sprintf("%v; it cannot be imported: %v", l, refused[l]))
	}
	return nil
}

// madeLast lists the resources that the last command has made, as it printed them. more is how many others there are.
func (p *Project) madeLast() (made []Lost, more int) {
	f, err := files.OpenRegular(p.own(outFile), 2*maxPrinted)
	if err != nil {
		return nil, 0
	}
	defer func() { _ = f.Close() }() // it was only read
	bytes := 0
	seen := &events{on: func(e event) {
		l := Lost{e.Hook.Resource.Addr, e.Hook.IDValue}
		if e.Type != "apply_complete" || e.Hook.Action != "create" || l.Address == "" {
			return
		}
		if size := len(l.Address) + len(l.ID); bytes+size <= maxLost {
			made, bytes = append(made, l), bytes+size
		} else {
			more++
		}
	}}
	into := &lines{on: seen.line}
	_, _ = io.Copy(into, f) // what cannot be read is not known
	into.flush()
	return made, more
}

// stateBefore restores the state before the last command, without what that command has made in place of something.
func (t *tool) stateBefore(ctx context.Context, made []Lost) error {
	p := t.project
	before, err := files.ReadRegular(p.own(beforeFile), maxState)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !json.Valid(before) {
		return removeFile(p.state())
	}
	if err != nil {
		return err
	}
	if err := files.WriteWhole(p.state(), before); err != nil {
		return err
	}
	there, err := t.resources(ctx)
	if err != nil {
		return err
	}
	for _, l := range made {
		if !slices.Contains(there.Resources, l.Address) {
			continue
		}
		if err := t.stream(ctx, nil, true, &events{}, "state", "rm", p.stateFlag(), l.Address); err != nil {
			return err
		}
	}
	return nil
}

// adopt imports a resource into the state. there is false if the provider does not have it any more. The error says why
// it cannot be imported, for example because another one has its address in the state.
func (t *tool) adopt(ctx context.Context, variables []experiment.ModuleVariable, l Lost) (there bool, err error) {
	err = t.stream(ctx, variables, true, &events{}, "import", "-input=false", "-no-color", t.project.stateFlag(), l.Address,
		l.ID)
	if err != nil && strings.Contains(err.Error(), "Cannot import non-existent remote object") {
		return false, nil
	}
	return err == nil, err
}

// remaining lists what is there: what the program's state has, and what it has lost.
func (p *Project) remaining(ctx context.Context, m maker) (Remaining, error) {
	all, err := m.resources(ctx)
	all.Resources = append(all.Resources, p.lost()...)
	return all, err
}

// refuseLost refuses to make again what is there without being in the state.
func (p *Project) refuseLost() error {
	if p.record == nil || len(p.record.Lost) == 0 {
		return nil
	}
	return errors.New("resources are there that the state does not have. Delete them at the provider, and then call " +
		"nearfar down:\n  " + strings.Join(p.lost(), "\n  "))
}

// lost says for each resource that the state does not have what it is.
func (p *Project) lost() (all []string) {
	for _, l := range p.record.Lost {
		all = append(all, l.String())
	}
	return all
}
