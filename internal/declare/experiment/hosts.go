package experiment

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// HostSpec is a machine that arms name as their client or server. Exactly one of Local, SSH and Agent says how nearfar
// reaches it, unless it is Provisioned.
type HostSpec struct {
	Name string `json:"name"`
	// Provisioned says that Experiment.Provision makes the machine, and that it is not known yet how it is reached.
	// Then no other field is set.
	Provisioned bool `json:"provisioned,omitempty"`
	// Made says that Experiment.Provision has made the machine. The other fields are from the module's output.
	Made bool `json:"made,omitempty"`
	// Local is the machine on which nearfar runs, without namespaces.
	Local bool `json:"local,omitempty"`
	// SSH is a destination as ssh takes it: a name of ssh_config, or user@address.
	SSH string `json:"ssh,omitempty"`
	// Agent is the join string that `nearfar agent` printed on the host. It is a secret and is never recorded, so it is
	// empty in an experiment that was read from a run directory; see Experiment.Rejoin.
	Agent string `json:"-"`
	// AgentFrom stands for the join string in the record: the variable that holds it, such as "${WIN_JOIN}", or
	// "(secret)". It is not empty if and only if the host is reached by its agent.
	AgentFrom string `json:"agent,omitempty"`
	// Address and Address6 are the IPv4 and IPv6 addresses where the other host reaches this one. If one is empty, the
	// host is asked for its own.
	Address  string `json:"address,omitempty"`
	Address6 string `json:"address6,omitempty"`
	// Bind is the IPv4 or IPv6 address that the host's servers bind, if it is not Address (behind NAT). Default: empty.
	Bind string `json:"bind,omitempty"`
	// Port is the first of the four ports for measuring. 0 is the default of each tool.
	Port int `json:"port,omitempty"`
	// Folder is the absolute path of the directory for the agent and its files. Default: empty, a temporary directory.
	Folder string `json:"folder,omitempty"`
	// Command starts an agent that is on the host already, in the ssh session, such as "/opt/nearfar-agent --stdio".
	// Empty to copy the agent there.
	Command string `json:"command,omitempty"`
	// Sudo says that the agent may use `sudo -n` for what needs it (ssh).
	Sudo bool `json:"sudo,omitempty"`
	// NAT says that the address from which others see the host may change while a trial runs, as behind a translation
	// with several addresses. Servers then do not hold its traffic to one address.
	NAT bool `json:"nat,omitempty"`
	// Silence is how long the agent waits for word from nearfar before it ends with all that it started. 0 is the
	// agent's default.
	Silence time.Duration `json:"silence,omitempty"`
	// Tools are the absolute paths of programs on the host, by name, for programs that are not on its PATH.
	Tools map[string]string `json:"tools,omitempty"`
}

// The kinds of hosts.
const (
	HostLocal = "local"
	HostSSH   = "ssh"
	HostAgent = "agent"
	// HostProvisioned is a host whose machine is still to be made.
	HostProvisioned = "provisioned"
)

// Kind is how nearfar reaches the host: HostLocal, HostSSH, HostAgent or HostProvisioned.
func (h HostSpec) Kind() string {
	switch {
	case h.Provisioned:
		return HostProvisioned
	case h.Local:
		return HostLocal
	case h.SSH != "":
		return HostSSH
	}
	return HostAgent
}

// String describes the host in a few words, without its join string: "ssh vm-a", "agent, measured at 10.0.0.5".
func (h HostSpec) String() string {
	text := h.Kind()
	if h.SSH != "" {
		text += " " + h.SSH
	}
	if at := strings.Join(slices.DeleteFunc([]string{h.Address, h.Address6},
		func(a string) bool { return a == "" }), " and "); at != "" {
		text += ", measured at " + at
	}
	return text
}

// GoString is String, so that no way of printing shows the join string.
func (h HostSpec) GoString() string { return h.Name + ": " + h.String() }

// Host finds a host by name.
func (e *Experiment) Host(name string) (HostSpec, bool) {
	for _, h := range e.Hosts {
		if h.Name == name {
			return h, true
		}
	}
	return HostSpec{}, false
}

// hiddenJoin stands in the record for a join string that the file itself has.
const hiddenJoin = "(secret)"

// Limits of hosts.
const (
	maxHosts    = 2 * maxArms
	maxSSH      = 255   // bytes
	maxJoin     = 4096  // bytes
	maxHostPath = 1024  // bytes
	minPort     = 1024  // below it, servers need privilege
	maxPort     = 65532 // the first of four ports
	minSilence  = 5 * time.Second
	maxSilence  = 24 * time.Hour
)

func hostKinds() []string { return []string{HostLocal, HostSSH, HostAgent, HostProvisioned} }

func hostKeys() []string {
	return append(hostKinds(), "address", "address6", "bind", "port", "folder", "command", "sudo", "nat", "silence",
		"tools")
}

// takers gives the kinds of hosts that take a key.
func takers(key string) []string {
	switch key {
	case "sudo", "command":
		return []string{HostSSH}
	case "folder", "tools": // an agent is told by the person at its host where programs are
		return []string{HostLocal, HostSSH}
	}
	return []string{HostLocal, HostSSH, HostAgent}
}

// declaredHosts are the hosts of an experiment file and of the file that adds to them.
type declaredHosts struct {
	specs []HostSpec
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
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var names []string
	for key := range pairs(n) {
		if key.Kind == yaml.ScalarNode && IsName(key.Value) && !slices.Contains(names, key.Value) {
			names = append(names, key.Value)
		}
	}
	return names
}

// usedHosts are the names that arms give as client or server.
func usedHosts(f fields) map[string]bool {
	used := map[string]bool{}
	arms := f.named["arms"].value
	if arms == nil || arms.Kind != yaml.MappingNode {
		return used
	}
	for _, arm := range pairs(arms) {
		if arm.Kind != yaml.MappingNode {
			continue
		}
		for key, value := range pairs(arm) {
			if (key.Value == "client" || key.Value == "server") && value.Kind == yaml.ScalarNode {
				used[value.Value] = true
			}
		}
	}
	return used
}

// hostsOf reads the hosts of a mapping whose names are wanted.
func (r *reader) hostsOf(n *yaml.Node, wanted func(name string) bool) []HostSpec {
	if !r.most(n, "hosts", len(n.Content)/2, maxHosts) {
		return nil
	}
	var specs []HostSpec
	for key, value := range r.entries(n, "host ", "give each host a name of its own") {
		r.check(fields{at: key}, func(c *checker) { c.name(atKey(), "a host", key.Value) })
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
func (r *reader) host(key, value *yaml.Node) HostSpec {
	h := HostSpec{Name: key.Value}
	if value.Kind != yaml.MappingNode {
		// The message has no value: it can be a join string.
		r.wrong(value, "write, for example, {ssh: vm-a}, {agent: ${JOIN}}, {local: {}} or {provisioned: true}",
			"%s does not say how it is reached", h.what())
		return h
	}
	f, ok := r.fields(value, key, h.what(), hostKeys())
	if !ok {
		return h
	}
	r.reached(&h, f)
	r.texts(f, h.texts())
	for key, into := range map[string]*bool{"sudo": &h.Sudo, "nat": &h.NAT} {
		if v, ok := r.optional(f, key); ok {
			*into = r.truth(v.value, key)
		}
	}
	r.numbers(f, portKey(&h.Port))
	if v, ok := r.optional(f, "silence"); ok {
		h.Silence, _ = quantity(r, v.value, "silence", "60s", ParseDuration)
	}
	h.Tools = r.hostTools(f)
	r.check(f, func(c *checker) { h.check(c, r.tools) })
	return h
}

// what names a host in messages.
func (h HostSpec) what() string { return "host " + quote(h.Name) }

// texts are the keys of a host that have texts.
func (h *HostSpec) texts() []textKey {
	return []textKey{
		{HostSSH, "vm-a", &h.SSH, checkSSH, false},
		{"address", "10.0.0.5", &h.Address, checkAddress, true},
		{"address6", "fd00::5", &h.Address6, checkAddress6, true},
		{"bind", "0.0.0.0", &h.Bind, checkBind, true},
		{"folder", "/var/tmp/nearfar", &h.Folder, checkPath, true},
		{"command", `C:\nearfar\nearfar-agent.exe --stdio`, &h.Command, checkCommand, false},
	}
}

func portKey(into *int) []numberKey { return []numberKey{{"port", into, Range{minPort, maxPort}}} }

// reached reads how a host is reached, except by ssh.
func (r *reader) reached(h *HostSpec, f fields) {
	if v, ok := r.optional(f, HostLocal); ok {
		h.Local = true
		if v.value.Kind != yaml.MappingNode || len(v.value.Content) > 0 {
			r.wrong(v.value, "write local: {}", "local takes no value")
		}
	}
	if v, ok := r.optional(f, HostProvisioned); ok {
		if h.Provisioned = r.truth(v.value, HostProvisioned); !h.Provisioned && v.value.Value == "false" {
			r.wrong(v.value, "leave it out, and say how the host is reached", "provisioned cannot be false")
		}
	}
	if v, ok := r.optional(f, HostAgent); ok {
		switch {
		case v.value.Kind != yaml.ScalarNode:
			r.wrong(v.value, "write, for example, agent: ${JOIN}", "agent must be a join string, not %s",
				kindName(v.value))
		default:
			h.Agent, h.AgentFrom = v.value.Value, hiddenJoin
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
		if v, ok := r.optional(inner, name); ok {
			if path, ok := r.text(v.value, name, "/opt/bin/"+name); ok {
				paths[name] = path
			}
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return paths
}

// refused is the error of a check: the mistake, and a hint what would be right.
func refused(hint, format string, args ...any) error {
	return &QuantityError{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// checkSSH checks a destination of ssh. One that begins with "-" would be an option.
func checkSSH(name string) error {
	const hint = "write a name that ssh knows, for example vm-a, or user@10.0.0.5"
	switch {
	case len(name) > maxSSH:
		return refused("at most "+strconv.Itoa(maxSSH), "a destination of %d characters", len(name))
	case name == "" || strings.HasPrefix(name, "-"), strings.ContainsFunc(name, notInWords):
		return refused(hint, "%s is no destination", quote(name))
	}
	return nil
}

// checkJoin checks a join string as far as this package knows it. Its errors do not show the string.
func checkJoin(join string) error {
	const hint = "copy the line that `nearfar agent` printed on the host"
	switch {
	case len(join) > maxJoin:
		return refused(hint, "a join string has at most %d characters, and this has %d", maxJoin, len(join))
	case !strings.HasPrefix(join, joinPrefix) || strings.ContainsFunc(join, notInWords):
		return refused(hint, "this is not a join string, which is one word that begins with %q", joinPrefix)
	}
	return nil
}

func notInWords(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }

// checkPath checks the path of a file or directory on a host, which can be a Windows host.
func checkPath(path string) error {
	drive := len(path) > 3 && unicode.IsLetter(rune(path[0])) && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	switch {
	case len(path) > maxHostPath:
		return refused("at most "+strconv.Itoa(maxHostPath), "a path of %d characters", len(path))
	case strings.ContainsFunc(path, func(c rune) bool { return !unicode.IsPrint(c) }):
		return refused("write plain text", "%s holds a character that cannot be printed", quote(path))
	case !drive && (len(path) < 2 || path[0] != '/'):
		return refused("begin it with / or a drive, for example /opt/x or C:\\x", "%s is no absolute path",
			quote(path))
	}
	return nil
}

// checkCommand checks the command that starts an agent. It is one line for the login shell of a host, which can be of
// any kind.
func checkCommand(command string) error {
	const hint = `write one line, for example C:\nearfar\nearfar-agent.exe --stdio`
	odd := func(c rune) bool { return !unicode.IsPrint(c) }
	switch {
	case len(command) > maxHostPath:
		return refused("at most "+strconv.Itoa(maxHostPath), "a command of %d characters", len(command))
	case strings.TrimSpace(command) == "", strings.ContainsFunc(command, odd):
		return refused(hint, "%s is no command", quote(command))
	}
	return nil
}

// checkAddress checks the IPv4 address at which another host reaches a host.
func checkAddress(text string) error {
	if a, err := netip.ParseAddr(text); err == nil && a.Is6() && !a.Is4In6() {
		return refused("write it as address6", "%s is an IPv6 address", quote(text))
	}
	return checkReachable(text, "10.0.0.5", netip.Addr.Is4)
}

// checkAddress6 checks the IPv6 address at which another host reaches a host.
func checkAddress6(text string) error {
	if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
		return refused("write it as address", "%s is an IPv4 address", quote(text))
	}
	return checkReachable(text, "fd00::5", netip.Addr.Is6)
}

func checkReachable(text, example string, version func(netip.Addr) bool) error {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil || !version(a) || a.Is4In6():
		return refused("write an address, for example "+example, "%s is no IP address", quote(text))
	case a.Zone() != "":
		return refused("write an address without %", "the zone in %s has a meaning on one machine only", quote(text))
	case a.IsUnspecified() || a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return refused("write an address of the host, for example "+example, "%s is the address of no host",
			quote(text))
	}
	return nil
}

// checkBind checks the address that servers bind.
func checkBind(text string) error {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" || a.Is4In6() || a.IsMulticast() {
		return refused("write an address of the host, or 0.0.0.0 for all", "%s is no address that servers can bind",
			quote(text))
	}
	return nil
}
