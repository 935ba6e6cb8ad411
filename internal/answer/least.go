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
	needed, have := stats.MinBlocks(comparisons, stats.Alpha), e.Schedule.Blocks
	what := fmt.Sprintf("%d comparisons need", comparisons)
	if comparisons == 1 {
		what = "1 comparison needs"
	}
	text = fmt.Sprintf("%s %d blocks, the schedule has %d", what, needed, have)
	return have >= needed, text
}
