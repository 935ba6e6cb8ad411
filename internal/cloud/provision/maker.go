package provision

import (
	"context"
	"encoding/json"
	"path/filepath"

	"nearfar/internal/declare/experiment"
)

// A maker makes and deletes machines with the user's own program, for one project. What all makers have in common is
// written once: the record, the locks, interrupts, attempts, and the files in which programs write.
type maker interface {
	// program is the name and the version of the program, for the record. The version can be empty.
	program() (name, version string)
	// prepare makes the program ready for the calls below.
	prepare(ctx context.Context) error
	// plan says what create would do with these variables, as far as that can be known.
	plan(ctx context.Context, variables []experiment.ModuleVariable) (Plan, error)
	// create makes the machines as the last plan says. It can be repeated. Its error is a FailedError if the program
	// failed.
	create(ctx context.Context, variables []experiment.ModuleVariable) error
	// remove deletes the machines. It can be repeated, also after a create that failed or was interrupted.
	remove(ctx context.Context, variables []experiment.ModuleVariable) error
	// hosts is a mapping of hosts as JSON, and where it comes from for messages; nil if there is none.
	hosts(ctx context.Context) (json.RawMessage, string, error)
	// resources lists what is there according to the program's own state. It changes nothing.
	resources(ctx context.Context) (Remaining, error)
	// gone says in words what a remove without an error and an empty list of resources mean.
	gone() string
}

// Remaining is what is there according to the state of the program that makes the machines.
type Remaining struct {
	Resources []string
	// Vague says that an entry of Resources can stand for several resources, or for none.
	Vague bool
}

// count is how many resources there are; 0 if that is not known.
func (r Remaining) count() int {
	if r.Vague {
		return 0
	}
	return len(r.Resources)
}

// kind is a kind of maker.
type kind int

const (
	kindTofu kind = iota
	kindAz
	kindCdk
)

// kindOf is the kind of maker that a record names.
func kindOf(tool string) kind {
	switch tool {
	case azName:
		return kindAz
	case cdkName:
		return kindCdk
	}
	return kindTofu
}

// leavesProcesses says that programs of this kind can end before the processes that they have started: a script ends at
// once when it is asked to, but its last command continues. Providers that tofu leaves behind end by themselves.
func (k kind) leavesProcesses() bool { return k != kindTofu }

// source is the kind of maker that a file asks for, and the folder that it names.
func source(p *experiment.Provision) (kind, string) {
	switch {
	case p.Az != "":
		return kindAz, p.Az
	case p.Cdk != "":
		return kindCdk, p.Cdk
	}
	return kindTofu, p.Tofu
}

// find finds the program that makes machines of this project's kind.
func (p *Project) find(ctx context.Context) (maker, error) {
	switch p.kind {
	case kindAz:
		return p.findShell()
	case kindCdk:
		return p.findCdk(ctx)
	}
	return p.findTool(ctx)
}

// asRecorded follows the record: what was made with a program is looked at and deleted with it, in the folder of that
// time.
func (p *Project) asRecorded() {
	if p.record != nil && p.record.Tool != "" {
		p.kind = kindOf(p.record.Tool)
	}
	if p.record != nil && p.record.Module != "" {
		p.module = p.record.Module
	}
}

// own gives a file of this project's folder.
func (p *Project) own(name string) string { return filepath.Join(p.folder, name) }
