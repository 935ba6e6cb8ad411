package answer

// The verdicts of an objective.
const (
	// Met and Missed: it surely holds, or surely does not. Undecided: the interval reaches over the bound, or there is none.
	Met       = "met"
	Missed    = "missed"
	Undecided = "undecided"
	// ObjectiveError: what it is about is not there.
	ObjectiveError = "error"
)

// Objective says whether something holds that the experiment file says must hold of a run.
type Objective struct {
	// Rule is the objective as it was written.
	Rule     string `json:"rule"`
	Arm      string `json:"arm"`
	Baseline string `json:"baseline,omitempty"`
	Workload string `json:"workload"`
	Quantity
	// Kind is "value" for a limit, or "relative" or "change" against the baseline; Bound, Estimate and Interval are of that kind.
	Kind string `json:"kind"`
	// FailsAbove says that more than Bound misses the objective; else less does.
	FailsAbove bool     `json:"fails_above"`
	Bound      float64  `json:"bound"`
	Estimate   *float64 `json:"estimate"`
	Interval   Interval `json:"interval"`
	Confidence float64  `json:"confidence"`
	Verdict    string   `json:"verdict"`
	Reason     string   `json:"reason,omitempty"`
	// WouldFailFrom is the smallest figure that would have been called missed with the noise that there is.
	WouldFailFrom *float64 `json:"would_fail_from"`
	// Said is all of it in a line.
	Said string `json:"said"`
}
