package answer

import (
	"nearfar/internal/conclude/answer/saturation"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// FindSaturation adds what the arms carry, from workloads that differ only in the offered rate. The trials are those
// that may be compared (proof.Compared). Objectives that limit a value from above are looked for in each arm, whichever
// rate of the sweep and whichever arm they name: the highest rate that keeps them. That holds also for one that could
// not be judged itself: the trials of the rate that it names may have too few requests for a percentile, and those of
// higher rates enough.
func (a *Answer) FindSaturation(e *experiment.Experiment, trials []result.Trial) {
	var limits []saturation.Limit
	for _, o := range a.Objectives {
		if o.Kind == "value" && o.FailsAbove {
			limits = append(limits, saturation.Limit{Quantity: o.Quantity, Bound: o.Bound, Workload: o.Workload})
		}
	}
	a.Saturation = saturation.Of(e, trials, limits, a.AnyTime)
}
