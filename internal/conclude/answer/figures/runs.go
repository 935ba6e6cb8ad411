package figures

import (
	"fmt"

	"nearfar/internal/base/stats"
)

// FillRuns copies s into c. s compares two sides, and each side has one or more runs.
func FillRuns(c *Comparison, s stats.RunComparison) {
	fillUnpaired(c, s.SampleComparison)
	c.About, c.ScatterRuns = string(s.Scope), s.History
	if s.Scope != stats.OfRuns {
		return
	}
	c.Runs = &[2]int{s.ArmRuns, s.BaselineRuns}
	switch s.Reason {
	case stats.ReasonTooFewRuns:
		c.Reason = fmt.Sprintf("too few runs (%d against %d)", s.ArmRuns, s.BaselineRuns)
		if s.TrialsNeeded > 0 {
			c.Reason += fmt.Sprintf(": it takes %d more on each side", s.TrialsNeeded)
		}
	case stats.ReasonNoTrials:
		c.Reason = noGoodTrials
	}
}
