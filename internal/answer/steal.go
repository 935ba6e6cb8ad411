package answer

import (
	"fmt"
	"strconv"

	"nearfar/internal/result"
)

// worthTelling is the share of stolen CPU time, on average over a workload's trials, from which it is said.
const worthTelling = 0.01

// steal warns of workloads from whose CPUs a hypervisor kept time for others: what was measured waited for it.
func steal(in Input) []Warning {
	var warnings []Warning
	for _, w := range in.Experiment.Workloads {
		sum, most, n, worst := 0.0, 0.0, 0, 0
		for _, t := range in.Trials {
			share, err := strconv.ParseFloat(t.Facts[result.FactStolen], 64)
			if t.Workload != w.Name || t.Error != "" || err != nil || !(share >= 0 && share <= 1) {
				continue
			}
			sum += share
			n++
			if share > most {
				most, worst = share, t.Trial
			}
		}
		if n > 0 && sum/float64(n) >= worthTelling {
			warnings = append(warnings, Warning{Code: "cpu-stolen", Workload: w.Name, Message: fmt.Sprintf(
				"the hypervisor kept %.1f %% of their CPU time from the trials (%.0f %% in trial %d): rates are too low and tails too long by it",
				100*sum/float64(n), 100*most, worst)})
		}
	}
	return warnings
}
