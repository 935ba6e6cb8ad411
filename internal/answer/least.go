package answer

import (
	"fmt"

	"nearfar/internal/experiment"
	"nearfar/internal/stats"
)

// Enough says whether a schedule has the blocks that its largest family of comparisons takes to show any difference,
// whatever its size; text says what it takes and what there is. An experiment of one arm compares nothing, and has an
// empty text.
func Enough(e *experiment.Experiment) (ok bool, text string) {
	comparisons := len(e.Arms) - 1
	if comparisons < 1 {
		return true, ""
	}
	needed, have := MinBlocks(e), e.Schedule.Blocks
	what := fmt.Sprintf("%d comparisons need", comparisons)
	if comparisons == 1 {
		what = "1 comparison needs"
	}
	text = fmt.Sprintf("%s %d blocks, the schedule has %d", what, needed, have)
	return have >= needed, text
}

// MinBlocks returns how many blocks the comparisons of an experiment need to show any difference; 0 for one arm.
func MinBlocks(e *experiment.Experiment) int {
	if len(e.Arms) < 2 {
		return 0
	}
	return stats.MinBlocks(len(e.Arms)-1, stats.Alpha)
}
