package environment

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Run is what is read of a run.
type Run struct {
	Experiment *experiment.Experiment
	Trials     []result.Trial
	// Hosts describes the hosts, as in the run directory.
	Hosts json.RawMessage
	// Good gives the good trials of a workload in an arm.
	Good func(arm, workload string) []*result.Trial
}

// Warnings are of settings that are not proved, of what differs between the hosts beside what the arms declare,
// and of CPUs that others used. differs is what hostsDiffering gives.
func (in Run) Warnings(differs []Differing) []result.Warning {
	return slices.Concat(unproved(in), waits(in), engineDiffers(in), machinesDiffer(in.Experiment, differs), steal(in),
		contention(in))
}

// Disturbances are warnings of limiters of the provider, and of CPUs that were moved.
func (in Run) Disturbances() []result.Warning { return slices.Concat(limits(in), coreToCore(in)) }

// Environment describes the machines of a run, and the limits of what they can show.
type Environment struct {
	// Text is all of it in a line, without the limits.
	Text string `json:"text"`
	// Machines are the machines of the hosts that the file names; equal ones are one entry.
	Machines []Machine `json:"machines,omitempty"`
	// Addresses are the addresses between which arms measure that have no lab: for each arm one element, or one for each
	// version of IP that a workload uses.
	Addresses []ArmAddresses `json:"addresses,omitempty"`
	// The other fields are about this machine, if the run has a lab. Kernel is the release, CPU the model, CPUs the
	// number that the lab could use; empty and 0 if not recorded.
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu,omitempty"`
	CPUs   int    `json:"cpus"`
	// Wire is the implementation of the wires, empty if the run has none; Congestion is TCP's default congestion
	// control.
	Wire       string `json:"wire,omitempty"`
	Congestion string `json:"congestion,omitempty"`
	// Limits lists what the lab, or hosts on one machine, cannot show about this run's workloads, a sentence each.
	Limits []string `json:"limits"`
}

// String is the environment in a line.
func (e *Environment) String() string {
	var texts []string
	if e.Kernel != "" {
		texts = append(texts, e.lab())
	}
	if len(e.Machines) > 0 {
		texts = append(texts, machinesText(e.Machines))
	}
	if len(e.Addresses) > 0 {
		texts = append(texts, addressesText(e.Addresses))
	}
	return strings.Join(texts, ". ")
}

// lab is the lab in a line.
func (e *Environment) lab() string {
	parts := []string{"Linux " + e.Kernel, prose.Plural(e.CPUs, "CPU") + prose.InBrackets(e.CPU)}
	if e.Congestion != "" {
		parts = append(parts, "TCP "+e.Congestion+" by default")
	}
	if e.Wire != "" {
		parts = append(parts, "wires: "+e.Wire)
	}
	return "A lab on one machine: " + strings.Join(parts, ", ")
}

// labHosts is the part of a run's hosts that is read here; internal/hosts/lab.Facts writes it.
type labHosts struct {
	Lab struct {
		Kernel        string          `json:"kernel"`
		CPUModel      string          `json:"cpu_model"`
		ClockSource   string          `json:"clock_source"`
		Congestion    string          `json:"congestion"`
		Wire          string          `json:"wire"`
		CPUs          []int           `json:"cpus"`
		UserNamespace *bool           `json:"user_namespace"`
		Features      map[string]bool `json:"features"`
		Arms          []labArm        `json:"arms"`
	} `json:"lab"`
}

type labArm struct {
	Arm         string `json:"arm"`
	UnderlayMTU int    `json:"underlay_mtu"`
	HostMTU     int    `json:"host_mtu"`
}

// Of reads the description of the hosts; nil if nothing is recorded of them.
func Of(in Run) *Environment {
	env := &Environment{Limits: []string{}}
	env.readLab(in)
	given := readGiven(in.Hosts)
	env.Machines, env.Addresses = given.machines(), given.addresses(in.Experiment)
	env.Limits = append(env.Limits, given.limits(in.Experiment)...)
	if env.Text = env.String(); env.Text == "" {
		return nil
	}
	return env
}

// readLab reads the description of the lab, if there is one.
func (e *Environment) readLab(in Run) {
	var hosts labHosts
	if json.Unmarshal(in.Hosts, &hosts) != nil || hosts.Lab.Kernel == "" {
		return
	}
	l := hosts.Lab
	e.Kernel, e.CPU, e.CPUs, e.Congestion = l.Kernel, l.CPUModel, len(l.CPUs), l.Congestion
	e.Limits = append(e.Limits, labArms(in.Experiment)+" share this machine's CPUs, memory and caches; between two "+
		"machines they do not compete.")
	if hasWire(in.Experiment) {
		e.Wire = l.Wire
	}
	var bulk []string
	for _, w := range in.Experiment.Workloads {
		if w.Protocol == experiment.TCP && (w.Mode == experiment.Stream || w.Background != nil) {
			bulk = append(bulk, w.Name)
		}
	}
	if len(bulk) > 0 {
		e.Limits = append(e.Limits, fmt.Sprintf("TCP crosses the lab in super-packets of up to 64 KiB "+
			"(segmentation offload): what each packet costs, "+
			"and so what the MTU does, is hidden in %s.", strings.Join(bulk, ", ")))
	}
}

// labArms is "Client and server", and the arms that have a lab if other arms name hosts.
func labArms(e *experiment.Experiment) string {
	var labs []string
	for _, a := range e.Arms {
		if a.Lab != nil {
			labs = append(labs, a.Name)
		}
	}
	if len(labs) == 0 || len(labs) == len(e.Arms) {
		return "Client and server"
	}
	return "Client and server of " + strings.Join(labs, ", ")
}

func hasWire(e *experiment.Experiment) bool {
	return slices.ContainsFunc(e.Arms, func(a experiment.Arm) bool {
		return a.Lab != nil && slices.ContainsFunc(a.Lab.Path, func(element experiment.Element) bool {
			return element.Kind == experiment.Wire
		})
	})
}

// HostFact is a fact that can influence figures: a name for people and a value.
type HostFact struct{ Name, Value string }

// hostFacts lists the facts of a run's hosts that can influence figures, in a fixed order: machine, kernel, CPU model
// and count, clock source, kind of wires, default congestion control, IP versions, user namespace, the MTUs of each
// arm, and of each host that the file names: machine, system, kernel, CPU model and count, clock source. Everything
// else that is recorded (counters, addresses, device names, processes) differs between any two runs and is left out. A
// fact that was not recorded has no entry. If whole is false, so has a fact that check.Facts holds too.
func hostFacts(of HostsOf, whole bool) []HostFact {
	var facts []HostFact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, HostFact{name, value})
		}
	}
	add("machine", of.Machine)
	var h labHosts
	if json.Unmarshal(of.Hosts, &h) != nil {
		return facts
	}
	l := h.Lab
	if whole {
		add("kernel", l.Kernel)
		add("CPU", l.CPUModel)
	}
	if len(l.CPUs) > 0 {
		add("number of CPUs", fmt.Sprint(len(l.CPUs)))
	}
	if whole {
		add("clock source", l.ClockSource)
	}
	add("wires", l.Wire)
	if whole {
		add("default congestion control", l.Congestion)
	}
	if ipv6, ok := l.Features["ipv6"]; ok {
		add("IPv6", yesNo(ipv6))
	}
	if l.UserNamespace != nil {
		add("user namespace", yesNo(*l.UserNamespace))
	}
	for _, arm := range l.Arms {
		if arm.UnderlayMTU > 0 {
			add("underlay MTU of "+arm.Arm, fmt.Sprint(arm.UnderlayMTU))
		}
		if whole && arm.HostMTU > 0 {
			add("hosts' MTU of "+arm.Arm, fmt.Sprint(arm.HostMTU))
		}
	}
	return append(facts, readGiven(of.Hosts).facts(whole)...)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// differingFacts lists the differences of two hosts, a line each: "kernel 6.9 -> 6.1". A fact that only one of them
// has is left out, because the other value is unknown.
func differingFacts(base, other []HostFact) []string {
	var lines []string
	for _, b := range base {
		i := slices.IndexFunc(other, func(f HostFact) bool { return f.Name == b.Name })
		if i >= 0 && other[i].Value != b.Value {
			lines = append(lines, fmt.Sprintf("%s %s -> %s", b.Name, b.Value, other[i].Value))
		}
	}
	return lines
}

// ArmFactMatters says whether a recorded fact of an arm's hosts can influence figures (see DifferingHosts). name is its
// path in the record, such as "lab.arms.host_mtu". The other facts always differ between arms.
func ArmFactMatters(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last == "host_mtu" || last == "underlay_mtu"
}
