package environment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// VersionWarnings warns of tools of which the hosts have different versions. versions are by arm.
func VersionWarnings(versions map[string]result.HostVersions) (warnings []result.Warning) {
	// hosts are by tool and version.
	hosts := map[string]map[string][]string{}
	for _, arm := range slices.Sorted(maps.Keys(versions)) {
		for _, side := range []struct {
			name     string
			versions map[string]string
		}{{"client", versions[arm].Client}, {"server", versions[arm].Server}} {
			for tool, version := range side.versions {
				if hosts[tool] == nil {
					hosts[tool] = map[string][]string{}
				}
				hosts[tool][version] = append(hosts[tool][version], arm+"/"+side.name)
			}
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(hosts)) {
		if len(hosts[tool]) < 2 {
			continue
		}
		var parts []string
		for _, version := range slices.Sorted(maps.Keys(hosts[tool])) {
			name := version
			if name == "" {
				name = "an unknown version"
			}
			parts = append(parts, fmt.Sprintf("%s on %s", name, strings.Join(hosts[tool][version], ", ")))
		}
		warnings = append(warnings, result.Warning{Code: "tool-versions-differ", Message: fmt.Sprintf(
			"the hosts have different versions of %s, which alone can make a difference: %s", tool,
			strings.Join(parts, "; "))})
	}
	return warnings
}

// engineDiffers warns of workloads whose trials used the engine differently in arms that declare the same: another loop
// (docs/adr/0021-straight-loop.md) or another clock is faster or slower, whatever the path.
func engineDiffers(in Run) (warnings []result.Warning) {
	for _, w := range in.Experiment.Workloads {
		for _, arms := range sameSettings(in.Experiment, w.Name) {
			warnings = append(warnings, differing(in.Trials, w.Name, arms, "engine-loops-differ",
				"trials ran different loops of the engine", "loop", "server.loop")...)
			warnings = append(warnings, differing(in.Trials, w.Name, arms, "clock-sources-differ",
				"trials read different clocks", "clock", "server.clock")...)
		}
	}
	return warnings
}

// sameSettings groups the arms that set the same keys of a workload to the same values.
func sameSettings(e *experiment.Experiment, workload string) [][]string {
	return grouped(e, func(arm string) string {
		return fmt.Sprint(e.SetIn(arm, workload)) // a map is printed in the order of its keys
	})
}

// differing warns if the facts of a workload's good trials in the arms have several values. what says what they are.
func differing(trials []result.Trial, workload string, of []string, code, what, client, server string) []result.Warning {
	arms := map[string][]string{} // by the values of both facts
	for _, t := range trials {
		if t.Workload != workload || !slices.Contains(of, t.Arm) || t.Error != "" ||
			t.Facts[client] == "" && t.Facts[server] == "" {
			continue
		}
		var values []string
		for _, side := range [][2]string{{"client", t.Facts[client]}, {"server", t.Facts[server]}} {
			if side[1] != "" {
				values = append(values, side[0]+" "+side[1])
			}
		}
		value := strings.Join(values, ", ")
		if !slices.Contains(arms[value], t.Arm) {
			arms[value] = append(arms[value], t.Arm)
		}
	}
	if len(arms) < 2 {
		return nil
	}
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(arms)) {
		parts = append(parts, fmt.Sprintf("%s: %s", strings.Join(arms[value], ", "), value))
	}
	return []result.Warning{{Code: code, Workload: workload, Message: fmt.Sprintf(
		"%s, which alone makes a difference (%s)", what, strings.Join(parts, "; "))}}
}
