package contrast

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nearfar/internal/answer"
	"nearfar/internal/stats"
)

// verdict is the answer in a sentence: what the arms differ by in the first quantity that could be compared.
func verdict(c *Contrast, a answer.Answer) string {
	at := slices.IndexFunc(a.Comparisons, func(c answer.Comparison) bool { return c.Difference != nil })
	if at < 0 {
		var reasons []string
		for _, c := range a.Comparisons {
			if !slices.Contains(reasons, c.Reason) {
				reasons = append(reasons, c.Reason)
			}
		}
		return fmt.Sprintf("%s and %s cannot be compared: %s.", c.New.Name, c.Base.Name, strings.Join(reasons, "; "))
	}
	first := a.Comparisons[at]
	var told, same, refused []string
	smallest := 0.0
	for _, one := range a.Comparisons {
		if one.Workload != first.Workload || one.Quantity != first.Quantity {
			continue
		}
		arm := label(one)
		switch {
		case one.Verdict == answer.NoDifference:
			same = append(same, arm)
			if one.Detectable != nil {
				smallest = math.Max(smallest, *one.Detectable)
			}
		case one.Verdict == answer.NotComparable:
			refused = append(refused, arm)
		case one.Verdict != answer.Higher && one.Verdict != answer.Lower:
			told = append(told, fmt.Sprintf("%s %s (%s)", arm, answer.WithInterval(one), one.Reason))
		default:
			told = append(told, arm+" "+answer.WithInterval(one))
		}
	}
	var parts []string
	if len(told) > 0 {
		parts = append(parts, strings.Join(told, ", "))
	}
	if len(same) > 0 {
		parts = append(parts, answer.NoneSeen(same, smallest, first.Unit))
	}
	if len(refused) > 0 {
		parts = append(parts, "not comparable: "+list(refused))
	}
	lead := ""
	if first.About == string(stats.TheseRuns) && slices.ContainsFunc(a.Comparisons, func(one answer.Comparison) bool {
		return one.Workload == first.Workload && one.Quantity == first.Quantity && (one.Verdict == answer.Higher || one.Verdict == answer.Lower)
	}) {
		lead = "These two runs differ: "
	}
	workload := first.Workload
	if first.BaselineWorkload != "" {
		workload += " against " + first.BaselineWorkload
	}
	return fmt.Sprintf("%s%s against %s, in %s %s: %s.", lead, c.New.Name, c.Base.Name, workload, first.Name(), strings.Join(parts, "; "))
}

// label names a comparison's arm, and the other one where it has another name.
func label(c answer.Comparison) string {
	if c.Arm == c.Baseline {
		return c.Arm
	}
	return c.Arm + " against " + c.Baseline
}
