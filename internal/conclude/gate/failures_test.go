package gate

import (
	"bytes"
	"strings"
	"testing"

	"nearfar/internal/conclude/contrast"
	"nearfar/internal/declare/result"
)

// failsIn makes the first trials of the workload rr fail.
func failsIn(trials int) func(*result.Trial) {
	return func(t *result.Trial) {
		if t.Workload == "rr" && t.Block <= trials {
			t.Error, t.Metrics = "timed out", nil
		}
	}
}

// TestANewSideThatFailsMoreOftenFails: a new side of which 20 of 57 trials time out passes no gate, whatever its rules.
func TestANewSideThatFailsMoreOftenFails(t *testing.T) {
	level := map[string]float64{"l2": 10}
	for _, test := range []struct {
		base, other int
		rule        string
		want        Verdict
		checks      int
		reason      string
	}{
		{0, 20, "rr rtt.p50 > +5%", Fail, 2, ""},
		{0, 0, "rr rtt.p50 > +5%", Pass, 1, ""},
		{20, 20, "rr rtt.p50 > +100%", Pass, 2, ""},
		{20, 0, "rr rtt.p50 > +5%", Pass, 2, ""},
		{0, 1, "rr rtt.p50 > +5%", Pass, 2, "it failed more often, which may be chance"},
		// Rules about failures take the place of the default.
		{0, 1, "rr failures > 0", Fail, 1, ""},
		{5, 0, "rr failures > 0", Pass, 1, ""},
		{0, 1, "rr failures > 1%", Inconclusive, 1, "the interval contains the bound"},
		{0, 1, "rr failures > 20%", Pass, 1, ""},
		{0, 20, "rr failures > 20%", Fail, 1, ""},
		{0, 20, "rr failures > +0", Fail, 1, ""},
		{0, 20, "rr failures > +0.1", Fail, 1, ""},
		{0, 20, "rr failures > +0.5", Pass, 1, ""},
		{0, 20, "rr failures > +100%", Inconclusive, 1, "no relative change against a base of 0"},
		{3, 40, "rr failures > +100%", Fail, 1, ""},
	} {
		base, other := side("BASE", 57, 1, level, failsIn(test.base)), side("NEW", 57, 2, level, failsIn(test.other))
		r := evaluate(t, base, other, false, test.rule)
		last := r.Checks[len(r.Checks)-1]
		if r.Verdict != test.want || len(r.Checks) != test.checks || !strings.Contains(last.Reason, test.reason) {
			t.Errorf("%d and %d of 57 fail, %s: %s %+v", test.base, test.other, test.rule, r.Verdict, r.Checks)
		}
		if last.Metric == result.Failures && (*last.Failed != [2]int{test.base, test.other} ||
			*last.Attempts != [2]int{57, 57} || last.Default != !strings.Contains(test.rule, "failures")) {
			t.Errorf("%s: %+v", test.rule, last)
		}
		for _, format := range Formats() {
			var out bytes.Buffer
			if err := Write(&out, r, format, false); err != nil || strings.Contains(out.String(), "Inf") {
				t.Errorf("%s: %v\n%s", format, err, out.String())
			}
		}
	}
}

// A replacement is no attempt: it would halve the share of an arm whose every second trial fails.
func TestReplacementsAreNoAttempts(t *testing.T) {
	level := map[string]float64{"l2": 10}
	base, other := side("BASE", 20, 1, level, nil), side("NEW", 20, 2, level, failsIn(10))
	for _, trial := range other.Trials {
		if trial.Error != "" {
			again := trial
			again.Trial, again.Replaces, again.Error = len(other.Trials)+1, trial.Trial, ""
			other.Trials = append(other.Trials, again)
		}
	}
	r := evaluate(t, base, other, false, "rr failures > 20%")
	if c := r.Checks[0]; c.Verdict != Fail || *c.Attempts != [2]int{20, 20} || *c.Failed != [2]int{0, 10} {
		t.Errorf("%+v", c)
	}
}

// An objective of one run can be about failures.
func TestFailuresAsAnObjective(t *testing.T) {
	run := side("the run", 20, 1, map[string]float64{"l2": 10}, failsIn(10))
	run.Experiment.Objectives = []string{"l2 rr failures < 1%"}
	rules, err := Objectives(run.Experiment)
	if err != nil {
		t.Fatal(err)
	}
	if r := Evaluate(contrast.Alone(run), rules, false); r.Verdict != Fail || len(r.Checks) != 1 {
		t.Errorf("%+v", r)
	}
}
