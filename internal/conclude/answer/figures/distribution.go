package figures

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
