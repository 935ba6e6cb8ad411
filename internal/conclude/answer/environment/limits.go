package environment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
)

// limits warns of trials in which a limiter of the provider acted: they show the limiter, whatever the arm is.
func limits(in Run) (warnings []result.Warning) {
	for _, arm := range in.Experiment.Arms {
		for _, w := range in.Experiment.Workloads {
			ran, first := 0, 0
			limited, counters := 0, map[string]bool{}
			for _, t := range in.Good(arm.Name, w.Name) {
				ran++
				of := limiters(*t)
				if len(of) == 0 {
					continue
				}
				if limited++; first == 0 {
					first = t.Trial
				}
				for _, counter := range of {
					counters[counter] = true
				}
			}
			if limited == 0 {
				continue
			}
			names := slices.Sorted(maps.Keys(counters))
			if more := len(names) - maxLimiters; more > 0 {
				names = append(names[:maxLimiters], fmt.Sprintf("%d more", more))
			}
			warnings = append(warnings, result.Warning{Code: "allowance-exceeded", Arm: arm.Name, Workload: w.Name,
				Message: fmt.Sprintf("in %d of %d trials (the first: trial %d) a limiter of the provider acted, and "+
					"they show the limiter: %s grew", limited, ran, first, strings.Join(names, ", "))})
		}
	}
	return warnings
}

// maxLimiters bounds how many counters a warning names.
const maxLimiters = 6

// limiters names the counters of limiters that grew in a trial: "client eth0 bw_out_allowance_exceeded".
func limiters(t result.Trial) (names []string) {
	if t.Counters == nil {
		return nil
	}
	for side, c := range map[string]*check.Counters{"client": t.Counters.Client, "server": t.Counters.Server} {
		for _, limit := range c.Limits() {
			counter, _, _ := strings.Cut(limit, " grew by ")
			names = append(names, side+" "+strings.Replace(counter, ": ", " ", 1))
		}
	}
	return names
}
