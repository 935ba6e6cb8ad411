package answer

import (
	"fmt"
	"time"
)

// How far apart CPUs must be to be told of: so many times as far as at best, in so many trials, and in this share of them.
const (
	farApart  = 2
	farTrials = 2
	farShare  = 0.05
)

// distances warns of workloads whose client's and server's CPUs were now near each other and now far: what was measured then has
// two modes that are none of the path's.
func distances(in Input) []Warning {
	var warnings []Warning
	for _, w := range in.Experiment.Workloads {
		var trips []time.Duration // the longer one of each trial
		var nearest, farthest time.Duration
		for _, t := range in.Trials {
			before, after, known := t.CoreToCore()
			if t.Workload != w.Name || t.Error != "" || !known {
				continue
			}
			if len(trips) == 0 {
				nearest = before
			}
			trips = append(trips, max(before, after))
			nearest, farthest = min(nearest, before, after), max(farthest, before, after)
		}
		far := 0
		for _, trip := range trips {
			if trip >= farApart*nearest {
				far++
			}
		}
		if far >= farTrials && float64(far) >= farShare*float64(len(trips)) {
			warnings = append(warnings, Warning{Code: "cpus-moved", Workload: w.Name, Message: fmt.Sprintf(
				"in %d of %d trials the CPUs of client and server were far apart: a cache line took up to %v from one to the other and back, and %v at best, "+
					"as where a hypervisor moves them; rates and times of these trials differ for that, and not for the path",
				far, len(trips), farthest, nearest)})
		}
	}
	return warnings
}
