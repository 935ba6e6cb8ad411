package answer

import (
	"fmt"
	"slices"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

// verdict is the answer in a sentence: the strongest findings, or why there is none.
func verdict(e *experiment.Experiment, a Answer) string {
	if len(a.Arms) == 0 {
		if a.Trials > 0 && a.Failed == a.Trials {
			return fmt.Sprintf("No answer: all %d trials failed.", a.Trials)
		}
		if slices.ContainsFunc(a.Proof, func(p ArmProof) bool { return p.Dropped > 0 }) {
			return "No answer: all good trials are dropped, because their arms are not proved to be what they claim."
		}
		return "No answer: nothing was measured."
	}
	if len(a.Comparisons) == 0 {
		f := a.Arms[0]
		text := fmt.Sprintf("%s has a %s of %s in %s; there is no other arm to compare it with.", f.Arm, f.Name(),
			result.Amount(f.Median, f.Unit), f.Workload)
		if len(e.Workloads) > 1 && !e.Imported {
			text += " Workloads are never compared: to compare them, make arms of them with set."
		}
		return text
	}
	return Sentence(a.Findings, Wording{Against: "Against " + e.Baseline}) + apart(a) + AboutText(a.Comparisons)
}
