package answer

import (
	"fmt"
	"slices"

	"nearfar/internal/result"
)

// In how many trials the CPUs must have been far apart to be told of, and in which share of them.
const (
	farTrials = 2
	farShare  = 0.05
)

// distances warns of workloads whose client's and server's CPUs were now near each other and now far: what was measured then has
// two modes that are none of the path's.
func distances(in Input) []Warning {
	var warnings []Warning
	for _, w := range in.Experiment.Workloads {
		for _, arms := range alike(in.Experiment, w.Name, "placement") {
			warnings = append(warnings, distancesOf(in.Trials, w.Name, arms)...)
		}
	}
	return warnings
}

// distancesOf warns of a workload's trials in arms that place them alike.
func distancesOf(trials []result.Trial, workload string, arms []string) []Warning {
	var measured []result.Trial
	for _, t := range trials {
		if t.Workload == workload && slices.Contains(arms, t.Arm) && t.Error == "" {
			measured = append(measured, t)
		}
	}
	c := result.CoreToCoreOf(measured)
	if c.Far < farTrials || float64(c.Far) < farShare*float64(c.Known) {
		return nil
	}
	return []Warning{{Code: "cpus-moved", Workload: workload, Message: fmt.Sprintf(
		"in %d of %d trials the CPUs of client and server were far apart: a cache line took up to %v from one to the other and back, and %v at best, "+
			"as where a hypervisor moves them; rates and times of these trials differ for that, and not for the path",
		c.Far, c.Known, c.Farthest, c.Nearest)}}
}
