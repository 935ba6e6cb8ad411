package answer

import (
	"cmp"
	"fmt"

	"nearfar/internal/result"
)

// scheduledOf is the trial of the schedule that a trial is, or stands for.
func scheduledOf(t result.Trial) int {
	if t.Replaces > 0 {
		return t.Replaces
	}
	return t.Trial
}

// replacedPlaces lists the trials of the schedule that failed and for which another one stands that did not.
func replacedPlaces(trials []result.Trial) map[int]bool {
	replaced := map[int]bool{}
	for _, t := range trials {
		if t.Replaces > 0 && t.Error == "" {
			replaced[t.Replaces] = true
		}
	}
	return replaced
}

// replacements says how many of the failed trials were replaced by good ones.
func replacements(failed, replaced int) string {
	switch replaced {
	case 0:
		return ""
	case failed:
		return ", and good trials of the same block replace them"
	}
	return fmt.Sprintf(", and good trials of the same block replace %d of them", replaced)
}

// inOrder sorts trials by block, and within a block by number: a replacement has a number after all trials of the
// schedule. Results recorded elsewhere have no blocks.
func inOrder(a, b result.Trial) int {
	return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Trial, b.Trial))
}
