package answer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/experiment"
)

// Ground is what a run in a lab stood on, and what a lab cannot tell.
type Ground struct {
	// Kernel is the release, CPU the model, CPUs how many the lab could use; empty and 0 where it was not recorded.
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu,omitempty"`
	CPUs   int    `json:"cpus"`
	// Wire is the implementation of the wires, empty where the run has none; Congestion is TCP's default.
	Wire       string `json:"wire,omitempty"`
	Congestion string `json:"congestion,omitempty"`
	// Limits are what the lab cannot tell of this run's workloads, a sentence each.
	Limits []string `json:"limits"`
}

// String is the ground in a line.
func (g *Ground) String() string {
	parts := []string{"Linux " + g.Kernel}
	cpus := fmt.Sprintf("%d CPUs", g.CPUs)
	if g.CPUs == 1 {
		cpus = "1 CPU"
	}
	if g.CPU != "" {
		cpus += " (" + g.CPU + ")"
	}
	parts = append(parts, cpus)
	if g.Congestion != "" {
		parts = append(parts, "TCP "+g.Congestion+" by default")
	}
	if g.Wire != "" {
		parts = append(parts, "wires: "+g.Wire)
	}
	return "A lab on one machine: " + strings.Join(parts, ", ")
}

// labHosts is the part of a run's hosts that is read here; internal/host/lab.Facts writes it.
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

// ground reads what the run says of its hosts; nil where these are not a lab's.
func ground(in Input) *Ground {
	var hosts labHosts
	if json.Unmarshal(in.Hosts, &hosts) != nil || hosts.Lab.Kernel == "" {
		return nil
	}
	l := hosts.Lab
	g := &Ground{Kernel: l.Kernel, CPU: l.CPUModel, CPUs: len(l.CPUs), Congestion: l.Congestion, Limits: []string{
		"Client and server share this machine's CPUs, memory and caches; between two machines neither is in the other's way.",
	}}
	if hasWire(in.Experiment) {
		g.Wire = l.Wire
	}
	var bulk []string
	for _, w := range in.Experiment.Workloads {
		if w.Protocol == experiment.TCP && (w.Mode == experiment.Stream || w.Background != nil) {
			bulk = append(bulk, w.Name)
		}
	}
	if len(bulk) > 0 {
		g.Limits = append(g.Limits, fmt.Sprintf("TCP crosses the lab in super-packets of up to 64 KiB (segmentation offload): what each packet costs, "+
			"and so what the MTU does, is hidden in %s.", list(bulk)))
	}
	return g
}

func hasWire(e *experiment.Experiment) bool {
	return slices.ContainsFunc(e.Arms, func(a experiment.Arm) bool {
		return a.Lab != nil && slices.ContainsFunc(a.Lab.Path, func(element experiment.Element) bool { return element.Kind == experiment.Wire })
	})
}

// HostFact is one that can move figures: a name for people and a value.
type HostFact struct{ Name, Value string }

// HostFacts lists the facts of a run's hosts that can move figures, in a fixed order: machine, kernel, CPU model and count, clock source,
// kind of wires, default congestion control, versions of IP, user namespace, the MTUs of each arm. Whatever else is recorded
// (counters, addresses, names of devices, processes) differs between any two runs and is none of them. What was not recorded has
// no entry.
func HostFacts(machine string, hosts json.RawMessage) []HostFact {
	var facts []HostFact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, HostFact{name, value})
		}
	}
	add("machine", machine)
	var h labHosts
	if json.Unmarshal(hosts, &h) != nil {
		return facts
	}
	l := h.Lab
	add("kernel", l.Kernel)
	add("CPU", l.CPUModel)
	if len(l.CPUs) > 0 {
		add("number of CPUs", fmt.Sprint(len(l.CPUs)))
	}
	add("clock source", l.ClockSource)
	add("wires", l.Wire)
	add("default congestion control", l.Congestion)
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
		if arm.HostMTU > 0 {
			add("hosts' MTU of "+arm.Arm, fmt.Sprint(arm.HostMTU))
		}
	}
	return facts
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// DifferingFacts says in what two hosts differ, a line each: "kernel 6.9 -> 6.1". A fact that only one of them has makes no line: whether
// they differ in it is not known.
func DifferingFacts(base, other []HostFact) []string {
	var lines []string
	for _, b := range base {
		i := slices.IndexFunc(other, func(f HostFact) bool { return f.Name == b.Name })
		if i >= 0 && other[i].Value != b.Value {
			lines = append(lines, fmt.Sprintf("%s %s -> %s", b.Name, b.Value, other[i].Value))
		}
	}
	return lines
}

// ArmFactMatters says whether a recorded fact of an arm's hosts can move figures, as HostFacts has it; name is its path in the record,
// such as "lab.arms.host_mtu". The others tell one arm from the next in any case.
func ArmFactMatters(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last == "host_mtu" || last == "underlay_mtu"
}
