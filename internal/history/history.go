// Package history keeps figures of many runs side by side, so that one figure can be followed over time.
//
// The figures are in a database: an embedded SQLite index of a directory of runs, which is a cache and can be made again from
// them at will, or a team's PostgreSQL, into which runs of several machines are pushed. Both hold the same tables.
package history

import (
	"time"

	"nearfar/internal/answer"
)

// Document is what `nearfar history` prints; its JSON keys are stable. Values are in base units.
type Document struct {
	Nearfar string `json:"nearfar"`
	// Source is the directory of runs, or the database without what is secret.
	Source string   `json:"source"`
	Series []Series `json:"series"`
	// LeftOut is how many further series match.
	LeftOut int `json:"left_out"`
	// Level is the probability with which a change is marked in any of the series although there is none.
	Level float64 `json:"level"`
	// Warnings are what must be known beside the figures.
	Warnings []string `json:"warnings"`
}

// Meaning is what the figures of a series have in common. Figures that differ in any of it are never in one series.
type Meaning struct {
	// Machine is the one that measured; empty where the run does not say.
	Machine    string `json:"machine"`
	Experiment string `json:"experiment"`
	Workload   string `json:"workload"`
	Arm        string `json:"arm"`
	answer.Quantity
	Definition string `json:"definition"`
	Tool       string `json:"tool"`
	Mode       string `json:"mode"`
	Protocol   string `json:"protocol"`
	// MessageBytes is -1 where it is not known.
	MessageBytes int `json:"message_bytes"`
	// Offered is the load that was offered, for open-loop load.
	Offered string `json:"offered,omitempty"`
}

// Series is a figure of one meaning over runs, the oldest first.
type Series struct {
	Meaning
	Points []Point `json:"points"`
	// Changes are where the level moved, the oldest first.
	Changes []Change `json:"changes"`
	// Reason says why no change could be found in so few runs; empty where one could.
	Reason string `json:"reason,omitempty"`
}

// Point is the figure of one run: the median over the arm's trials, with its interval.
type Point struct {
	Run      string          `json:"run"`
	Started  time.Time       `json:"started"`
	State    string          `json:"state"`
	Median   float64         `json:"median"`
	Interval answer.Interval `json:"interval"`
	// Trials is how many the median is of.
	Trials int `json:"trials"`
	// Differs says what was not as in the run before: versions of tools, the host, the declaration of the arm.
	Differs []string `json:"differs"`
}

// Level is the median over the runs of one stretch, with its 95 % interval where there are runs enough for one.
type Level struct {
	Median   float64         `json:"median"`
	Interval answer.Interval `json:"interval"`
	Runs     int             `json:"runs"`
}

// Change is where a series moved to another level.
type Change struct {
	// Point is the index of the first run after the change, Run its name.
	Point  int    `json:"point"`
	Run    string `json:"run"`
	Before Level  `json:"before"`
	After  Level  `json:"after"`
	// Relative is how much the level moved, as a part of the one before; null where that is 0 or less.
	Relative *float64 `json:"relative"`
	// PValue is that of the permutation test that found the change.
	PValue float64 `json:"p_value"`
}
