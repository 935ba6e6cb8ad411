package file

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// declaredHosts are the hosts of an experiment file and of the file that adds to them.
type declaredHosts struct {
	specs []experiment.HostSpec
	// names are all names that are declared, also of hosts with mistakes.
	names []string
	// provisioned are the keys of the hosts of this file whose machines are still to be made, by name.
	provisioned map[string]*yaml.Node
	// used says that arms name hosts, or have pods.
	used bool
	// unknown says that a file of hosts could not be read, so that names can be missing.
	unknown bool
}

// hosts reads the hosts that arms use, first those of this file, then those of the hosts file.
func (r *reader) hosts(f fields) declaredHosts {
	var d declaredHosts
	var further *yaml.Node // the hosts of the hosts file
	if r.further != nil {
		further = r.further.top
		d.unknown = further == nil
	}
	used := usedHosts(f)
	d.used = len(used) > 0 || podsGiven(f)
	var own *yaml.Node
	if v, ok := r.optional(f, "hosts"); ok && r.isMapping(v.value, "hosts") {
		own = v.value
	}
	d.unknown = d.unknown || own == nil && (f.named["hosts"].key != nil || f.suspected["hosts"])
	d.names = append(hostNames(own), hostNames(further)...)
	if own != nil {
		replaced := hostNames(further)
		d.provisioned = provisionedHosts(own)
		for _, spec := range r.hostsOf(own, func(name string) bool { return !slices.Contains(replaced, name) }) {
			if used[spec.Name] {
				d.specs = append(d.specs, spec)
			}
		}
	}
	if further != nil {
		wanted := func(name string) bool { return used[name] }
		r.further.reader.expandHosts(further, wanted)
		d.specs = append(d.specs, r.further.reader.hostsOf(further, wanted)...)
		for i, h := range d.specs {
			d.specs[i].Made = r.further.made && !h.Provisioned && d.provisioned[h.Name] != nil
		}
		for name, key := range provisionedHosts(further) {
			if used[name] {
				r.further.reader.wrong(key, "say how the host is reached, for example ssh: vm-a",
					"provisioned has no meaning here: only the experiment file declares such hosts")
			}
		}
	}
	return d
}

// hostNames lists the names of the hosts of a mapping, which may be nil.
func hostNames(n *yaml.Node) []string {
	var names []string
	for key := range pairs(n) {
		if key.Kind == yaml.ScalarNode && experiment.IsName(key.Value) && !slices.Contains(names, key.Value) {
			names = append(names, key.Value)
		}
	}
	return names
}

// usedHosts are the names that arms give as client or server.
func usedHosts(f fields) map[string]bool {
	used := map[string]bool{}
	for _, arm := range pairs(f.named["arms"].value) {
		for key, value := range pairs(arm) {
			if (key.Value == "client" || key.Value == "server") && value.Kind == yaml.ScalarNode {
				used[value.Value] = true
			}
		}
	}
	return used
}

// hostsOf reads the hosts of a mapping whose names are wanted.
func (r *reader) hostsOf(n *yaml.Node, wanted func(name string) bool) []experiment.HostSpec {
	if !r.most(n, "hosts", len(n.Content)/2, experiment.MaxHosts) {
		return nil
	}
	var specs []experiment.HostSpec
	for key, value := range r.entries(n, "host ", "give each host a name of its own") {
		r.check(fields{at: key}, func(c *experiment.Checker) { c.Name(experiment.AtKey(), "a host", key.Value) })
		if r.faulty[key] {
			continue
		}
		if wanted(key.Value) {
			specs = append(specs, r.host(key, value))
		}
	}
	return specs
}

// host reads one host.
func (r *reader) host(key, value *yaml.Node) experiment.HostSpec {
	h, what := experiment.HostSpec{Name: key.Value}, "host "+quote(key.Value)
	if value.Kind != yaml.MappingNode {
		// The message has no value: it can be a join string.
		r.wrong(value, "write, for example, {ssh: vm-a}, {agent: ${JOIN}}, {local: {}} or {provisioned: true}",
			"%s does not say how it is reached", what)
		return h
	}
	f, ok := r.fields(value, key, what, experiment.KeysOf("host"))
	if !ok {
		return h
	}
	r.reached(&h, f)
	f.texts(h.Texts())
	for key, into := range map[string]*bool{"sudo": &h.Sudo, "nat": &h.NAT} {
		f.Truth(key, into)
	}
	f.numbers(experiment.PortKey(&h.Port))
	experiment.Quantity(f, "silence", "60s", experiment.ParseDuration, &h.Silence)
	h.Tools = r.hostTools(f)
	r.check(f, func(c *experiment.Checker) { h.Check(c, r.tools) })
	return h
}

// reached reads how a host is reached, except by ssh.
func (r *reader) reached(h *experiment.HostSpec, f fields) {
	if v, ok := r.optional(f, experiment.HostLocal); ok {
		h.Local = true
		if v.value.Kind != yaml.MappingNode || len(v.value.Content) > 0 {
			r.wrong(v.value, "write local: {}", "local takes no value")
		}
	}
	if v, ok := r.optional(f, experiment.HostProvisioned); ok {
		if h.Provisioned = r.truth(v.value, experiment.HostProvisioned); !h.Provisioned && v.value.Value == "false" {
			r.wrong(v.value, "leave it out, and say how the host is reached", "provisioned cannot be false")
		}
	}
	if v, ok := r.optional(f, experiment.HostAgent); ok {
		switch {
		case v.value.Kind != yaml.ScalarNode:
			r.wrong(v.value, "write, for example, agent: ${JOIN}", "agent must be a join string, not %s",
				kindName(v.value))
		default:
			h.Agent, h.AgentFrom = v.value.Value, experiment.HiddenJoin
			if from, ok := r.references[v.value]; ok {
				h.AgentFrom = from
			}
		}
	}
}

// hostTools reads the paths of programs.
func (r *reader) hostTools(f fields) map[string]string {
	v, ok := r.optional(f, "tools")
	if !ok {
		return nil
	}
	inner, ok := r.fields(v.value, v.key, "tools of "+f.what, r.tools.Programs())
	if !ok {
		return nil
	}
	paths := map[string]string{}
	for name := range inner.named {
		if path := ""; inner.Text(name, "/opt/bin/"+name, &path) {
			paths[name] = path
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return paths
}

// provisionedHosts finds the hosts of a mapping that are declared as provisioned.
func provisionedHosts(hosts *yaml.Node) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	for name, host := range pairs(hosts) {
		for key := range pairs(host) {
			if key.Value == experiment.HostProvisioned {
				found[name.Value] = key
			}
		}
	}
	return found
}

// oneMachine reports whether both hosts of an arm are known to be one machine. Different names can be one machine, too,
// but a file cannot show that.
func (d declaredHosts) oneMachine(a experiment.Arm) bool {
	if a.Kubernetes != nil {
		return a.Kubernetes.Nodes == experiment.NodesSame
	}
	local := func(name string) bool {
		return slices.ContainsFunc(d.specs, func(h experiment.HostSpec) bool { return h.Name == name && h.Local })
	}
	return a.Client == a.Server || local(a.Client) && local(a.Server)
}

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
