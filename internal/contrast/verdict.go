package contrast

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/answer"
	"nearfar/internal/stats"
)

// verdict is the answer in a sentence: the strongest findings, or why nothing could be compared.
func verdict(c *Contrast, a answer.Answer) string {
	if !slices.ContainsFunc(a.Comparisons, func(c answer.Comparison) bool { return c.Difference != nil }) {
		var reasons []string
		for _, c := range a.Comparisons {
			if !slices.Contains(reasons, c.Reason) {
				reasons = append(reasons, c.Reason)
			}
		}
		return fmt.Sprintf("%s and %s cannot be compared: %s.", c.New.Name, c.Base.Name, strings.Join(reasons, "; "))
	}
	w := answer.Wording{Against: c.New.Name + " against " + c.Base.Name, Name: label}
	ofTheseRuns := func(f answer.Finding) bool { return f.Differs() && f.About == string(stats.TheseRuns) }
	if slices.ContainsFunc(a.Findings, ofTheseRuns) {
		w.Against = "These two runs differ: " + w.Against
	}
	return answer.Sentence(a.Findings, w) + answer.AboutText(a.Comparisons)
}

// label names the arm, and the baseline if it has another name.
func label(f answer.Finding) string {
	if f.Name == f.Baseline {
		return f.Name
	}
	return f.Name + " against " + f.Baseline
}
