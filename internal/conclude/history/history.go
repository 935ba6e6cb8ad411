// Package history stores figures of many runs, to show how one figure changes over time.
//
// The figures are in an embedded SQLite index of a directory of runs, which is a cache and can be made again from the
// runs.
package history

import (
	"time"

	"nearfar/internal/conclude/answer/figures"
)

// Document is what `nearfar history` prints; its JSON keys are stable. Values are in base units.
type Document struct {
	Nearfar string `json:"nearfar"`
	// Source is the directory of runs.
	Source string   `json:"source"`
	Series []Series `json:"series"`
	// LeftOut is how many matching series are left out.
	LeftOut int `json:"left_out"`
	// Level is the largest probability that this look marks a change in any series of the source if none has changed.
	Level float64 `json:"level"`
	// PerYear is how many nights a year show such a change, on average and at most, to somebody who looks every night.
	PerYear float64 `json:"false_alarms_per_year"`
	// Warnings are problems found while the index was brought up to date.
	Warnings []string `json:"warnings"`
}

// Meaning has the properties that all figures of a series share. Figures that differ in any field are never in one
// series.
type Meaning struct {
	// Machine is the machine that measured; empty if the run does not name it.
	Machine    string `json:"machine"`
	Experiment string `json:"experiment"`
	Workload   string `json:"workload"`
	Arm        string `json:"arm"`
	figures.Quantity
	Definition string `json:"definition"`
	Tool       string `json:"tool"`
	Mode       string `json:"mode"`
	Protocol   string `json:"protocol"`
	// MessageBytes is -1 if it is not known.
	MessageBytes int `json:"message_bytes"`
	// Offered is the offered load, for open-loop load.
	Offered string `json:"offered,omitempty"`
}

// Series is one figure over runs, the oldest first.
type Series struct {
	Meaning
	Points []Point `json:"points"`
	// Changes are the changes of the level, the oldest first.
	Changes []Change `json:"changes"`
	// Reason says that there are too few runs to find a change; empty if there are enough.
	Reason string `json:"reason,omitempty"`
}

// Point is the figure of one run: the median over the arm's trials, with its interval.
type Point struct {
	Run      string           `json:"run"`
	Started  time.Time        `json:"started"`
	State    string           `json:"state"`
	Median   float64          `json:"median"`
	Interval figures.Interval `json:"interval"`
	// Trials is the number of trials of the median.
	Trials int `json:"trials"`
	// Differs lists differences from the run before: versions of tools, the host, the declaration of the arm.
	Differs []string `json:"differs"`
}

// Level is the median over a stretch of runs, with its 95 % interval if there are enough runs.
type Level struct {
	Median   float64          `json:"median"`
	Interval figures.Interval `json:"interval"`
	Runs     int              `json:"runs"`
}

// Change is a change of a series' level.
type Change struct {
	// Point is the index of the first run after the change, Run its name.
	Point  int    `json:"point"`
	Run    string `json:"run"`
	Before Level  `json:"before"`
	After  Level  `json:"after"`
	// Relative is the change divided by the level before; null if that level is 0 or less.
	Relative *float64 `json:"relative"`
	// PValue is the p-value of the permutation test that found the change.
	PValue float64 `json:"p_value"`
}
