package figures

import (
	"cmp"
	"slices"

	"nearfar/internal/declare/result"
)

// FirstAttempts leaves out the trials that replace failed ones.
func FirstAttempts(trials []result.Trial) []result.Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Replaces > 0 })
}

// attemptsByArm lists the first attempts of a workload by arm, in order.
func attemptsByArm(trials []result.Trial, workload string) map[string][]result.Trial {
	of := map[string]int{}
	sorted, last := true, -1
	for i := range trials {
		if t := &trials[i]; t.Workload == workload && t.Replaces == 0 {
			of[t.Arm]++
			sorted = sorted && (last < 0 || inOrder(trials[last], *t) <= 0)
			last = i
		}
	}
	by := map[string][]result.Trial{}
	for i := range trials {
		if t := &trials[i]; t.Workload == workload && t.Replaces == 0 {
			if by[t.Arm] == nil {
				by[t.Arm] = make([]result.Trial, 0, of[t.Arm])
			}
			by[t.Arm] = append(by[t.Arm], *t)
		}
	}
	if !sorted { // sorting moves large records
		for _, all := range by {
			slices.SortStableFunc(all, inOrder)
		}
	}
	return by
}

// inOrder sorts trials by block, and within a block by number: a replacement has a higher number than all scheduled
// trials. Imported results have no blocks.
func inOrder(a, b result.Trial) int {
	return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Trial, b.Trial))
}
