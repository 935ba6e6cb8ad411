package figures

import (
	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Figure is the median over an arm's trials of one statistic of the trial.
type Figure struct {
	Arm      string `json:"arm"`
	Workload string `json:"workload"`
	// Side is the source of the arm, if there are two: "A" or "B".
	Side string `json:"side,omitempty"`
	Quantity
	Median   float64  `json:"median"`
	Interval Interval `json:"interval"`
	Trials   int      `json:"trials"`
	// Caution says what distorts the figure: a wire that was late, or did not carry its rate.
	Caution string `json:"caution,omitempty"`
	// Limited says that something other than the arm limits the figure: most trials carried clearly less than their
	// wire.
	Limited bool `json:"limited,omitempty"`
	// Runs is the number of runs, if there are several: Median and Interval are then computed from the runs' medians.
	Runs int `json:"runs,omitempty"`
	// Unbounded says on which side the interval has no bound ("above", "below" or "both"), because trials are
	// Missing.
	Unbounded string `json:"unbounded,omitempty"`
	// Missing is how many of the trials lack the figure. They count as worse than all others.
	Missing int `json:"missing,omitempty"`
	// Failed is how many of the trials failed at the first attempt. They count as worse than all others, also if good
	// ones replaced them.
	Failed int `json:"failed,omitempty"`
	// Over is the protocol, if the answer has figures over several: "UDP".
	Over string `json:"over,omitempty"`
	// Pooled is the same percentile of all observations of all trials together, from their histograms. It is a
	// description without an interval. A stall that fills one trial moves it, but not the median over trials.
	Pooled *float64 `json:"pooled,omitempty"`
}

// FigureOf is the figure of an arm's first attempts, one value for each block; false if they have no median. It is over
// deployments if the hosts were made several times. Everything that shows one figure of one run takes it from here.
func FigureOf(deployed bool, arm, workload string, r Ranking, attempts []result.Trial) (Figure, bool) {
	l := r.LackOf("", attempts)
	f, ok := SummaryOf("", arm, workload, r.Quantity, r.Numbers(attempts), l)
	f.Trials = r.Count(attempts)
	if deployed && ok {
		OverDeployments(&f, r, attempts)
	}
	return f, ok
}

// SummaryOf is the figure of values, some of which may be infinite for attempts that failed or lack the quantity.
func SummaryOf(side, arm, workload string, q Quantity, numbers []float64, l Lack) (Figure, bool) {
	median, bounds, count := stats.Rank(numbers)
	f := Figure{
		Side: side, Arm: arm, Workload: workload, Quantity: q, Median: median.Value, Interval: IntervalOf(bounds),
		Trials: count, Missing: l.Missing, Failed: l.Failed,
	}
	f.Unbounded = f.Interval.Unbounded()
	return f, median.Known
}

// ofArms gives the median of each arm, in the order of the file.
func ofArms(e *experiment.Experiment, c Cells) []Figure {
	var all []Figure
	for _, arm := range e.Arms {
		if f, ok := FigureOf(Deployed(e), arm.Name, c.Workload, c.Ranking, c.Attempts[arm.Name]); ok {
			all = append(all, f)
		}
	}
	return all
}
