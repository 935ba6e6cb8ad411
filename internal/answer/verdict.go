package answer

import (
	"fmt"
	"math"
	"slices"
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
		text := fmt.Sprintf("%s has a %s of %s in %s; there is no other arm to compare it with.", f.Arm, f.Name(), result.Amount(f.Median, f.Unit), f.Workload)
		if len(e.Workloads) > 1 && !e.Imported {
			text += " Workloads are never compared: where they are the question, make arms of them with set."
		}
		return text
	}
	first := a.Comparisons[0]
	if i := slices.IndexFunc(a.Comparisons, func(c Comparison) bool { return c.Difference != nil }); a.Imported && i > 0 {
		first = a.Comparisons[i] // what was recorded of one arm only says nothing here
	}
	var differ, same, tooFew, refused []string
	smallest := 0.0
	for _, c := range a.Comparisons {
		if c.Workload != first.Workload || c.Quantity != first.Quantity {
			continue
		}
		switch c.Verdict {
		case Higher, Lower:
			differ = append(differ, c.Arm+" "+WithInterval(c))
		case NoDifference:
			same = append(same, c.Arm)
			if c.Detectable != nil {
				smallest = math.Max(smallest, *c.Detectable)
			}
		default:
			switch {
			case c.Difference != nil && a.Imported:
				differ = append(differ, fmt.Sprintf("%s %s (%s)", c.Arm, WithInterval(c), c.Reason))
			case c.Verdict != NotComparable: // there are pairs, but not enough
				tooFew = append(tooFew, c.Arm)
			default:
				refused = append(refused, c.Arm)
			}
		}
	}
	var parts []string
	if len(differ) > 0 {
		parts = append(parts, strings.Join(differ, ", "))
	}
	if len(same) > 0 {
		parts = append(parts, NoneSeen(same, smallest, first.Unit))
	}
	if len(tooFew) > 0 {
		parts = append(parts, "too few blocks to tell for "+list(tooFew))
	}
	if len(refused) > 0 {
		parts = append(parts, "not comparable: "+list(refused))
	}
	return fmt.Sprintf("Against %s, in %s %s: %s.", e.Baseline, first.Workload, first.Name(), strings.Join(parts, "; "))
}

// WithInterval writes a difference and its interval in one unit: "+1.66 us [+1.47, +2.13]".
func WithInterval(c Comparison) string {
	s := result.ScaleOf(c.Unit, *c.Difference)
	text := s.With(s.Signed(*c.Difference))
	if c.Interval != nil {
		text += " " + c.Interval.Text(s.Signed)
	}
	return text
}

// NoneSeen says in which arms no difference was seen, and the smallest that would have been; 0 where that is not known.
func NoneSeen(arms []string, smallest float64, unit string) string {
	text := "no difference seen in " + list(arms)
	if smallest > 0 {
		text += fmt.Sprintf(" (a difference of %s would have been seen four times in five)", result.Amount(smallest, unit))
	}
	return text
}
