package file

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// hostsFile is a file with further hosts, while it is read.
type hostsFile struct {
	reader *reader
	// top is the mapping of the hosts; nil if the file cannot be read.
	top *yaml.Node
	// made is Inputs.Made.
	made bool
}

// readHostsFile reads the frame of a file of hosts, whose only key is hosts.
func readHostsFile(in Inputs, tools experiment.Tools) *hostsFile {
	if in.Hosts == nil {
		return nil
	}
	data := bytes.TrimPrefix(in.Hosts, []byte("\ufeff"))
	file := &hostsFile{reader: newReader(in.HostsName, data, tools, in), made: in.Made}
	r := file.reader
	top := r.document(data)
	if top == nil {
		return file
	}
	f, ok := r.fields(top, top, "a file of hosts", []string{"hosts"})
	if !ok {
		return file
	}
	if v, ok := r.required(f, "hosts", "hosts: {vm-a: {ssh: vm-a}}"); ok && r.isMapping(v.value, "hosts") {
		file.top = v.value
	}
	return file
}

// ParseWith is Parse with variables and further hosts.
//
// The mistakes of the hosts file follow those of the experiment file.
func ParseWith(filename string, data []byte, tools experiment.Tools, in Inputs) (*experiment.Experiment, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	r := newReader(filename, data, tools, in)
	r.further = readHostsFile(in, tools)
	e := &experiment.Experiment{}
	if top := r.document(data); top != nil {
		r.expandAll(top)
		r.experiment(e, top)
	}
	mistakes := r.sorted()
	if r.further != nil {
		mistakes = append(mistakes, r.further.reader.sorted()...)
	}
	if len(mistakes) == 0 {
		return e, nil
	}
	return nil, &mistakes
}

// Rejoin gives the agent hosts of a recorded experiment their join strings, which are not recorded: from the hosts
// file, or from the variable that held them. It takes nothing else from the hosts file. The errors never show a join
// string.
func Rejoin(e *experiment.Experiment, tools experiment.Tools, in Inputs) error {
	file := readHostsFile(in, tools)
	var given []string
	if file != nil {
		if file.top == nil {
			mistakes := file.reader.sorted()
			return &mistakes
		}
		given = hostNames(file.top)
	}
	var problems []error
	for i := range e.Hosts {
		h := &e.Hosts[i]
		if h.Kind() != experiment.HostAgent || h.Agent != "" {
			continue
		}
		if slices.Contains(given, h.Name) {
			file.reader.expandHosts(file.top, func(name string) bool { return name == h.Name })
			for _, spec := range file.reader.hostsOf(file.top, func(name string) bool { return name == h.Name }) {
				if h.Agent = spec.Agent; spec.Kind() != experiment.HostAgent {
					problems = append(problems, fmt.Errorf("host %s is reached by its agent in the run, and by %s in %s",
						h.Name, spec.Kind(), in.HostsName))
				}
			}
			continue
		}
		if err := rejoin(h, in); err != nil {
			problems = append(problems, err)
		}
	}
	if file != nil && len(file.reader.mistakes) > 0 {
		mistakes := file.reader.sorted()
		return &mistakes
	}
	return errors.Join(problems...)
}

// rejoin takes the join string from the variable that is recorded.
func rejoin(h *experiment.HostSpec, in Inputs) error {
	name := experiment.Referenced(h.AgentFrom)
	if name == "" {
		return fmt.Errorf("the join string of host %s is not recorded: give it with --hosts FILE", h.Name)
	}
	if in.Variable != nil {
		if join, ok := in.Variable(name); ok {
			h.Agent = join
			if err := experiment.CheckJoin(join); err != nil {
				return fmt.Errorf("host %s: variable %s: %w", h.Name, name, err)
			}
			return nil
		}
	}
	return fmt.Errorf("host %s: variable %s is not set: it holds the join string, which is not recorded: "+
		"set it in the environment or with --set, or give --hosts FILE", h.Name, name)
}

// Rehost replaces the hosts that Provision has made by those of in.Hosts, after the machines were made anew.
func Rehost(e *experiment.Experiment, tools experiment.Tools, in Inputs) error {
	file := readHostsFile(in, tools)
	if file == nil {
		return errors.New("there are no hosts")
	}
	var specs []experiment.HostSpec
	if file.top != nil {
		made := e.Made()
		wanted := func(name string) bool { return slices.Contains(made, name) }
		file.reader.expandHosts(file.top, wanted)
		specs = file.reader.hostsOf(file.top, wanted)
	}
	if len(file.reader.mistakes) > 0 {
		mistakes := file.reader.sorted()
		return &mistakes
	}
	hosts := slices.Clone(e.Hosts)
	for i, h := range hosts {
		if !h.Made {
			continue
		}
		at := slices.IndexFunc(specs, func(s experiment.HostSpec) bool { return s.Name == h.Name })
		if at < 0 {
			return fmt.Errorf("%s has no host %s", in.HostsName, h.Name)
		}
		hosts[i] = specs[at]
		hosts[i].Made = true
	}
	e.Hosts = hosts
	return nil
}
