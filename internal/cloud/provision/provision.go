// Package provision makes machines with a module of OpenTofu or Terraform, with scripts, or with an app of the AWS CDK,
// and deletes them. It runs the user's own program with the user's own credentials, and owns no measurement.
//
// What was made is known in two places: in the program's own state, and in a Record, which is written before anything
// is made. So machines can be deleted whatever happened to nearfar.
package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nearfar/internal/cloud/audit"
	"nearfar/internal/cloud/preflight"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
)

// Folder is the name of the folder with the records and states, in the folder of the experiment file.
const Folder = ".nearfar"

// Options say for whom and with what machines are made.
type Options struct {
	// Owner is who makes the machines: "user@host". The module gets it as variable nearfar_owner.
	Owner string
	// Note is told what is being done, a line each. The texts can come from providers: the caller makes them safe for a
	// terminal. It may be nil.
	Note func(text string)
	// Extend has Up renew the time of machines that are there: from now on they have their whole time again.
	Extend bool
	// Audit says how Down asks the providers.
	Audit Auditing
}

// A Project is the machines of one experiment file. It is not safe for concurrent use.
type Project struct {
	options   Options
	name      string
	file      string // absolute
	folder    string // absolute: .nearfar/NAME
	kind      kind
	module    string // absolute: the folder of the module, the scripts or the app
	provision *experiment.Provision
	hosts     []string // that the module makes
	locks     *locks   // nil while nothing is done
	record    *Record  // nil if there is none
	// now is when this work began: all its commands give the module the same time of expiry.
	now time.Time
	// gone says how Down knows that nothing is left.
	gone string
	// remove says that the folder is no longer needed.
	remove bool
	// places are where the plan makes resources; untagged says that the module does not take the name of the run.
	places   []audit.Place
	untagged bool
	// answers are what the providers said after a Down.
	answers []audit.Answer
}

// Open finds the machines of an experiment. file is the path of its file. Nothing is run or written.
func Open(file string, e *experiment.Experiment, o Options) (*Project, error) {
	if e.Provision == nil {
		return nil, errors.New("the file has no provision: nearfar makes none of its machines")
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	kind, module := source(e.Provision)
	p := &Project{
		options: o, name: e.Name, file: file, provision: e.Provision,
		hosts:  append(e.Provisioned(), e.Made()...),
		folder: filepath.Join(filepath.Dir(file), Folder, e.Name), kind: kind, module: module,
	}
	if !filepath.IsAbs(p.module) {
		p.module = filepath.Join(filepath.Dir(file), p.module)
	}
	return p, nil
}

// Folder is the absolute path of the folder with the record and the state.
func (p *Project) Folder() string { return p.folder }

// Record reads what is known of the machines; nil if none were made.
func (p *Project) Record() (*Record, error) { return readRecord(p.folder) }

// A Plan is what would change.
type Plan struct {
	// Changes are the resources that would be made, changed or deleted, in the program's order.
	Changes []Change
	// Add, Change and Remove count them.
	Add, Change, Remove int
	// stops are the machines that a change stops and starts.
	stops []string
	// Cost is what everything costs that is there when the plan was carried out.
	Cost Cost
	// Wants is what providers can be asked about before anything is made.
	Wants preflight.Wants
	// Script is the path of a script that makes the machines, and Variables are the names of the variables that it
	// gets. What a script does cannot be planned; there are no Changes then.
	Script    string
	Variables []string
}

// Change is what would be done with one resource.
type Change struct {
	Resource string
	// Action is create, update, delete, replace, read or another word of the program.
	Action string
}

// Empty says that nothing would change.
func (p Plan) Empty() bool { return p.Add+p.Change+p.Remove == 0 && p.Script == "" }

// Plan says what Up would do in its first attempt.
func (p *Project) Plan(ctx context.Context) (plan Plan, err error) {
	if err := p.begin(ctx); err != nil {
		return Plan{}, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	m, err := p.start(ctx)
	if err != nil {
		return Plan{}, err
	}
	variables, _ := p.provision.In(p.first())
	return m.plan(ctx, variables)
}

// attempt is the attempt that made the machines that are there, whose variables they have.
func (p *Project) attempt() int {
	if p.record != nil && p.record.Attempt > 0 {
		return p.record.Attempt
	}
	return 1
}

// first is the attempt with which an up begins: machines that are up keep their variables.
func (p *Project) first() int {
	if p.record != nil && p.record.State == StateUp {
		return p.attempt()
	}
	return 1
}

// begin locks the folder, waits for programs that a killed nearfar has left, and reads the record.
func (p *Project) begin(ctx context.Context) error {
	if err := makeFolder(p.folder); err != nil {
		return err
	}
	held, err := lock(p.folder)
	if err != nil {
		return err
	}
	p.locks, p.now = held, time.Now().UTC().Truncate(time.Second)
	if p.record, err = readRecord(p.folder); err == nil {
		err = p.awaitProgram(ctx)
	}
	if err != nil {
		return errors.Join(err, p.end())
	}
	return nil
}

// end frees the folder.
func (p *Project) end() error {
	p.removeLogs()
	if p.remove {
		// Removed while the lock is held: another nearfar then locks a file that is gone, and notices it.
		_ = os.RemoveAll(p.folder) // what is left of it is only in the way
	}
	err := p.locks.free()
	p.locks = nil
	return err
}

// start finds the program and prepares it.
func (p *Project) start(ctx context.Context) (maker, error) {
	m, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(p.module); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("provision: %s is no folder", p.module)
	}
	return m, m.prepare(ctx)
}

// maxChanges bounds how many changes of a plan are kept.
const maxChanges = 10_000

// removeLogs removes the files in which programs write for nearfar, and the plan, which has values of variables.
func (p *Project) removeLogs() {
	for _, name := range []string{outFile, errFile, "plan", assemblyPlan} {
		_ = os.RemoveAll(p.own(name)) // the next command writes them anew
	}
}

// Hosts gives the hosts that were made, for the reader of the experiment file.
func (p *Project) Hosts(ctx context.Context) (in experimentfile.Inputs, err error) {
	record, err := p.Record()
	if err != nil {
		return in, err
	}
	if record == nil || record.State != StateUp {
		return in, &NotUpError{record}
	}
	p.record = record
	p.asRecorded()
	m, err := p.find(ctx)
	if err != nil {
		return in, err
	}
	values, name, err := m.hosts(ctx)
	if err != nil {
		return in, err
	}
	text, err := hostsFile(values, p.hosts)
	if err != nil {
		return in, fmt.Errorf("%s: %w", name, err)
	}
	return experimentfile.Inputs{HostsName: name, Hosts: text, Made: true}, nil
}

// NotUpError says that the machines of a file are not up.
type NotUpError struct {
	// Record is what is known of the machines; nil if nothing was made.
	Record *Record
}

func (e *NotUpError) Error() string {
	if e.Record == nil {
		return "its machines are not up"
	}
	return fmt.Sprintf("its machines are not up: %s", e.Record.StateText())
}

// maxHosts bounds the text of the output hosts, in bytes.
const maxHosts = 1 << 20

// hostsFile writes the hosts of the output as a file of hosts.
func hostsFile(output json.RawMessage, names []string) ([]byte, error) {
	var hosts map[string]map[string]any
	if len(output) == 0 {
		return nil, errors.New("there is none: write one with an entry for each host")
	}
	if len(output) > maxHosts {
		return nil, fmt.Errorf("it has %d bytes; at most %d are read", len(output), maxHosts)
	}
	if err := json.Unmarshal(output, &hosts); err != nil {
		return nil, errors.New("it is no mapping of hosts: write, for example, vm-a with the key ssh")
	}
	wanted := map[string]map[string]any{}
	for _, name := range names {
		host, ok := hosts[name]
		if !ok || host == nil {
			return nil, fmt.Errorf("it has no host %s, which the file declares as provisioned", name)
		}
		wanted[name] = map[string]any{}
		for key, value := range host {
			if value != nil { // an attribute that a module leaves out of an object is null
				wanted[name][key] = value
			}
		}
	}
	text, err := json.MarshalIndent(map[string]any{"hosts": wanted}, "", "  ")
	// What comes from a provider must not read variables of the environment.
	return []byte(strings.ReplaceAll(string(text), "${", "$${")), err
}

// until is when the machines are past their time.
func (p *Project) until() time.Time {
	if p.record != nil && !p.record.Until.IsZero() && !p.options.Extend {
		return p.record.Until
	}
	return p.now.Add(p.provision.TTL).Truncate(time.Second)
}
