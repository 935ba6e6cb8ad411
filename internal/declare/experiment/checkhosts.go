package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkHosts checks that no host is there twice, and how each is reached and measured.
func (e *Experiment) checkHosts(c *Checker, tools Tools) {
	names := map[string]bool{}
	for i, h := range e.Hosts {
		if names[h.Name] {
			c.wrong(AtValue("hosts", Item(i)), "give each host a name of its own", "host %s is there twice", quote(h.Name))
		}
		names[h.Name] = true
		if longest := max(len(h.Name), len(h.SSH), len(h.AgentFrom), len(h.Address), len(h.Address6), len(h.Bind),
			len(h.Folder), len(h.Tools)); longest > maxJoin {
			c.wrong(AtValue("hosts", Item(i)), fmt.Sprintf("at most %d", maxJoin), "it has a text of %d bytes", longest)
		} else if c.strict {
			h.Check(c.In("hosts", h.Name), tools)
		}
	}
}

// CheckHost checks that the host which an arm names is one of the known ones.
func (a Arm) CheckHost(c *Checker, side string, known []string) {
	name := a.Client
	if side == "server" {
		name = a.Server
	}
	switch {
	case name == "" && !c.given(side) || slices.Contains(known, name):
	case len(known) == 0:
		c.wrong(AtValue(side), "declare it, for example hosts: {vm-a: {ssh: vm-a}}, or give --hosts FILE",
			"%s %s is a host, and no hosts are declared", side, quote(name))
	default:
		c.wrong(AtValue(side), Suggest(name, known), "%s %s is none of the hosts", side, quote(name))
	}
}

// Check checks how a host is reached and measured. A join string is not recorded, but where it is from.
func (h HostSpec) Check(c *Checker, tools Tools) {
	c.Name(AtValue(), "a host", h.Name)
	kind := h.checkKind(c)
	switch {
	case c.text != nil && (h.Agent != "" || c.given(HostAgent)):
		c.refuse(AtValue(HostAgent), CheckJoin(h.Agent))
	case c.text == nil && h.AgentFrom != "" && h.AgentFrom != HiddenJoin && Referenced(h.AgentFrom) == "":
		c.wrong(AtValue(HostAgent), "", "%s is no variable", quote(h.AgentFrom))
	}
	c.texts(h.Texts())
	c.numbers(PortKey(&h.Port))
	if h.Silence != 0 || c.given("silence") {
		c.spans(AtValue("silence"), "silence", h.Silence, minSilence, maxSilence)
	}
	c.programs(h.Tools, tools)
	for _, name := range KeysOf("host") {
		if !h.has(c, name) {
			continue
		}
		if (name == "folder" || name == "sudo") && h.has(c, "command") && c.sound("command") {
			c.wrong(AtKey(name), "leave it out; the command says where the agent is and how it is started",
				"%s: %s has no meaning with command", h.what(), name)
		}
		if kind != "" && !slices.Contains(hostKinds(), name) && !slices.Contains(takers(name), kind) {
			c.wrong(AtKey(name), "leave it out; it is for "+strings.Join(takers(name), ", "),
				"%s: %s has no meaning with %s", h.what(), name, kind)
		}
	}
}

// has says that a host has a value for a key.
func (h HostSpec) has(c *Checker, key string) bool {
	has := map[string]bool{HostLocal: h.Local, HostAgent: h.AgentFrom != "", HostProvisioned: h.Provisioned,
		"port": h.Port != 0, "sudo": h.Sudo, "nat": h.NAT, "silence": h.Silence != 0, "tools": len(h.Tools) > 0}
	for _, k := range h.Texts() {
		has[k.Name] = *k.Into != ""
	}
	return has[key] || c.given(key)
}

// checkKind checks that exactly one key says how the host is reached. It gives "" if there is none, or several.
func (h HostSpec) checkKind(c *Checker) string {
	var kind string
	for _, key := range hostKinds() {
		switch {
		case !h.has(c, key):
		case kind == "":
			kind = key
		default:
			c.wrong(AtKey(key), "keep one of them", "%s is reached in two ways, %s and %s", h.what(), kind, key)
			return ""
		}
	}
	if kind == "" && !c.misspelt(hostKinds()...) {
		c.wrong(AtValue(), "add ssh: vm-a, agent: ${JOIN}, local: {} or provisioned: true",
			"%s does not say how it is reached", h.what())
	}
	return kind
}

// programs checks the paths of programs.
func (c *Checker) programs(paths map[string]string, tools Tools) {
	in := c.In("tools")
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		if !slices.Contains(tools.Programs(), name) {
			in.wrong(AtKey(name), Suggest(name, tools.Programs()), "unknown program %s", quote(name))
		}
		in.refuse(AtValue(name), checkPath(paths[name]))
	}
}
