package deploy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/lab"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/machine"
)

// Record is the part "hosts" of run.json: the elements of the lab, the counters of each element, how busy the machine
// was before the run, and the facts of the file's hosts.
type Record struct {
	Lab      lab.Facts                     `json:"lab"`
	Elements map[string][]lab.ElementFacts `json:"elements"`
	Before   *machine.Load                 `json:"before,omitempty"`
	// Machines are the facts of the hosts of the file, by their names. Sides are the hosts of the arms that have such
	// hosts, by arm.
	Machines map[string]agent.Facts `json:"machines,omitempty"`
	Sides    map[string]Sides       `json:"sides,omitempty"`
	// Between are the addresses between which arms without a lab measure, by arm.
	Between map[string][]Between `json:"between,omitempty"`
	// Pods says which pods were made, where they were, and how the arms used them; nil without pods.
	Pods *Pods `json:"pods,omitempty"`
	// States are what the hosts of the file showed at the time of the run.
	States map[string]State `json:"states,omitempty"`
	// Facts are the facts of the hosts of each deployment, in the order of the deployments. FactsLeftOut is the number
	// of hosts whose facts would have made the record too long.
	Facts        []HostFacts `json:"facts,omitempty"`
	FactsLeftOut int         `json:"facts_left_out,omitempty"`
	// Deployments are the machines of each deployment, if provision made them; in the order of their first trials.
	Deployments []MadeMachines `json:"deployments,omitempty"`
}

// Sides are the names of an arm's hosts.
type Sides struct {
	Client string `json:"client"`
	Server string `json:"server"`
}

// Warnings reads from the part "hosts" of a run.json what a reader of the run should know. It warns if the machine was
// busy before the run. For user-space wires it says how precise they were, unless the trials record that themselves.
func Warnings(hosts json.RawMessage, trials []result.Trial) []result.Warning {
	var record Record
	if len(hosts) == 0 || json.Unmarshal(hosts, &record) != nil {
		return nil
	}
	var warnings []result.Warning
	if record.Before != nil && record.Before.Busy >= busyBefore {
		warnings = append(warnings, result.Warning{Code: "machine-busy", Message: busyText(*record.Before)})
	}
	warnings = append(warnings, stateWarnings(record.States, record.Machines)...)
	warnings = append(warnings, podWarnings(record.Pods)...)
	warnings = append(warnings, anewWarnings(trials)...)
	warnings = append(warnings, redeployedWarnings(record.Deployments)...)
	if slices.ContainsFunc(trials, func(t result.Trial) bool { return t.Facts[result.FactWireLatenessP99] != "" }) {
		return warnings // internal/conclude/answer then compares the lateness with the figures
	}
	return append(warnings, wireWarnings(record)...)
}

// wireWarnings says how late the user-space wires were over the whole run.
func wireWarnings(record Record) (warnings []result.Warning) {
	users := map[string][]string{}
	for _, arm := range record.Lab.Arms {
		if arm.HostsOf != "" {
			users[arm.HostsOf] = append(users[arm.HostsOf], arm.Arm)
		}
	}
	for _, arm := range record.Lab.Arms {
		if arm.HostsOf != "" {
			continue
		}
		also := ""
		if len(users[arm.Arm]) > 0 {
			also = " (the same wire as in " + strings.Join(users[arm.Arm], ", ") + ")"
		}
		for _, element := range record.Elements[arm.Arm] {
			w := element.Wire
			if w == nil || w.Packets == 0 {
				continue
			}
			message := fmt.Sprintf("the kernel has no netem, so a process simulates the wire: packets left it %v late "+
				"at the median, %v at p99, %v at most; every wire adds %v each way%s",
				w.LatenessP50, w.LatenessP99, w.LatenessMax, w.Base, also)
			warnings = append(warnings, result.Warning{Code: "user-space-wire", Arm: arm.Arm, Message: message})
		}
	}
	return warnings
}
