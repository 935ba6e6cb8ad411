package answer

import (
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// TestObjectiveOfALowRate: an objective that names a rate with too few requests for its percentile cannot be judged
// there, and the sweep finds all the same up to which rate it is kept.
func TestObjectiveOfALowRate(t *testing.T) {
	p50 := figures.Quantity{Metric: result.ResponseTime, Stat: result.P50, Unit: result.Seconds}
	e := &experiment.Experiment{Baseline: "own", Arms: []experiment.Arm{{Name: "own"}}, Schedule: experiment.Schedule{Blocks: 6}}
	times := map[float64]float64{60: 5e-3, 120: 7e-3, 400: 300e-3}
	for _, rate := range []float64{20, 60, 120, 400} {
		e.Workloads = append(e.Workloads, experiment.Workload{Name: experiment.FormatPerSecond(rate), Tool: "http",
			Mode: experiment.HTTP, OfferedRate: rate})
	}
	var trials []result.Trial
	for _, slot := range e.Slots() {
		w, _ := e.Workload(slot.Workload)
		metrics := []result.Metric{{Name: result.TransactionRate, Unit: result.PerSecond, Value: min(w.OfferedRate, 187)}}
		if v, ok := times[w.OfferedRate]; ok {
			metrics = append(metrics, result.Metric{Name: p50.Metric, Stat: p50.Stat, Unit: p50.Unit, Value: v})
		}
		trials = append(trials, result.Trial{Trial: len(trials) + 1, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload,
			Metrics: metrics})
	}
	for verdict, kind := range map[string]string{ObjectiveError: "value", Met: "value", Undecided: "change"} {
		a := Answer{Objectives: []Objective{{Arm: "own", Workload: "20/s", Quantity: p50, Kind: kind, FailsAbove: true,
			Bound: 100e-3, Verdict: verdict}}}
		a.FindSaturation(e, trials)
		if len(a.Saturation) != 1 || len(a.Saturation[0].Arms) != 1 {
			t.Fatalf("%+v", a.Saturation)
		}
		keeps := a.Saturation[0].Arms[0].Keeps
		if kind != "value" {
			if len(keeps) != 0 {
				t.Errorf("a limit of a change has a rate: %+v", keeps)
			}
			continue
		}
		// On a line of logarithms from 7 ms at 120/s to 300 ms at 400/s, 100 ms is at 281/s.
		if len(keeps) != 1 || keeps[0].Rate.Value == nil || *keeps[0].Rate.Value < 280 || *keeps[0].Rate.Value > 282 {
			t.Errorf("%s: the objective is kept up to %+v", verdict, keeps)
		}
	}
}
