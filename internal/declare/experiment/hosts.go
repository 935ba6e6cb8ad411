package experiment

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
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
	// empty in an experiment that was read from a run directory; see file.Rejoin.
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

// HiddenJoin stands in the record for a join string that the file itself has.
const HiddenJoin = "(secret)"

// Limits of hosts.
const (
	MaxHosts    = 2 * MaxArms
	maxSSH      = 255   // bytes
	maxJoin     = 4096  // bytes
	maxHostPath = 1024  // bytes
	minPort     = 1024  // below it, servers need privilege
	maxPort     = 65532 // the first of four ports
	minSilence  = 5 * time.Second
	maxSilence  = 24 * time.Hour
)

func hostKinds() []string { return []string{HostLocal, HostSSH, HostAgent, HostProvisioned} }

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

// what names a host in messages.
func (h HostSpec) what() string { return "host " + quote(h.Name) }

// Texts are the keys of a host that have texts.
func (h *HostSpec) Texts() []TextKey {
	return []TextKey{
		{HostSSH, "vm-a", &h.SSH, CheckDestination, false},
		{"address", "10.0.0.5", &h.Address, checkAddress, true},
		{"address6", "fd00::5", &h.Address6, checkAddress6, true},
		{"bind", "0.0.0.0", &h.Bind, checkBind, true},
		{"folder", "/var/tmp/nearfar", &h.Folder, checkPath, true},
		{"command", `C:\nearfar\nearfar-agent.exe --stdio`, &h.Command, checkCommand, false},
	}
}

// PortKey is the key of the first port for measuring.
func PortKey(into *int) []NumberKey { return []NumberKey{{"port", into, Range{minPort, maxPort}}} }

// refused is the error of a check: the mistake, and a hint what would be right.
func refused(hint, format string, args ...any) error {
	return &QuantityError{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// CheckDestination checks a destination of ssh, as `ssh:` of a host takes it: one that begins with "-" would be an
// option. The error is a *QuantityError.
func CheckDestination(name string) error {
	const hint = "write a name that ssh knows, for example vm-a, or user@10.0.0.5"
	switch {
	case len(name) > maxSSH:
		return refused("at most "+strconv.Itoa(maxSSH), "a destination of %d characters", len(name))
	case name == "" || strings.HasPrefix(name, "-"), strings.ContainsFunc(name, notInWords):
		return refused(hint, "%s is no destination", quote(name))
	}
	return nil
}

// CheckJoin checks a join string as far as this package knows it. Its errors do not show the string.
func CheckJoin(join string) error {
	const hint = "copy the line that `nearfar agent` printed on the host"
	switch {
	case len(join) > maxJoin:
		return refused(hint, "a join string has at most %d characters, and this has %d", maxJoin, len(join))
	case !strings.HasPrefix(join, JoinPrefix) || strings.ContainsFunc(join, notInWords):
		return refused(hint, "this is not a join string, which is one word that begins with %q", JoinPrefix)
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

// HasHosts reports whether an arm names its hosts.
func (a Arm) HasHosts() bool { return a.Client != "" || a.Server != "" }

// IsVariable reports whether a text can be the name of a variable: letters, digits and _, and no digit first.
func IsVariable(name string) bool {
	for i, c := range name {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// Referenced is the name of the variable if a text is one variable, such as "${WIN_JOIN}", else "".
func Referenced(text string) string {
	name, begins := strings.CutPrefix(text, "${")
	name, ends := strings.CutSuffix(name, "}")
	if !begins || !ends || !IsVariable(name) {
		return ""
	}
	return name
}

// JoinPrefix is how every join string begins. Letters, digits, "-", "_" and "." follow.
const JoinPrefix = "nearfar-agent."
