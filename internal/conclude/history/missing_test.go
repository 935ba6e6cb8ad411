package history

import (
	"math"
	"testing"

	"nearfar/internal/declare/result"
)

// A trial without a p99 counts as the worst, as in the answer.
func TestStalledTrialsInHistory(t *testing.T) {
	for _, test := range []struct {
		stalled  int
		median   float64
		interval bool
	}{{0, 5.5e-6, true}, {1, 5.5e-6, true}, {4, 5.5e-6, false}, {5, 0, false}, {6, 0, false}} {
		var trials []result.Trial
		for i := range 10 {
			trial := result.Trial{Trial: i + 1, Block: i + 1, Arm: "x", Workload: "rr",
				Tool: result.ToolVersion{Name: "native"}, Definition: result.DefinitionRTT,
				Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds,
					Value: float64(i+1) * 1e-6}}}
			if i < 10-test.stalled {
				trial.Metrics = append(trial.Metrics,
					result.Metric{Name: result.RTT, Stat: result.P99, Unit: result.Seconds, Value: float64(i+1) * 1e-6})
			}
			trials = append(trials, trial)
		}
		found := false
		for _, f := range figuresOf("rr", trials, false) {
			if f.quantity.Stat != result.P99 {
				continue
			}
			found = true
			if math.Abs(f.median-test.median) > 1e-12 || f.trials != 10 || (f.interval != nil) != test.interval {
				t.Errorf("%d stalled: %+v %v", test.stalled, f, f.interval)
			}
		}
		if found != (test.median > 0) {
			t.Errorf("%d stalled: a figure is there: %v", test.stalled, found)
		}
	}
}
