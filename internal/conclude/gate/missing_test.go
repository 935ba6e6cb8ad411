package gate

import (
	"bytes"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// TestStalledTrialsDoNotPass: a side that is faster except in trials that stalled, and so have no p99, passes no rule
// about p99.
func TestStalledTrialsDoNotPass(t *testing.T) {
	stalls := func(trials int) func(*result.Trial) {
		return func(t *result.Trial) {
			if v, ok := t.Value(result.RTT, result.P50); ok && t.Block > trials {
				t.Metrics = append(t.Metrics, result.Metric{Name: result.RTT, Stat: result.P99,
					Unit: result.Seconds, Value: 1.4 * v})
			}
		}
	}
	base := side("BASE", 20, 1, map[string]float64{"l2": 10}, stalls(0))
	for _, test := range []struct {
		stalled   int
		rule      string
		want      Verdict
		unbounded string
		reason    string
	}{
		{0, "rr rtt.p99 > +5%", Pass, "", ""},
		{1, "rr rtt.p99 > +5%", Pass, "", ""},
		{9, "rr rtt.p99 > +5%", Inconclusive, figures.UnboundedAbove, "contains the bound"},
		{9, "rr rtt.p99 > +1us", Inconclusive, figures.UnboundedAbove, "contains the bound"},
		{9, "rr rtt.p99 > 50us", Inconclusive, figures.UnboundedAbove, "contains the bound"},
		{9, "rr rtt.p99 > 5us", Fail, figures.UnboundedAbove, ""},
		{10, "rr rtt.p99 > +5%", Error, "", "rtt p99 is missing in 10 of 20 trials of NEW: there is no median"},
		{10, "rr rtt.p99 > 50us", Error, "", "rtt p99 is missing in 10 of 20 trials of NEW: there is no median"},
		{15, "rr rtt.p99 > +5%", Error, "", "it is missing in 15 of 20 trials of NEW"},
		{20, "rr rtt.p99 > 50us", Error, "", "it is missing in 20 of 20 trials of NEW"},
	} {
		r := evaluate(t, base, side("NEW", 20, 2, map[string]float64{"l2": 9.3}, stalls(test.stalled)), false,
			test.rule)
		c := r.Checks[0]
		if c.Verdict != test.want || r.Verdict != test.want || c.Unbounded != test.unbounded ||
			!strings.Contains(c.Reason, test.reason) {
			t.Errorf("%d stalled, %s: %+v %v", test.stalled, test.rule, c, c.Interval)
		}
		warnings := strings.Join(r.warningLines(), "\n")
		if test.want != Error && strings.Contains(warnings, answer.CodeMissing) != (test.stalled > 0) {
			t.Errorf("%d stalled: %s", test.stalled, warnings)
		}
		for _, format := range Formats() {
			var out bytes.Buffer
			if err := Write(&out, r, format, false); err != nil || strings.Contains(out.String(), "Inf") {
				t.Errorf("%s: %v\n%s", format, err, out.String())
			}
		}
	}
}
