package answer

import (
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// TestStrangeTrials: trials that no run can produce give warnings, and a sound run does not.
func TestStrangeTrials(t *testing.T) {
	e := &experiment.Experiment{Arms: []experiment.Arm{{Name: "a"}}, Workloads: []experiment.Workload{{Name: "w"}}}
	trial := func(n int, arm, workload string, value float64) result.Trial {
		return result.Trial{Trial: n, Arm: arm, Workload: workload,
			Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: value}}}
	}
	sound := []result.Trial{trial(1, "a", "w", 1e-6), trial(2, "a", "w", 0)}
	if all := impossible(Input{Experiment: e, Trials: sound}); len(all) > 0 {
		t.Errorf("a sound run: %+v", all)
	}
	for code, c := range map[string]struct {
		trials []result.Trial
		says   string
	}{
		"unknown-arm":    {append(sound, trial(3, "b", "w", 1), trial(4, "a", "x", 1)), "2 trials belong to"},
		"trial-twice":    {append(sound, trial(2, "a", "w", 1)), "trial 2"},
		"negative-value": {append(sound, trial(3, "a", "w", -1e-6)), "rtt.p50 of trial 3"},
	} {
		all := impossible(Input{Experiment: e, Trials: c.trials})
		if len(all) != 1 || all[0].Code != code || !strings.Contains(all[0].Message, c.says) {
			t.Errorf("%s: %+v", code, all)
		}
	}
}
