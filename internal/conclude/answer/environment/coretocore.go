package environment

import (
	"fmt"
	"slices"

	"nearfar/internal/declare/result"
)

// The fewest trials with a high core-to-core latency that cause a warning, and the smallest share of the trials.
const (
	slowTrials = 2
	slowShare  = 0.05
)

// coreToCore warns of workloads in which the latency between the client's and the server's CPU changed between
// trials. The results then have two modes that do not come from the path.
func coreToCore(in Run) []result.Warning {
	var warnings []result.Warning
	for _, w := range in.Experiment.Workloads {
		for _, arms := range alike(in.Experiment, w.Name, "placement") {
			warnings = append(warnings, coreToCoreOf(in.Trials, w.Name, arms)...)
		}
	}
	return warnings
}

// coreToCoreOf checks a workload's trials in arms with the same placement.
func coreToCoreOf(trials []result.Trial, workload string, arms []string) []result.Warning {
	var measured []result.Trial
	for i := range trials {
		t := &trials[i]
		if t.Workload == workload && slices.Contains(arms, t.Arm) && t.Error == "" &&
			t.Facts[result.FactCoreToCoreBefore] != "" {
			measured = append(measured, *t)
		}
	}
	c := result.CoreToCoreOf(measured)
	if c.Slow < slowTrials || float64(c.Slow) < slowShare*float64(c.Known) {
		return nil
	}
	return []result.Warning{{Code: "cpus-moved", Workload: workload, Message: fmt.Sprintf(
		"in %d of %d trials the core-to-core latency between client and server was high: up to %v for the round "+
			"trip of "+
			"a cache line, %v at best. A hypervisor may move the CPUs. Rates and times of these trials differ "+
			"because of "+
			"that, not because of the path", c.Slow, c.Known, c.Longest, c.Shortest)}}
}
