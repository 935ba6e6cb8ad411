package answer

import "nearfar/internal/conclude/answer/figures"

// The verdicts of an objective.
const (
	// Met: the interval is on the good side of the bound. Missed: it is beyond the bound. Undecided: it contains the
	// bound, or there is no interval.
	Met       = "met"
	Missed    = "missed"
	Undecided = "undecided"
	// ObjectiveError: the arm, workload or figure does not exist.
	ObjectiveError = "error"
)

// Objective is the result of an objective of the experiment file.
type Objective struct {
	// Rule is the objective as it was written.
	Rule     string `json:"rule"`
	Arm      string `json:"arm"`
	Baseline string `json:"baseline,omitempty"`
	Workload string `json:"workload"`
	figures.Quantity
	// Kind is "value" for a limit, or "relative" or "change" for a change against the baseline. Bound, Estimate and
	// Interval are of that kind.
	Kind string `json:"kind"`
	// FailsAbove says that values above Bound miss the objective; otherwise values below do.
	FailsAbove bool             `json:"fails_above"`
	Bound      float64          `json:"bound"`
	Estimate   *float64         `json:"estimate"`
	Interval   figures.Interval `json:"interval"`
	Confidence float64          `json:"confidence"`
	Verdict    string           `json:"verdict"`
	Reason     string           `json:"reason,omitempty"`
	// Unproved says which arm is not proved to be what it claims; empty if all are.
	Unproved string `json:"unproved,omitempty"`
	// WouldFailFrom is the smallest figure that would miss the objective with the observed noise.
	WouldFailFrom *float64 `json:"would_fail_from"`
	// Said is the result in a line.
	Said string `json:"said"`
}
