package environment

import (
	"fmt"
	"strconv"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// The thresholds of the warnings, as shares of time. The mean over a workload's trials is compared with them.
// docs/statistics.md gives the reasons.
const (
	// ContendedRate is for rates. The rate is lower by the share of CPU time that the trial lacks, and users ask
	// about differences of 5 %.
	ContendedRate = 0.05
	// contendedTail is for times. p99 is compared, and it is decided by one observation in a hundred. Such small
	// shares are only believed if other programs used at least contendedOthers of the trials' CPUs.
	contendedTail   = 0.01
	contendedOthers = 0.05
	// busyMachine is for all CPUs: other programs share caches, memory and a hypervisor's time with the trials.
	busyMachine = 0.10
)

// contention warns of workloads whose trials waited for a CPU that other programs used, and of a machine that other
// programs kept busy.
func contention(in Run) []result.Warning {
	var warnings []result.Warning
	for _, w := range in.Experiment.Workloads {
		waited := sharesOf(in.Trials, w.Name, result.FactWaited)
		others := sharesOf(in.Trials, w.Name, result.FactOthers)
		least := ContendedRate
		if isTime(w) && others.mean >= contendedOthers {
			least = contendedTail
		}
		if waited.n > 0 && waited.mean >= least {
			warnings = append(warnings, result.Warning{Code: "cpu-contended", Workload: w.Name, Message: fmt.Sprintf(
				"the trials waited up to %s %% of their runnable time for CPUs that other programs used (%s %% "+
					"in trial %d): rates are too low and tails too long", result.Decimal(100*waited.mean, 1),
				result.Decimal(100*waited.most, 0), waited.worst)})
		}
	}
	if all := sharesOf(in.Trials, "", result.FactMachineOthers); all.n > 0 && all.mean >= busyMachine {
		warnings = append(warnings, result.Warning{Code: "machine-busy", Message: fmt.Sprintf(
			"other programs used %s %% of all CPUs during the trials (%s %% in trial %d): expect wider "+
				"intervals and longer tails",
			result.Decimal(100*all.mean, 0), result.Decimal(100*all.most, 0), all.worst)})
	}
	return warnings
}

// isTime says whether a workload measures times, which have tails.
func isTime(w experiment.Workload) bool {
	return w.Mode != experiment.Stream && w.Mode != experiment.Messages
}

// Waited is the share of their runnable time that the good trials of a workload waited for CPUs that other programs
// used, on average; 0 if that is unknown.
func (in Run) Waited(workload string) float64 {
	return sharesOf(in.Trials, workload, result.FactWaited).mean
}

// shares summarizes a fact that is a share, over the good trials of a workload.
type shares struct {
	n          int
	mean, most float64
	// worst is the number of the trial with the most.
	worst int
}

// sharesOf reads a fact of the trials of a workload, or of all workloads if none is named. Values outside 0 to 1 do
// not count.
func sharesOf(trials []result.Trial, workload, fact string) (s shares) {
	for i := range trials {
		t := &trials[i]
		if workload != "" && t.Workload != workload || t.Error != "" {
			continue
		}
		share, err := strconv.ParseFloat(t.Facts[fact], 64)
		if err != nil || !(share >= 0 && share <= 1) {
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
