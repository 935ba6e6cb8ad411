package environment

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/declare/result"
)

// waits warns of a workload whose good trials did not all wait for messages in the same way: spinning is faster,
// whatever the path.
func waits(in Run) []result.Warning {
	var warnings []result.Warning
	for _, w := range in.Experiment.Workloads {
		for _, alike := range alike(in.Experiment, w.Name, "wait") {
			warnings = append(warnings, waitsOf(in.Trials, w.Name, alike)...)
		}
	}
	return warnings
}

// waitsOf checks a workload's trials in arms that declare one way of waiting.
func waitsOf(trials []result.Trial, workload string, of []string) []result.Warning {
	var ways []string
	arms := map[string][]string{}
	for _, t := range trials {
		if t.Workload != workload || !slices.Contains(of, t.Arm) || t.Error != "" ||
			t.Facts["wait"] == "" && t.Facts["server.wait"] == "" {
			continue
		}
		way := fmt.Sprintf("client %s, server %s", wait(t, "wait"), wait(t, "server.wait"))
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
		if !slices.Contains(arms[way], t.Arm) {
			arms[way] = append(arms[way], t.Arm)
		}
	}
	if len(ways) < 2 {
		return nil
	}
	var parts []string
	for _, way := range ways {
		parts = append(parts, fmt.Sprintf("%s: %s", strings.Join(arms[way], ", "), way))
	}
	return []result.Warning{{Code: "waiting-differs", Workload: workload,
		Message: "trials waited for messages in different ways, which alone makes a difference (" +
			strings.Join(parts, "; ") + ")"}}
}

// wait is how one side of a trial waited, if it says so.
func wait(t result.Trial, fact string) string {
	if way := t.Facts[fact]; way != "" {
		return way
	}
	return "unknown"
}
