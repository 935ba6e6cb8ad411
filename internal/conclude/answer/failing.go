package answer

import (
	"fmt"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// failing says in sentences that more than half of the trials failed, or all trials of an arm; "" if neither is true.
// A failed trial that was replaced by a good one does not count.
func failing(e *experiment.Experiment, trials []result.Trial) string {
	good, arms := map[int]bool{}, map[int]string{}
	for _, t := range trials {
		place := scheduledOf(t)
		arms[place] = t.Arm
		good[place] = good[place] || t.Error == ""
	}
	all, failed := map[string]int{}, map[string]int{}
	failures := 0
	for n, arm := range arms {
		all[arm]++
		if !good[n] {
			failed[arm]++
			failures++
		}
	}
	var sentences []string
	if 2*failures > len(arms) {
		sentences = append(sentences, fmt.Sprintf("%d of %d trials failed.", failures, len(arms)))
	}
	var lost []string
	for _, arm := range e.Arms {
		if n := all[arm.Name]; n > 0 && failed[arm.Name] == n {
			lost = append(lost, arm.Name)
		}
	}
	if len(lost) > 0 && failures < len(arms) {
		sentences = append(sentences, fmt.Sprintf("All trials of %s failed.", list(lost)))
	}
	return strings.Join(sentences, " ")
}
