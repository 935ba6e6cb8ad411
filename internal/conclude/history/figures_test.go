package history

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// TestFiguresAreThoseOfTheReport: history and report show one value for one figure: where the baseline runs three times
// a block, trials lack a tail, fail and are replaced, and hosts are made several times.
func TestFiguresAreThoseOfTheReport(t *testing.T) {
	for _, deployments := range []int{0, 3} {
		for seed := range uint64(60) {
			e := &experiment.Experiment{Baseline: "l2", Arms: []experiment.Arm{{Name: "l2"}, {Name: "far"}},
				Workloads: []experiment.Workload{{Name: "rr", Tool: "native", Mode: "rr"}},
				Schedule:  experiment.Schedule{Blocks: 6, Deployments: deployments, Seed: seed}}
			trials := unsteady(e, max(deployments, 1), seed)
			a := answer.Make(answer.Input{Experiment: e, Trials: trials, State: "complete"})
			shown := map[string]string{}
			say := func(median float64, i figures.Interval, trials int) string {
				if i.Unbounded() != "" {
					i = nil
				}
				return fmt.Sprintf("%.6g %s of %d", 1e6*median, i.Text(func(v float64) string {
					return fmt.Sprintf("%.6g", 1e6*v)
				}), trials)
			}
			for _, f := range figuresOf("rr", trials, deployments > 0) {
				shown[f.arm+" "+f.quantity.Name()] = say(f.median, f.interval, f.trials)
			}
			for _, f := range a.Arms {
				if got, want := shown[f.Arm+" "+f.Name()], say(f.Median, f.Interval, f.Trials); got != want {
					t.Errorf("%d deployments, seed %d, %s %s: history %q, report %q", deployments, seed, f.Arm, f.Name(), got,
						want)
				}
			}
			for _, f := range a.Failures.Arms {
				if got, want := shown[f.Arm+" failures"], say(f.Share, f.Interval, f.Attempts); got != want {
					t.Errorf("%d deployments, seed %d, failures of %s: history %q, report %q", deployments, seed, f.Arm, got,
						want)
				}
			}
			if len(a.Arms) == 0 || len(a.Failures.Arms) == 0 {
				t.Fatal("the report has no figure")
			}
		}
	}
}

// unsteady makes the trials of a run, of which some lack a p99, and some failed and were replaced.
func unsteady(e *experiment.Experiment, deployments int, seed uint64) (trials []result.Trial) {
	r := rand.New(rand.NewPCG(seed, 12))
	good := func(trial result.Trial) result.Trial {
		v := 40e-6 + 10e-6*r.Float64()
		trial.Metrics = []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: v}}
		if r.Float64() < 0.7 {
			trial.Metrics = append(trial.Metrics, result.Metric{Name: result.RTT, Stat: result.P99, Unit: result.Seconds,
				Value: 2 * v})
		}
		return trial
	}
	for d := range deployments {
		for b := range e.Schedule.Blocks {
			for _, arm := range []string{"l2", "l2", "l2", "far"} {
				trial := result.Trial{Trial: len(trials) + 1, Block: d*e.Schedule.Blocks + b + 1, Arm: arm, Workload: "rr",
					Tool: result.ToolVersion{Name: "native"}, Mode: "rr", Protocol: "tcp", Definition: result.DefinitionRTT,
					ReportedAs: result.DefinitionRTT}
				if e.Schedule.Deployments > 0 {
					trial.Deployment = d + 1
				}
				if r.Float64() < 0.1 {
					again := good(trial)
					again.Replaces, again.Trial = trial.Trial, 1000+trial.Trial
					trial.Error, trial.Definition = "timed out", result.DefinitionNone
					trials = append(trials, trial, again)
					continue
				}
				trials = append(trials, good(trial))
			}
		}
	}
	return trials
}
