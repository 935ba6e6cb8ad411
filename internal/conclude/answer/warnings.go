package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// runWarnings gives the warnings about the run as a whole.
func runWarnings(in Input, a Answer, tables []figures.Cells) []Warning {
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
	warnings = append(warnings, recordedWarning(in.Experiment, a.Comparisons)...)
	warnings = append(warnings, impossible(in)...)
	warnings = append(warnings, failures(in)...)
	for _, c := range tables {
		warnings = append(warnings, missing(in.Experiment, c)...)
	}
	for _, w := range in.Experiment.Workloads {
		if _, skipped := in.Skipped[w.Name]; skipped {
			continue
		}
		for _, arm := range environment.Unpinned(in.Experiment, w.Name) {
			warnings = append(warnings, Warning{Code: "placement-free", Arm: arm, Workload: w.Name,
				Message: "client and server were not pinned: the same path can show two modes"})
		}
	}
	for _, p := range a.Proof {
		warnings = append(warnings, p.Warnings()...)
	}
	warnings = append(warnings, in.measured().Warnings(a.Differs)...)
	warnings = append(warnings, lateWires(in, a.Arms)...)
	warnings = append(warnings, belowRate(in, a.Arms)...)
	warnings = append(warnings, in.measured().Disturbances()...)
	warnings = append(warnings, notes(in)...)
	warnings = append(warnings, trialWarnings(in.Experiment, tables)...)
	warnings = append(warnings, deploymentWarnings(a.Comparisons)...)
	return append(warnings, oneBlock(a.Comparisons)...)
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

// deploymentWarnings names the deployments that do not count, and says if too few are left.
func deploymentWarnings(comparisons []figures.Comparison) []Warning {
	type key struct{ deployment, blocks int }
	var left []key
	few := false
	for _, c := range comparisons {
		if c.Deployments == nil {
			continue
		}
		few = few || c.Verdict == figures.FewDeployments
		for _, d := range c.Deployments.Each {
			k := key{d.Deployment, d.Blocks}
			if !d.Used && !slices.ContainsFunc(left, func(l key) bool { return l.deployment == k.deployment }) {
				left = append(left, k)
			}
		}
	}
	slices.SortFunc(left, func(x, y key) int { return cmp.Compare(x.deployment, y.deployment) })
	var warnings []Warning
	for _, k := range left {
		warnings = append(warnings, Warning{Code: "deployment-left-out", Message: fmt.Sprintf(
			"deployment %d is left out of a comparison: blocks with both arms: %d; it takes %d",
			k.deployment, k.blocks, stats.FewestDeployedBlocks)})
	}
	if few {
		warnings = append(warnings, Warning{Code: "too-few-deployments", Message: "fewer than 2 deployments have " +
			"enough blocks: nothing can be said about the configuration"})
	}
	return warnings
}
