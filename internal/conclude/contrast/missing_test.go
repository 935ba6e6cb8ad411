package contrast

import (
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// stalled drops the p99 of the first trials of an arm, as if they made too few observations for it.
func stalled(trials int) func(*result.Trial) {
	return func(t *result.Trial) {
		t.DurationSeconds = 2
		if t.Block <= trials {
			t.Metrics = slices.DeleteFunc(t.Metrics, func(m result.Metric) bool { return m.Stat == result.P99 })
		}
	}
}

// TestStalledTrialsOfARun: a run that stalls is not better, and one that mostly stalls is not left out silently.
func TestStalledTrialsOfARun(t *testing.T) {
	faster := func(string) float64 { return 9.3e-6 }
	for _, test := range []struct {
		stalled         int
		verdict, better string
		reason          string
	}{
		{0, figures.Lower, "arm", ""},
		{9, figures.NoDifference, "", ""},
		{15, figures.NotComparable, "", "rtt p99 is missing in 15 of 20 trials of B and in 0 of 20 trials of A"},
		{20, figures.NotComparable, "", "rtt p99 is missing in 20 of 20 trials of B and in 0 of 20 trials of A"},
	} {
		base := model{arms: []string{"x"}, blocks: 20, seed: 1, noise: 1e-7, change: stalled(0)}
		other := model{arms: []string{"x"}, blocks: 20, seed: 2, noise: 1e-7, level: faster,
			change: stalled(test.stalled)}
		a := contrastOfModels(t, base, other).Answer()
		i := slices.IndexFunc(a.Comparisons, func(c figures.Comparison) bool { return c.Stat == result.P99 })
		if i < 0 {
			t.Errorf("%d stalled: no p99 in %+v", test.stalled, a.Comparisons)
			continue
		}
		if c := a.Comparisons[i]; c.Verdict != test.verdict || c.Better != test.better ||
			!strings.HasPrefix(c.Reason, test.reason) ||
			(c.Unbounded == figures.UnboundedAbove) != (test.stalled == 9) {
			t.Errorf("%d stalled: %+v", test.stalled, c)
		}
		if w := warned(a, answer.CodeMissing); (w != nil) != (test.stalled > 0) {
			t.Errorf("%d stalled: %+v", test.stalled, a.Warnings)
		}
	}
	// None of the shorter trials supports a p99: it is not compared.
	base := model{arms: []string{"x"}, blocks: 20, seed: 1, noise: 1e-7, change: stalled(0)}
	short := model{arms: []string{"x"}, blocks: 20, seed: 2, noise: 1e-7, change: func(t *result.Trial) {
		stalled(20)(t)
		t.DurationSeconds = 0.1
	}}
	if a := contrastOfModels(t, base, short).Answer(); len(a.Comparisons) != 1 ||
		a.Comparisons[0].Stat != result.P50 || warned(a, answer.CodeMissing) != nil {
		t.Errorf("%+v, %+v", a.Comparisons, a.Warnings)
	}
}
