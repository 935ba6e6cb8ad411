package answer

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/declare/result"
)

// runWarnings gives the warnings about the run as a whole.
func runWarnings(in Input, a Answer, tables []cells) []Warning {
	var warnings []Warning
	if in.State != "complete" && in.State != "" {
		scheduled := 0
		for _, t := range in.Trials {
			if t.Replaces == 0 {
				scheduled++
			}
		}
		warnings = append(warnings, Warning{Code: "incomplete",
			Message: fmt.Sprintf("the run is %s: %d of %d trials are there",
				in.State, scheduled, in.Experiment.Planned(in.Skipped))})
	}
	for _, w := range in.Experiment.Workloads {
		if reason, ok := in.Skipped[w.Name]; ok {
			warnings = append(warnings, Warning{Code: "workload-left-out", Workload: w.Name, Message: reason})
		}
	}
	warnings = append(warnings, recordedWarning(in.Experiment)...)
	warnings = append(warnings, impossible(in)...)
	warnings = append(warnings, failures(in)...)
	for _, c := range tables {
		warnings = append(warnings, missing(in.Experiment, c)...)
	}
	for _, w := range in.Experiment.Workloads {
		if _, skipped := in.Skipped[w.Name]; skipped {
			continue
		}
		for _, arm := range unpinned(in.Experiment, w.Name) {
			warnings = append(warnings, Warning{Code: "placement-free", Arm: arm, Workload: w.Name,
				Message: "client and server were not pinned: the same path can show two modes"})
		}
	}
	warnings = append(warnings, expectations(a.Proof)...)
	warnings = append(warnings, unproved(in)...)
	warnings = append(warnings, waits(in)...)
	warnings = append(warnings, engineDiffers(in)...)
	warnings = append(warnings, machinesDiffer(in.Experiment, a.Differs)...)
	warnings = append(warnings, steal(in)...)
	warnings = append(warnings, contention(in)...)
	warnings = append(warnings, lateWires(in, a.Arms)...)
	warnings = append(warnings, belowRate(in, a.Arms)...)
	warnings = append(warnings, limits(in)...)
	warnings = append(warnings, coreToCore(in)...)
	warnings = append(warnings, notes(in)...)
	warnings = append(warnings, trialWarnings(in.Experiment, tables)...)
	warnings = append(warnings, deploymentWarnings(a)...)
	return append(warnings, oneBlock(a)...)
}

// failures counts the failed trials of each workload in each arm, and gives the first reason.
func failures(in Input) []Warning {
	var warnings []Warning
	replaced := replacedPlaces(in.Trials)
	for _, arm := range in.Experiment.Arms {
		for _, w := range in.Experiment.Workloads {
			failed, again, ran, reason := 0, 0, 0, ""
			for _, t := range in.group(arm.Name, w.Name) {
				ran++
				if t.Error != "" {
					failed++
					if replaced[scheduledOf(*t)] {
						again++
					}
					if reason == "" {
						reason = t.Error
					}
				}
			}
			if failed > 0 {
				warnings = append(warnings, Warning{Code: "failed-trials", Arm: arm.Name, Workload: w.Name,
					Message: fmt.Sprintf("%d of %d trials failed%s; the first: %s", failed, ran,
						replacements(failed, again), reason)})
			}
		}
	}
	return warnings
}

// waits warns of a workload whose good trials did not all wait for messages in the same way: spinning is faster,
// whatever the path.
func waits(in Input) []Warning {
	var warnings []Warning
	for _, w := range in.Experiment.Workloads {
		for _, alike := range alike(in.Experiment, w.Name, "wait") {
			warnings = append(warnings, waitsOf(in.Trials, w.Name, alike)...)
		}
	}
	return warnings
}

// waitsOf checks a workload's trials in arms that declare one way of waiting.
func waitsOf(trials []result.Trial, workload string, of []string) []Warning {
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
		parts = append(parts, fmt.Sprintf("%s: %s", list(arms[way]), way))
	}
	return []Warning{{Code: "waiting-differs", Workload: workload,
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

// notes repeats the notes of the tools' outputs, once each. Those about limiters are in a warning of their own.
func notes(in Input) []Warning {
	var warnings []Warning
	var seen []string
	for _, t := range in.Trials {
		for _, note := range t.Notes {
			key := t.Workload + "\x00" + note
			if slices.Contains(seen, key) || len(seen) >= 50 || strings.HasPrefix(note, result.NoteLimiter) {
				continue
			}
			seen = append(seen, key)
			warnings = append(warnings, Warning{Code: "note", Workload: t.Workload, Message: note})
		}
	}
	return warnings
}
