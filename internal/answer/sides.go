package answer

import (
	"time"

	"nearfar/internal/result"
	"nearfar/internal/stats"
)

// Source is one of the two sides of `compare`: a run, or what was recorded elsewhere.
type Source struct {
	// Side is what figures and messages call it: "A" or "B".
	Side string `json:"side"`
	// Source is what the user named, Kind is "run" or "file".
	Source string `json:"source"`
	Kind   string `json:"kind"`
	// Runs are the sources of a side that has several.
	Runs []string `json:"runs,omitempty"`
	// Name is that of the experiment; empty for a file.
	Name    string    `json:"name"`
	State   string    `json:"state"`
	Started time.Time `json:"started,omitzero"`
	Arms    []string  `json:"arms"`
	// Blocks is how many were planned, Trials how many ran, Failed how many of these have no result. Trials count for the arms
	// that were asked for.
	Blocks   int               `json:"blocks"`
	Trials   int               `json:"trials"`
	Failed   int               `json:"failed"`
	Versions map[string]string `json:"versions,omitempty"`
}

// Distribution sets all times of two arms side by side, from the histograms of their trials.
type Distribution struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Unit     string `json:"unit"`
	// Trials and Observations count those of the arm and of the baseline.
	Trials       [2]int               `json:"trials"`
	Observations [2]int64             `json:"observations"`
	Quantiles    []QuantileComparison `json:"quantiles"`
	Distance     *Distance            `json:"largest_distance"`
}

// QuantileComparison is one quantile of two distributions. The trial is the unit: medians, differences and intervals are of
// the quantiles of single trials. They are null where single trials are too short for the quantile. The intervals are those of
// one comparison, not corrected for how many there are.
type QuantileComparison struct {
	Stat string `json:"stat"`
	// Medians are those over the trials of the arm and of the baseline.
	Medians          *[2]float64 `json:"medians"`
	Difference       *float64    `json:"difference"`
	Interval         Interval    `json:"interval"`
	Relative         *float64    `json:"relative"`
	RelativeInterval Interval    `json:"relative_interval"`
	// Unbounded says on which side both intervals have no bound, because of trials that are Missing: how many of the arm and of the
	// baseline are too short for the quantile.
	Unbounded string  `json:"unbounded,omitempty"`
	Missing   *[2]int `json:"missing,omitempty"`
	// Pooled is the quantile of all observations of the arm and of the baseline together: a description, without an
	// interval. Null where there are too few of them.
	Pooled *[2]float64 `json:"pooled"`
}

// Distance is the largest vertical distance between two pooled cumulative distributions: a description and no test, because
// observations of one trial depend on each other.
type Distance struct {
	// Share is how many more of the arm's observations than of the baseline's are at most At, as a part of all: negative where
	// they are fewer.
	Share float64 `json:"share"`
	At    float64 `json:"at"`
}

// FillPaired takes over what the statistics say of two arms of one run.
func FillPaired(c *Comparison, s stats.Comparison) { fill(c, s) }

// FillUnpaired takes over what the statistics say of two sides that share no blocks.
func FillUnpaired(c *Comparison, s stats.SampleComparison) { fillUnpaired(c, s) }

// Summary is the figure of an arm's good trials; false where they have no median.
func Summary(side, arm, workload string, r Ranking, trials []result.Trial) (Figure, bool) {
	numbers, missing := r.Numbers(trials)
	f, ok := SummaryOf(side, arm, workload, r.Quantity, numbers, missing)
	f.Trials = r.Count(trials)
	return f, ok
}

// SummaryOf is the figure of values, of which some may be infinite for trials that lack the quantity.
func SummaryOf(side, arm, workload string, q Quantity, numbers []float64, missing int) (Figure, bool) {
	median, bounds, count := stats.Rank(numbers)
	f := Figure{
		Side: side, Arm: arm, Workload: workload, Quantity: q, Median: median.Value, Interval: interval(bounds), Trials: count, Missing: missing,
	}
	f.Unbounded = f.Interval.Unbounded()
	return f, median.Known
}

// Present keeps the quantities that most of the trials have.
func Present(trials []result.Trial, candidates []Quantity) []Quantity {
	return present(trials, candidates)
}

// IntervalOf makes an unknown interval null.
func IntervalOf(i stats.Interval) Interval { return interval(i) }

// PointerOf makes an unknown quantity null.
func PointerOf(q stats.Quantity) *float64 { return pointer(q) }
