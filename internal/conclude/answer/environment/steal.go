package environment

import (
	"fmt"

	"nearfar/internal/declare/result"
)

// notableSteal is the smallest steal time, as a share of CPU time on average over a workload's trials, that causes a
// warning.
const notableSteal = 0.01

// steal warns of workloads whose trials lost CPU time to the hypervisor (steal time).
func steal(in Run) []result.Warning {
	var warnings []result.Warning
	for _, w := range in.Experiment.Workloads {
		stolen := sharesOf(in.Trials, w.Name, result.FactStolen)
		if stolen.n > 0 && stolen.mean >= notableSteal {
			warnings = append(warnings, result.Warning{Code: "cpu-stolen", Workload: w.Name, Message: fmt.Sprintf(
				"the hypervisor took %s %% of the trials' CPU time (steal time; %s %% in trial %d): "+
					"rates are too low and tails too long", result.Decimal(100*stolen.mean, 1),
				result.Decimal(100*stolen.most, 0), stolen.worst)})
		}
	}
	return warnings
}
