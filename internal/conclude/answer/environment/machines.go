package environment

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
)

// Machine describes the machine of one or several hosts that an experiment file names.
type Machine struct {
	// Hosts are the names of hosts on machines that are alike, in alphabetical order.
	Hosts []string `json:"hosts"`
	// System is the distribution or operating system, Kernel its release, CPU the model, CPUs their number, ClockSource
	// where the kernel takes the time from; empty and 0 if not recorded.
	System      string `json:"system,omitempty"`
	Kernel      string `json:"kernel,omitempty"`
	CPU         string `json:"cpu,omitempty"`
	CPUs        int    `json:"cpus,omitempty"`
	ClockSource string `json:"clock_source,omitempty"`
}

// String describes the machine without the names of its hosts.
func (m Machine) String() string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	add(m.System)
	if m.Kernel != "" {
		add("kernel " + m.Kernel)
	}
	if m.CPUs > 0 {
		add(prose.Plural(m.CPUs, "CPU") + prose.InBrackets(m.CPU))
	} else {
		add(m.CPU)
	}
	if m.ClockSource != "" {
		add("clock source " + m.ClockSource)
	}
	if len(parts) == 0 {
		return "nothing is known of it"
	}
	return strings.Join(parts, ", ")
}

// machinesText is the machines in a line.
func machinesText(machines []Machine) string {
	if len(machines) == 1 {
		m := machines[0]
		alike := ""
		switch len(m.Hosts) {
		case 1:
		case 2:
			alike = ", both alike"
		default:
			alike = ", all alike"
		}
		return "Hosts " + hostsText(m.Hosts) + alike + ": " + m.String()
	}
	var parts []string
	for _, m := range machines {
		parts = append(parts, hostsText(m.Hosts)+": "+m.String())
	}
	return "Hosts " + strings.Join(parts, "; ")
}

// mostHosts is how many hosts a line names.
const mostHosts = 8

// hostsText lists hosts. If they are too many for a line, an arm whose two hosts are in the list is named once, and
// only the first ones are named.
func hostsText(hosts []string) string {
	if len(hosts) <= mostHosts {
		return strings.Join(hosts, ", ")
	}
	var names []string
	for _, name := range hosts {
		arm, side, _ := strings.Cut(name, "/")
		switch {
		case side == "client" && slices.Contains(hosts, arm+"/server"):
			names = append(names, "both of "+arm)
		case side == "server" && slices.Contains(hosts, arm+"/client"):
		default:
			names = append(names, name)
		}
	}
	if over := len(names) - mostHosts; over > 0 {
		return fmt.Sprintf("%s and %d more (%d in all)", strings.Join(names[:mostHosts], ", "), over, len(hosts))
	}
	return strings.Join(names, ", ")
}

// ArmAddresses are the addresses between which an arm measures.
type ArmAddresses struct {
	Arm    string      `json:"arm"`
	Client HostAddress `json:"client"`
	Server HostAddress `json:"server"`
}

// HostAddress is the name of a host, and its address; empty if it is not recorded.
type HostAddress struct {
	Host    string `json:"host"`
	Address string `json:"address"`
}

func (h HostAddress) String() string { return h.Host + prose.InBrackets(h.Address) }

// versionsOfIP bounds the pairs of addresses of an arm.
const versionsOfIP = 2

// mostAddresses is how many pairs of addresses a line has. JSON has all.
const mostAddresses = 8

// addressesText is the addresses in a line, each pair once with its arms.
func addressesText(all []ArmAddresses) string {
	var pairs []string
	arms := map[string][]string{}
	for _, a := range all {
		pair := a.Client.String() + " and " + a.Server.String()
		if arms[pair] == nil {
			pairs = append(pairs, pair)
		}
		arms[pair] = append(arms[pair], a.Arm)
	}
	more := ""
	if n := len(pairs) - mostAddresses; n > 0 {
		pairs, more = pairs[:mostAddresses], fmt.Sprintf("; %d more", n)
	}
	for i, pair := range pairs {
		pairs[i] = strings.Join(arms[pair], ", ") + " between " + pair
	}
	return "Measured: " + strings.Join(pairs, "; ") + more
}

// givenHosts is the part of a run's hosts about the hosts of the file; internal/measure/deploy.Record writes it.
type givenHosts struct {
	Machines map[string]givenMachine `json:"machines"`
	Sides    map[string]givenSides   `json:"sides"`
	Between  map[string][]struct {
		Client, Server string
	} `json:"between"`
}

// givenSides are the names of an arm's hosts.
type givenSides struct{ Client, Server string }

// givenMachine has the fields of internal/onhost/agent.Facts that are read.
type givenMachine struct {
	System struct {
		OS, Arch string
	} `json:"system"`
	Hostname    string            `json:"hostname"`
	Release     map[string]string `json:"release"`
	Kernel      string            `json:"kernel"`
	Model       string            `json:"model"`
	CPUs        []json.RawMessage `json:"cpus"`
	BootID      string            `json:"boot_id"`
	ClockSource string            `json:"clock_source"`
}

// system is the name of the distribution, or of the operating system.
func (m givenMachine) system() string {
	if name := m.Release["PRETTY_NAME"]; name != "" {
		return name
	}
	switch m.System.OS {
	case "windows":
		return "Windows"
	case "linux":
		return "Linux"
	case "darwin":
		return "macOS"
	}
	return m.System.OS
}

// readGiven reads the hosts of the file from a run's hosts; empty if there are none.
func readGiven(hosts json.RawMessage) givenHosts {
	var g givenHosts
	if json.Unmarshal(hosts, &g) != nil {
		return givenHosts{}
	}
	return g
}

// machines groups the hosts whose machines are alike, in the order of their names.
func (g givenHosts) machines() []Machine {
	var all []Machine
	for _, name := range slices.Sorted(maps.Keys(g.Machines)) {
		f := g.Machines[name]
		m := Machine{System: f.system(), Kernel: f.Kernel, CPU: f.Model, CPUs: len(f.CPUs), ClockSource: f.ClockSource}
		at := slices.IndexFunc(all, func(other Machine) bool { return other.String() == m.String() })
		if at < 0 {
			at = len(all)
			all = append(all, m)
		}
		all[at].Hosts = append(all[at].Hosts, name)
	}
	return all
}

// addresses are the addresses between which the arms measure, in the order of the arms.
func (g givenHosts) addresses(e *experiment.Experiment) (all []ArmAddresses) {
	for _, a := range e.Arms {
		between := g.Between[a.Name]
		for _, b := range between[:min(len(between), versionsOfIP)] {
			s := g.Sides[a.Name]
			if _, err := netip.ParseAddr(b.Server); err != nil {
				continue
			}
			if _, err := netip.ParseAddr(b.Client); err != nil {
				b.Client = ""
			}
			all = append(all, ArmAddresses{a.Name, HostAddress{s.Client, b.Client}, HostAddress{s.Server, b.Server}})
		}
	}
	return all
}

// limits says which arms have both hosts on one machine.
func (g givenHosts) limits(e *experiment.Experiment) []string {
	var arms []string
	for _, a := range e.Arms {
		s, ok := g.Sides[a.Name]
		if !ok {
			continue
		}
		boot := g.Machines[s.Client].BootID
		if s.Client == s.Server || boot != "" && boot == g.Machines[s.Server].BootID {
			arms = append(arms, a.Name)
		}
	}
	if len(arms) == 0 {
		return nil
	}
	if over := len(arms) - mostHosts; over > 0 {
		arms = append(arms[:mostHosts], fmt.Sprintf("%d more arms", over))
	}
	return []string{fmt.Sprintf("Client and server of %s are on one machine and share its CPUs, memory and caches; "+
		"between two machines they do not compete.", strings.Join(arms, ", "))}
}

// facts are the facts of the hosts that can influence figures; if whole is false, only those that check.Compare leaves
// out.
func (g givenHosts) facts(whole bool) (facts []HostFact) {
	for _, name := range slices.Sorted(maps.Keys(g.Machines)) {
		m := g.Machines[name]
		cpus := ""
		if len(m.CPUs) > 0 {
			cpus = fmt.Sprint(len(m.CPUs))
		}
		for i, f := range []HostFact{{"machine", m.Hostname}, {"system", m.system()}, {"kernel", m.Kernel},
			{"CPU", m.Model}, {"number of CPUs", cpus}, {"clock source", m.ClockSource}} {
			if f.Value != "" && (whole || i == 0) {
				facts = append(facts, HostFact{f.Name + " of " + name, f.Value})
			}
		}
	}
	return facts
}

// facts are the recorded facts of the machine, as facts of a host.
func (m givenMachine) facts() *check.Facts {
	return &check.Facts{Hostname: m.Hostname, Machine: check.Machine{Release: m.Release, Kernel: m.Kernel,
		BootID: m.BootID, ClockSource: m.ClockSource, Model: m.Model, CPUs: make([]check.CPU, len(m.CPUs))}}
}
