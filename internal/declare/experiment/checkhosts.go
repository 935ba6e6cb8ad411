package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkHosts checks that there are not too many hosts, that none is there twice, and that arms name only hosts that
// exist.
func (e *Experiment) checkHosts() error {
	if len(e.Hosts) > maxHosts {
		return fmt.Errorf("there are %d hosts; at most %d", len(e.Hosts), maxHosts)
	}
	names := map[string]bool{}
	for _, h := range e.Hosts {
		if names[h.Name] {
			return fmt.Errorf("host %s is there twice", quote(h.Name))
		}
		names[h.Name] = true
		if longest := max(len(h.Name), len(h.SSH), len(h.AgentFrom), len(h.Address), len(h.Address6), len(h.Bind),
			len(h.Folder), len(h.Tools)); longest > maxJoin {
			return fmt.Errorf("host %s has a text of %d bytes; at most %d", quote(h.Name), longest, maxJoin)
		}
	}
	for _, a := range e.Arms {
		for _, name := range []string{a.Client, a.Server} {
			if name != "" && !names[name] {
				return fmt.Errorf("arm %s names host %s, which does not exist", quote(a.Name), quote(name))
			}
		}
	}
	return nil
}

// check checks how a host is reached and measured. A join string is not recorded, but where it is from.
func (h HostSpec) check(c *checker, tools Tools) {
	c.name(value(), "a host", h.Name)
	kind := h.checkKind(c)
	switch {
	case c.text != nil && (h.Agent != "" || c.given(HostAgent)):
		c.refuse(value(HostAgent), checkJoin(h.Agent))
	case c.text == nil && h.AgentFrom != "" && h.AgentFrom != hiddenJoin && referenced(h.AgentFrom) == "":
		c.wrong(value(HostAgent), "", "%s is no variable", quote(h.AgentFrom))
	}
	c.texts(h.texts())
	if h.Port != 0 || c.given("port") {
		c.whole(value("port"), "port", h.Port, ports())
	}
	if (h.Silence != 0 || c.given("silence")) && (h.Silence < minSilence || h.Silence > maxSilence) {
		c.wrong(value("silence"), "write "+FormatDuration(minSilence)+" to "+FormatDuration(maxSilence),
			"silence cannot be %s", FormatDuration(h.Silence))
	}
	c.programs(h.Tools, tools)
	for _, name := range hostKeys() {
		if !h.has(c, name) {
			continue
		}
		if (name == "folder" || name == "sudo") && h.has(c, "command") && c.sound("command") {
			c.wrong(atKey(name), "leave it out; the command says where the agent is and how it is started",
				"%s: %s has no meaning with command", h.what(), name)
		}
		if kind != "" && !slices.Contains(hostKinds(), name) && !slices.Contains(takers(name), kind) {
			c.wrong(atKey(name), "leave it out; it is for "+strings.Join(takers(name), ", "),
				"%s: %s has no meaning with %s", h.what(), name, kind)
		}
	}
}

// has says that a host has a value for a key.
func (h HostSpec) has(c *checker, key string) bool {
	has := map[string]bool{HostLocal: h.Local, HostAgent: h.AgentFrom != "", HostProvisioned: h.Provisioned,
		"port": h.Port != 0, "sudo": h.Sudo, "nat": h.NAT, "silence": h.Silence != 0, "tools": len(h.Tools) > 0}
	for _, k := range h.texts() {
		has[k.name] = *k.into != ""
	}
	return has[key] || c.given(key)
}

// checkKind checks that exactly one key says how the host is reached. It gives "" if there is none, or several.
func (h HostSpec) checkKind(c *checker) string {
	var kind string
	for _, key := range hostKinds() {
		switch {
		case !h.has(c, key):
		case kind == "":
			kind = key
		default:
			c.wrong(atKey(key), "keep one of them", "%s is reached in two ways, %s and %s", h.what(), kind, key)
			return ""
		}
	}
	if kind == "" && !c.misspelt(hostKinds()...) {
		c.wrong(value(), "add ssh: vm-a, agent: ${JOIN}, local: {} or provisioned: true",
			"%s does not say how it is reached", h.what())
	}
	return kind
}

// programs checks the paths of programs.
func (c *checker) programs(paths map[string]string, tools Tools) {
	in := c.in("tools")
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		if !slices.Contains(tools.Programs(), name) {
			in.wrong(atKey(name), Suggest(name, tools.Programs()), "unknown program %s", quote(name))
		}
		in.refuse(value(name), checkPath(paths[name]))
	}
}
