package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/declare/result"
)

// MadeMachines are the machines of one deployment that provision has made.
type MadeMachines struct {
	// Deployment is as in result.Trial.
	Deployment int `json:"deployment"`
	// Made identifies the machines (provision.Record.MadeID).
	Made string `json:"made"`
	// Variables are the variables with which they were made after a refusal, as NAME=VALUE; none for the values of the
	// file.
	Variables []string `json:"variables,omitempty"`
	// Machines are the machines by the names of their hosts.
	Machines map[string]MachineID `json:"machines"`
}

// MachineID identifies a machine. Unknown values are empty.
type MachineID struct {
	// Instance is the provider's own, as its metadata service says it.
	Instance string `json:"instance_id,omitempty"`
	// Boot is the kernel's boot id. It also changes when a machine starts again.
	Boot string `json:"boot_id,omitempty"`
}

// addMachines keeps which machines a deployment has. Deployments with one number are one.
func (d *Deployment) addMachines(deployment int, found []HostFacts) {
	if deployment == 0 || d.made == "" {
		return
	}
	made := MadeMachines{
		Deployment: deployment, Made: d.made, Variables: d.madeWith, Machines: map[string]MachineID{},
	}
	for _, name := range d.experiment.Made() {
		var id MachineID
		for _, h := range found {
			if h.Host != name || h.Facts == nil {
				continue
			}
			if !h.Facts.OwnBootID { // the boot id of a container does not identify its machine
				id.Boot = h.Facts.BootID
			}
			if h.Facts.Where != nil {
				id.Instance = h.Facts.Where.InstanceID
			}
		}
		made.Machines[name] = id
	}
	same := func(m MadeMachines) bool { return m.Deployment == deployment }
	d.machines = append(slices.DeleteFunc(slices.Clone(d.machines), same), made)
}

// LastMade reads from the part "hosts" of a run.json which machines were measured last; false if provision made none.
func LastMade(hosts json.RawMessage) (MadeMachines, bool) {
	var record Record
	if len(hosts) == 0 || json.Unmarshal(hosts, &record) != nil || len(record.Deployments) == 0 {
		return MadeMachines{}, false
	}
	return record.Deployments[len(record.Deployments)-1], true
}

// same says whether two machines are one machine. known is false if that cannot be told.
func (m MachineID) same(other MachineID) (same, known bool) {
	if m.Instance != "" && other.Instance != "" {
		return m.Instance == other.Instance, true
	}
	return m.Boot == other.Boot, m.Boot != "" && other.Boot != ""
}

// redeployedWarnings says which deployments have machines of earlier deployments, for which deployments this is not
// known, and which were made with other variables than the first.
func redeployedWarnings(all []MadeMachines) (warnings []result.Warning) {
	for i, now := range all {
		var kept, unknown []string
		for _, name := range slices.Sorted(maps.Keys(now.Machines)) {
			before, known := now.Machines[name].in(all[:i])
			switch {
			case before != "":
				kept = append(kept, name+" "+before)
			case !known:
				unknown = append(unknown, name)
			}
		}
		if len(kept) > 0 {
			warnings = append(warnings, result.Warning{Code: "same-machines", Message: fmt.Sprintf(
				"deployment %d has machines of earlier deployments (%s): it repeats their draw, so the intervals are "+
					"narrower than they should be. Look at what the file makes anew (provision: replace)",
				now.Deployment, strings.Join(kept, ", "))})
		}
		if len(unknown) > 0 {
			warnings = append(warnings, result.Warning{Code: "machines-unknown", Message: fmt.Sprintf(
				"it is not known whether deployment %d has other machines than those before: neither an instance id "+
					"nor a boot id is known of %s", now.Deployment, strings.Join(unknown, ", "))})
		}
		if with := strings.Join(now.Variables, " "); with != strings.Join(all[0].Variables, " ") {
			warnings = append(warnings, result.Warning{Code: "deployments-made-differently", Message: fmt.Sprintf(
				"deployment %d was made with %s, deployment %d with %s: the provider had no room for the same again",
				now.Deployment, variablesText(with), all[0].Deployment,
				variablesText(strings.Join(all[0].Variables, " ")))})
		}
	}
	return warnings
}

// in finds a machine in deployments: "as vm-a in deployment 1". known is false if its identity cannot be compared.
func (m MachineID) in(deployments []MadeMachines) (where string, known bool) {
	known = true
	for _, d := range deployments {
		for _, name := range slices.Sorted(maps.Keys(d.Machines)) {
			same, comparable := m.same(d.Machines[name])
			if same && comparable {
				return fmt.Sprintf("is %s of deployment %d", name, d.Deployment), true
			}
			known = known && comparable
		}
	}
	return "", known
}

func variablesText(with string) string {
	if with == "" {
		return "the file's variables"
	}
	return with
}
