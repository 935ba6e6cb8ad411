package answer

import (
	"fmt"

	"nearfar/internal/declare/result"
)

// impossible warns of trials that no run can produce: a run directory can have been edited, or combined from several.
func impossible(in Input) []Warning {
	var warnings []Warning
	arms, workloads, seen := map[string]bool{}, map[string]bool{}, map[int]bool{}
	for _, a := range in.Experiment.Arms {
		arms[a.Name] = true
	}
	for _, w := range in.Experiment.Workloads {
		workloads[w.Name] = true
	}
	var unknown, twice, negative []result.Trial
	for _, t := range in.Trials {
		if !arms[t.Arm] || !workloads[t.Workload] {
			unknown = append(unknown, t)
		}
		if seen[t.Trial] {
			twice = append(twice, t)
		}
		seen[t.Trial] = true
		if below(t) != "" {
			negative = append(negative, t)
		}
	}
	if len(unknown) > 0 {
		t := unknown[0]
		warnings = append(warnings, Warning{Code: "unknown-arm", Message: fmt.Sprintf(
			"%s an arm or a workload that the experiment does not have, and count nowhere; the first: %s in arm %s "+
				"(trial %d)",
			belong(len(unknown)), t.Workload, t.Arm, t.Trial)})
	}
	if len(twice) > 0 {
		warnings = append(warnings, Warning{Code: "trial-twice", Message: fmt.Sprintf(
			"%d trials have the number of an earlier one, and all of them count; the first: trial %d",
			len(twice), twice[0].Trial)})
	}
	if len(negative) > 0 {
		t := negative[0]
		warnings = append(warnings, Warning{Code: "negative-value", Arm: t.Arm,
			Workload: t.Workload, Message: fmt.Sprintf(
				"%d trials have a value below zero, which is impossible; the first: %s of trial %d",
				len(negative), below(t), t.Trial)})
	}
	return warnings
}

func belong(n int) string {
	if n == 1 {
		return "1 trial belongs to"
	}
	return fmt.Sprintf("%d trials belong to", n)
}

// below names the first metric of a good trial that is below zero, which is impossible; "" if there is none.
func below(t result.Trial) string {
	if t.Error != "" {
		return ""
	}
	for _, m := range t.Metrics {
		if _, known := result.UnitOf(m.Name); !known || m.Value >= 0 {
			continue
		}
		if m.Stat == "" {
			return m.Name
		}
		return m.Name + "." + m.Stat
	}
	return ""
}
