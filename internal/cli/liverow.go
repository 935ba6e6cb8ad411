package cli

import (
	"strings"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/interim"
	"nearfar/internal/declare/result"
)

func medianOf(arm interim.Arm, s result.Scale) string {
	if arm.Figure == nil {
		return "-"
	}
	return s.Number(arm.Figure.Median)
}

// differencesOf returns for each arm the text of its difference from the baseline with the interval, or the reason why
// there is none.
func differencesOf(w interim.Workload) []string {
	s := w.Scale()
	numbers, intervals := make([]string, len(w.Arms)), make([]string, len(w.Arms))
	widest, widestInterval := 0, 0
	for i, arm := range w.Arms {
		if c := arm.Comparison; c != nil && c.Difference != nil && c.Interval != nil {
			numbers[i] = s.Signed(*c.Difference)
			intervals[i] = c.Interval.Text(s.Signed)
			widest, widestInterval = max(widest, len(numbers[i])), max(widestInterval, len(intervals[i]))
		}
	}
	out := make([]string, len(w.Arms))
	for i, arm := range w.Arms {
		c := arm.Comparison
		switch {
		case arm.Baseline:
			out[i] = "baseline"
		case numbers[i] != "":
			out[i] = strings.Repeat(" ", widest-len(numbers[i])) + numbers[i] + " " +
				strings.Repeat(" ", widestInterval-len(intervals[i])) + intervals[i]
		case arm.Figure == nil || c == nil || !w.HasBaseline():
			out[i] = "-"
		case c.Verdict != figures.NotComparable:
			out[i] = "too few blocks"
		default:
			out[i] = "not comparable"
		}
	}
	return out
}
