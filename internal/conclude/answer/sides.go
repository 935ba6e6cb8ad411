package answer

import (
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/result"
)

// Source is one of the two sides of `compare`: a run, or imported results.
type Source struct {
	// Side is the name in figures and messages: "A" or "B".
	Side string `json:"side"`
	// Source is what the user wrote; Kind is "run" or "file".
	Source string `json:"source"`
	Kind   string `json:"kind"`
	// Runs are the sources of a side with several runs.
	Runs []string `json:"runs,omitempty"`
	// Name is the name of the experiment; empty for a file.
	Name    string    `json:"name"`
	State   string    `json:"state"`
	Started time.Time `json:"started,omitzero"`
	Arms    []string  `json:"arms"`
	// Blocks is the number of planned blocks, Trials the number of trials that ran, Failed how many of these have no
	// result. Trials count for the requested arms only.
	Blocks   int               `json:"blocks"`
	Trials   int               `json:"trials"`
	Failed   int               `json:"failed"`
	Versions map[string]string `json:"versions,omitempty"`
}

// Distribution compares all times of two arms, from the histograms of their trials.
type Distribution struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Unit     string `json:"unit"`
	// Trials and Observations count for the arm and for the baseline.
	Trials       [2]int               `json:"trials"`
	Observations [2]int64             `json:"observations"`
	Quantiles    []QuantileComparison `json:"quantiles"`
	Distance     *Distance            `json:"largest_distance"`
}

// QuantileComparison compares one quantile of two distributions. The trial is the unit: medians, differences and
// intervals are computed from the quantiles of single trials, and are null if single trials are too short for the
// quantile. The intervals are for one comparison, not corrected for their number.
type QuantileComparison struct {
	Stat string `json:"stat"`
	// Medians are the medians over the trials of the arm and of the baseline.
	Medians          *[2]float64 `json:"medians"`
	Difference       *float64    `json:"difference"`
	Interval         Interval    `json:"interval"`
	Relative         *float64    `json:"relative"`
	RelativeInterval Interval    `json:"relative_interval"`
	// Unbounded says on which side both intervals have no bound, because trials are Missing: how many attempts of the
	// arm and of the baseline failed, or are too short for the quantile.
	Unbounded string  `json:"unbounded,omitempty"`
	Missing   *[2]int `json:"missing,omitempty"`
	// Pooled is the quantile of all observations of the arm and of the baseline: a description without an interval.
	// Null if there are too few observations.
	Pooled *[2]float64 `json:"pooled"`
}

// Distance is the largest vertical distance between two pooled cumulative distributions. It is a description and not
// a test, because the observations of a trial depend on each other.
type Distance struct {
	// Share is the share of the arm's observations that are at most At, minus the same share of the baseline.
	Share float64 `json:"share"`
	At    float64 `json:"at"`
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
