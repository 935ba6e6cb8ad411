package report

import (
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// failed is the answer of a run in which an arm fails in 8 of 17 attempts, each of which was replaced, and an arm whose
// load loses so much that most of its trials have no median.
func failed() answer.Answer {
	e := &experiment.Experiment{Question: "Is the fast path fast?", Baseline: "base",
		Arms:      []experiment.Arm{{Name: "base"}, {Name: "fast"}, {Name: "lossy"}},
		Workloads: []experiment.Workload{{Name: "load", Tool: "native", Mode: "load"}},
		Schedule:  experiment.Schedule{Blocks: 17}}
	var trials []result.Trial
	add := func(trial result.Trial, arm string, level float64) {
		trial.Trial, trial.Arm, trial.Workload = len(trials)+1, arm, "load"
		trial.Tool, trial.Mode, trial.Protocol = result.ToolVersion{Name: "native"}, "load", "udp"
		trial.Definition, trial.ReportedAs = result.DefinitionResponseTime, result.DefinitionResponseTime
		lost := 0.0
		if arm == "lossy" {
			lost = 0.15
		}
		trial.Metrics = []result.Metric{{Name: result.Loss, Unit: result.One, Value: lost}}
		if arm != "lossy" {
			trial.Metrics = append(trial.Metrics, result.Metric{Name: result.ResponseTime, Stat: result.P50,
				Unit: result.Seconds, Value: level * (1 + 0.001*float64(trial.Block%7))})
		}
		trials = append(trials, trial)
	}
	for block := 1; block <= 17; block++ {
		add(result.Trial{Block: block}, "base", 20e-6)
		add(result.Trial{Block: block}, "lossy", 20e-6)
		add(result.Trial{Block: block}, "fast", 17e-6)
		if block%2 == 0 {
			last := &trials[len(trials)-1]
			last.Error, last.Metrics = "timed out after 10s", nil
			add(result.Trial{Block: block, Replaces: last.Trial}, "fast", 17e-6)
		}
	}
	return answer.Make(answer.Input{Experiment: e, Trials: trials, State: "complete"})
}

// TestFailuresLead: that an arm fails comes before how fast it is when it does not.
func TestFailuresLead(t *testing.T) {
	a := failed()
	if f := a.Findings[0]; f.Kind != answer.OfFailures || f.Name != "fast" || f.Better != "baseline" ||
		!strings.HasPrefix(a.Verdict, "With fast, 8 of 17 trials fail, 47 percentage points (16 to 72 points) more than with base.") {
		t.Errorf("%+v\n%s", f, a.Verdict)
	}
	for _, c := range a.Comparisons {
		if c.Arm == "lossy" && (c.Verdict != figures.Higher || c.Better != "baseline") {
			t.Errorf("without any figure, and not worse: %+v", c)
		}
	}
	golden(t, "failures.terminal", written(t, a, Options{Format: "terminal"}))
	golden(t, "failures.markdown", written(t, a, Options{Format: "markdown"}))
	golden(t, "failures.csv", written(t, a, Options{Format: "csv"}))
}
