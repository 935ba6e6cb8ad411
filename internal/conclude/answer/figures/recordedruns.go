package figures

import (
	"math"
	"slices"

	"nearfar/internal/base/stats"
)

// RecordedRuns are the values of trials that were recorded elsewhere, as runs. Each output is of a run of its program:
// the run is the unit, and with three outputs a side there is an interval, as with three runs a side
// (docs/adr/0027-runs.md). With a lost value they stay trials of one run each, because only ranks can hold it.
func RecordedRuns(s stats.Samples) stats.Runs {
	if slices.ContainsFunc(slices.Concat(s.Arm, s.Baseline), func(v float64) bool { return math.IsInf(v, 0) }) {
		return stats.Runs{Arm: [][]float64{s.Arm}, Baseline: [][]float64{s.Baseline}}
	}
	return stats.Runs{Arm: each(s.Arm), Baseline: each(s.Baseline)}
}

// each makes a run of each value.
func each(values []float64) [][]float64 {
	runs := make([][]float64, len(values))
	for i, v := range values {
		runs[i] = []float64{v}
	}
	return runs
}

// FillRecorded copies the result of a comparison of recorded runs. About stays empty where the trials are the unit:
// nobody knows whether these are of one run.
func FillRecorded(c *Comparison, s stats.RunComparison) {
	FillRuns(c, s)
	if s.Scope != stats.OfRuns {
		c.About = ""
	}
}
