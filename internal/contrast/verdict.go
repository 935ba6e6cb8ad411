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
	w := answer.Wording{Against: c.New.Name + " against " + c.Base.Name, Name: label}
	lead := answer.FailuresLead(a.Findings, w)
	if !slices.ContainsFunc(a.Comparisons, compared) {
		var reasons []string
		for _, c := range a.Comparisons {
			if !slices.Contains(reasons, c.Reason) {
				reasons = append(reasons, c.Reason)
			}
		}
		return lead + fmt.Sprintf("%s and %s cannot be compared: %s.", c.New.Name, c.Base.Name,
			strings.Join(reasons, "; "))
	}
	figures := slices.DeleteFunc(slices.Clone(a.Findings), func(f answer.Finding) bool {
		return f.Kind == answer.OfFailures
	})
	ofTheseRuns := func(f answer.Finding) bool { return f.Differs() && f.About == string(stats.TheseRuns) }
	if slices.ContainsFunc(figures, ofTheseRuns) {
		w.Against = "These two runs differ: " + w.Against
	}
	return lead + answer.Sentence(figures, w) + answer.AboutText(a.Comparisons)
}

// compared says whether a comparison has a difference, or at least a sure sign.
func compared(c answer.Comparison) bool {
	return c.Difference != nil || c.Verdict == answer.Higher || c.Verdict == answer.Lower
}

// label names the arm, and the baseline if it has another name.
func label(f answer.Finding) string {
	if f.Name == f.Baseline {
		return f.Name
	}
	return f.Name + " against " + f.Baseline
}
