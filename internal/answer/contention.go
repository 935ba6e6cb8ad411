package answer

import (
	"fmt"
	"slices"
	"strconv"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

// The shares from which it is said that other programs were in the way, on average over a workload's trials. docs/statistics.md says why.
const (
	// contendedRate is for rates: what is kept of a CPU is missing from the rate, and 5 % is what people ask about.
	contendedRate = 0.05
	// contendedTail is for times, of which p99 is compared: what happens to one in a hundred decides it. Shares as small as that
	// are believed only where others used their CPUs to contendedOthers at least.
	contendedTail   = 0.01
	contendedOthers = 0.05
	// busyMachine is of all CPUs: other programs share caches, memory and a hypervisor's time with the trials.
	busyMachine = 0.10
)

// contention warns of workloads whose trials waited for a CPU that other programs had, and of a machine that others kept busy.
func contention(in Input) []Warning {
	var warnings []Warning
	for _, w := range in.Experiment.Workloads {
		waited := sharesOf(in.Trials, w.Name, result.FactWaited)
		others := sharesOf(in.Trials, w.Name, result.FactOthers)
		least := contendedRate
		if isTime(w) && others.mean >= contendedOthers {
			least = contendedTail
		}
		if waited.n > 0 && waited.mean >= least {
			warnings = append(warnings, Warning{Code: "cpu-contended", Workload: w.Name, Message: fmt.Sprintf(
				"other programs had the trials' CPUs for up to %.1f %% of the time in which these wanted to run (%.0f %% in trial %d): "+
					"rates are too low and tails too long by it", 100*waited.mean, 100*waited.most, waited.worst)})
		}
	}
	if all := sharesOf(in.Trials, "", result.FactMachineOthers); all.n > 0 && all.mean >= busyMachine {
		warnings = append(warnings, Warning{Code: "machine-busy", Message: fmt.Sprintf(
			"other programs used %.0f %% of all CPUs during the trials (%.0f %% in trial %d): expect wider intervals and longer tails",
			100*all.mean, 100*all.most, all.worst)})
	}
	return warnings
}

// isTime says that a workload measures times, with their tails.
func isTime(w experiment.Workload) bool {
	return w.Mode != experiment.Stream && w.Mode != experiment.Messages
}

// shares are what the good trials of a workload say of one fact that is a share.
type shares struct {
	n          int
	mean, most float64
	// worst is the number of the trial with the most.
	worst int
}

// sharesOf reads a fact; of all workloads where none is named. What is no share does not count.
func sharesOf(trials []result.Trial, workload, fact string) (s shares) {
	for _, t := range trials {
		share, err := strconv.ParseFloat(t.Facts[fact], 64)
		if workload != "" && t.Workload != workload || t.Error != "" || err != nil || !(share >= 0 && share <= 1) {
			continue
		}
		s.n++
		s.mean += share
		if s.n == 1 || share > s.most {
			s.most, s.worst = share, t.Trial
		}
	}
	if s.n > 0 {
		s.mean /= float64(s.n)
	}
	return s
}

// goodOf gives the good trials of a workload in an arm.
func goodOf(in Input, arm, workload string) []result.Trial {
	return slices.DeleteFunc(slices.Clone(in.Trials), func(t result.Trial) bool {
		return t.Arm != arm || t.Workload != workload || t.Error != ""
	})
}
