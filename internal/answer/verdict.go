package answer

import (
	"fmt"
	"math"
	"strings"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

// verdict is the answer in a sentence: what each arm adds to or takes from the first workload's first quantity.
func verdict(e *experiment.Experiment, a Answer) string {
	if len(a.Arms) == 0 {
		if a.Trials > 0 && a.Failed == a.Trials {
			return fmt.Sprintf("No answer: all %d trials failed.", a.Trials)
		}
		return "No answer: nothing was measured."
	}
	if len(a.Comparisons) == 0 {
		f := a.Arms[0]
		return fmt.Sprintf("%s has a %s of %s in %s; there is no other arm to compare it with.", f.Arm, f.Name(), result.Amount(f.Median, f.Unit), f.Workload)
	}
	first := a.Comparisons[0]
	var differ, same, tooFew, refused []string
	smallest := 0.0
	for _, c := range a.Comparisons {
		if c.Workload != first.Workload || c.Quantity != first.Quantity {
			continue
		}
		switch c.Verdict {
		case Higher, Lower:
			differ = append(differ, c.Arm+" "+withInterval(c))
		case NoDifference:
			same = append(same, c.Arm)
			if c.Detectable != nil {
				smallest = math.Max(smallest, *c.Detectable)
			}
		default:
			if c.Difference != nil { // there are pairs, but not enough
				tooFew = append(tooFew, c.Arm)
			} else {
				refused = append(refused, c.Arm)
			}
		}
	}
	var parts []string
	if len(differ) > 0 {
		parts = append(parts, strings.Join(differ, ", "))
	}
	if len(same) > 0 {
		text := "no difference seen in " + list(same)
		if smallest > 0 {
			text += fmt.Sprintf(" (a difference of %s would have been)", result.Amount(smallest, first.Unit))
		}
		parts = append(parts, text)
	}
	if len(tooFew) > 0 {
		parts = append(parts, "too few blocks to tell for "+list(tooFew))
	}
	if len(refused) > 0 {
		parts = append(parts, "not comparable: "+list(refused))
	}
	return fmt.Sprintf("Against %s, in %s %s: %s.", e.Baseline, first.Workload, first.Name(), strings.Join(parts, "; "))
}

// withInterval writes a difference and its interval in one unit: "+1.66 us [+1.47, +2.13]".
func withInterval(c Comparison) string {
	s := result.ScaleOf(c.Unit, *c.Difference)
	text := s.With(s.Signed(*c.Difference))
	if c.Interval != nil {
		text += fmt.Sprintf(" [%s, %s]", s.Signed(c.Interval[0]), s.Signed(c.Interval[1]))
	}
	return text
}
