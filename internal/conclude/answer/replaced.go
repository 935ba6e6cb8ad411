package answer

import (
	"fmt"

	"nearfar/internal/declare/result"
)

// scheduledOf is the number of the scheduled trial that a trial is, or replaces.
func scheduledOf(t result.Trial) int {
	if t.Replaces > 0 {
		return t.Replaces
	}
	return t.Trial
}

// replacedPlaces lists the scheduled trials that failed and were replaced by a good one.
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
		return ", and good trials of the same block replace them in means"
	}
	return fmt.Sprintf(", and good trials of the same block replace %d of them in means", replaced)
}
