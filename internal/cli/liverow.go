package cli

import (
	"math"
	"slices"
	"strings"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/result"
)

// scale returns the scale of all numbers of the workload.
func (w liveWorkload) scale() result.Scale {
	var medians []float64
	for _, arm := range w.arms {
		if arm.figure != nil {
			medians = append(medians, arm.figure.Median)
		}
	}
	return result.ScaleOf(w.quantity.Unit, medians...)
}

// good returns the number of blocks with a value.
func (a liveArm) good() int {
	n := 0
	for _, v := range a.series {
		if !math.IsNaN(v) {
			n++
		}
	}
	return n
}

func (a liveArm) median(s result.Scale) string {
	if a.figure == nil {
		return "-"
	}
	return s.Number(a.figure.Median)
}

// hasBaseline reports whether the baseline has a figure yet.
func (w liveWorkload) hasBaseline() bool {
	return slices.ContainsFunc(w.arms, func(arm liveArm) bool { return arm.baseline && arm.figure != nil })
}

// differences returns for each arm the text of its difference from the baseline with the interval, or the reason why
// there is none.
func (w liveWorkload) differences() []string {
	s := w.scale()
	numbers, intervals := make([]string, len(w.arms)), make([]string, len(w.arms))
	widest, widestInterval := 0, 0
	for i, arm := range w.arms {
		if c := arm.comparison; c != nil && c.Difference != nil && c.Interval != nil {
			numbers[i] = s.Signed(*c.Difference)
			intervals[i] = c.Interval.Text(s.Signed)
			widest, widestInterval = max(widest, len(numbers[i])), max(widestInterval, len(intervals[i]))
		}
	}
	out := make([]string, len(w.arms))
	for i, arm := range w.arms {
		c := arm.comparison
		switch {
		case arm.baseline:
			out[i] = "baseline"
		case numbers[i] != "":
			out[i] = strings.Repeat(" ", widest-len(numbers[i])) + numbers[i] + " " +
				strings.Repeat(" ", widestInterval-len(intervals[i])) + intervals[i]
		case arm.figure == nil || c == nil || !w.hasBaseline():
			out[i] = "-"
		case c.Verdict != answer.NotComparable:
			out[i] = "too few blocks"
		default:
			out[i] = "not comparable"
		}
	}
	return out
}
