package figures

import (
	"fmt"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
)

// Enough says whether a schedule has the fewest blocks with which its largest family of comparisons can show any
// difference. text compares that number with the schedule. It is empty for an experiment of one arm, which compares
// nothing.
func Enough(e *experiment.Experiment) (ok bool, text string) {
	comparisons := len(e.Arms) - 1
	if comparisons < 1 {
		return true, ""
	}
	needed, have := MinBlocks(e), e.Schedule.Blocks
	if Deployed(e) {
		return have >= needed, fmt.Sprintf("each deployment needs %d blocks, the schedule has %d", needed, have)
	}
	what := fmt.Sprintf("%d comparisons need", comparisons)
	if comparisons == 1 {
		what = "1 comparison needs"
	}
	text = fmt.Sprintf("%s %d blocks, the schedule has %d", what, needed, have)
	return have >= needed, text
}

// MinBlocks returns how many blocks the comparisons of an experiment need to show any difference; 0 for one arm. With
// several deployments, it is the number for each of them.
func MinBlocks(e *experiment.Experiment) int {
	if len(e.Arms) < 2 {
		return 0
	}
	if Deployed(e) {
		return stats.FewestDeployedBlocks
	}
	return stats.MinBlocks(len(e.Arms)-1, stats.Alpha)
}
