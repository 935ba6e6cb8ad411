package environment

import (
	"fmt"
	"maps"
	"slices"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// alike groups the arms by their value of a workload's key. A difference in that key within a group was not declared.
func alike(e *experiment.Experiment, workload, key string) [][]string {
	return grouped(e, func(arm string) string {
		w, _ := e.WorkloadIn(arm, workload)
		return w.Value(key)
	})
}

// grouped groups the arms by a value, in the order of the file.
func grouped(e *experiment.Experiment, value func(arm string) string) [][]string {
	var groups [][]string
	at := map[string]int{}
	for _, arm := range e.Arms {
		v := value(arm.Name)
		if _, known := at[v]; !known {
			at[v] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[v]] = append(groups[at[v]], arm.Name)
	}
	return groups
}

// Unpinned lists the arms that leave a workload's placement to the kernel; one empty name if all do. A program of the
// experiment's own is not meant: it has as many threads as it likes, and is left to the kernel unless the file pins it.
func Unpinned(e *experiment.Experiment, workload string) []string {
	var arms []string
	for _, arm := range e.Arms {
		w, _ := e.WorkloadIn(arm.Name, workload)
		if w.Placement.Kind == experiment.PlacementFree && w.Mode != experiment.CommandMode {
			arms = append(arms, arm.Name)
		}
	}
	if len(arms) == len(e.Arms) && len(arms) > 0 {
		return []string{""}
	}
	return arms
}

// decidedByHosts lists the keys that are requests to the kernel, which may do something else. The tool itself applies
// the others.
func decidedByHosts() []string {
	return []string{"congestion", "dscp", "ip", "nodelay", "placement", "receive_buffer",
		"send_buffer", "wait", "zerocopy"}
}

// unproved warns of settings for which the good trials contain no proof that the hosts applied them.
func unproved(in Run) []result.Warning {
	var warnings []result.Warning
	for _, arm := range in.Experiment.Arms {
		for _, w := range in.Experiment.Workloads {
			set := in.Experiment.SetIn(arm.Name, w.Name)
			for _, key := range slices.Sorted(maps.Keys(set)) {
				if !slices.Contains(decidedByHosts(), key) || isUsual(key, set[key]) {
					continue
				}
				missing, good := 0, 0
				for _, t := range in.Good(arm.Name, w.Name) {
					good++
					if t.Treatment[key] == "" {
						missing++
					}
				}
				if missing > 0 {
					warnings = append(warnings, result.Warning{Code: "setting-unproved", Arm: arm.Name,
						Workload: w.Name, Message: fmt.Sprintf(
							"%s %s is set, and in %d of %d trials nothing shows that it was on", key,
							set[key], missing, good)})
				}
			}
		}
	}
	return warnings
}

// isUsual says whether a setting requests nothing from the kernel.
func isUsual(key, value string) bool {
	return key == "dscp" && value == "0" || key == "zerocopy" && value == "false" || key == "wait" &&
		value == experiment.WaitBlock
}
