package environment

import (
	"cmp"
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
			parts = append(parts, fmt.Sprintf("%s on %s", cmp.Or(version, "an unknown version"),
				strings.Join(hosts[tool][version], ", ")))
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
			loops := valuesOf(in.Trials, w.Name, arms,
				func(t result.Trial) string { return sidesOf(t, "loop", "server.loop") })
			clocks := valuesOf(in.Trials, w.Name, arms,
				func(t result.Trial) string { return sidesOf(t, "clock", "server.clock") })
			for _, of := range []struct {
				all        []valueOf
				code, what string
			}{
				{loops, "engine-loops-differ", "trials ran different loops of the engine"},
				{clocks, "clock-sources-differ", "trials read different clocks"},
			} {
				slices.SortFunc(of.all, func(a, b valueOf) int { return strings.Compare(a.value, b.value) })
				warnings = append(warnings, differing(of.all, w.Name, of.code, of.what)...)
			}
		}
	}
	return warnings
}

// sidesOf is a fact of both sides of a trial, as far as it has them, by the names of both.
func sidesOf(t result.Trial, client, server string) string {
	var values []string
	for _, side := range [][2]string{{"client", t.Facts[client]}, {"server", t.Facts[server]}} {
		if side[1] != "" {
			values = append(values, side[0]+" "+side[1])
		}
	}
	return strings.Join(values, ", ")
}

// waits warns of a workload whose good trials did not all wait for messages in the same way: spinning is faster,
// whatever the path.
func waits(in Run) (warnings []result.Warning) {
	for _, w := range in.Experiment.Workloads {
		for _, arms := range alike(in.Experiment, w.Name, "wait") {
			warnings = append(warnings, differing(valuesOf(in.Trials, w.Name, arms, Waiting), w.Name, "waiting-differs",
				"trials waited for messages in different ways")...)
		}
	}
	return warnings
}

// Waiting is how both ends of a trial waited for messages; empty if it does not say.
func Waiting(t result.Trial) string {
	client, server := t.Facts["wait"], t.Facts["server.wait"]
	if client == "" && server == "" {
		return ""
	}
	return fmt.Sprintf("client %s, server %s", cmp.Or(client, "unknown"), cmp.Or(server, "unknown"))
}

// sameSettings groups the arms that set the same keys of a workload to the same values.
func sameSettings(e *experiment.Experiment, workload string) [][]string {
	return grouped(e, func(arm string) string {
		return fmt.Sprint(e.SetIn(arm, workload)) // a map is printed in the order of its keys
	})
}

// valueOf is a value of trials, and the arms that have it.
type valueOf struct {
	value string
	arms  []string
}

// valuesOf lists the values of a workload's good trials in the arms, in the order of the trials. Empty ones do not
// count.
func valuesOf(trials []result.Trial, workload string, of []string, value func(result.Trial) string) (all []valueOf) {
	for _, t := range trials {
		if t.Workload != workload || !slices.Contains(of, t.Arm) || t.Error != "" {
			continue
		}
		v := value(t)
		if v == "" {
			continue
		}
		at := slices.IndexFunc(all, func(one valueOf) bool { return one.value == v })
		if at < 0 {
			at = len(all)
			all = append(all, valueOf{value: v})
		}
		if !slices.Contains(all[at].arms, t.Arm) {
			all[at].arms = append(all[at].arms, t.Arm)
		}
	}
	return all
}

// differing warns if there are several values. what says what they are.
func differing(all []valueOf, workload, code, what string) []result.Warning {
	if len(all) < 2 {
		return nil
	}
	var parts []string
	for _, one := range all {
		parts = append(parts, strings.Join(one.arms, ", ")+": "+one.value)
	}
	return []result.Warning{{Code: code, Workload: workload, Message: fmt.Sprintf(
		"%s, which alone makes a difference (%s)", what, strings.Join(parts, "; "))}}
}
