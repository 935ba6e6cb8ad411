//go:build linux

package e2e

import (
	"fmt"
	"testing"

	"nearfar/internal/answer"
)

// A/A: two identical arms must show no difference, and each time say the smallest difference that could have been seen. The
// false alarm rate of this table is 4.3 % at most, so more than 3 alarms in ten runs come once in 1,500 times by chance;
// internal/stats checks the rate itself by simulation.
func TestIdenticalArmsDoNotDiffer(t *testing.T) {
	alarms := 0
	for run := 1; run <= 10; run++ {
		a := measure(t, fmt.Sprintf(`
nearfar: v1
name: same
baseline: a
arms:
  a: {lab: {path: [bridge]}}
  b: {lab: {path: [bridge]}}
workloads:
  - {name: rr, tool: native, mode: rr, duration: 200ms, warmup: 50ms}
schedule: {blocks: 10, seed: %d}
`, run))
		wantNoFailures(t, a)
		alarm := false
		for _, c := range a.Comparisons {
			if c.Detectable == nil || *c.Detectable <= 0 {
				t.Errorf("run %d: %s %s does not say what it could have seen: %+v", run, c.Metric, c.Stat, c)
				continue
			}
			t.Logf("run %d, %s: %+.3f us, %s; could have seen %.3f us", run, c.Stat, *c.Difference*1e6, c.Verdict, *c.Detectable*1e6)
			alarm = alarm || c.Verdict != answer.NoDifference
		}
		if alarm {
			alarms++
		}
	}
	if alarms > 3 {
		t.Errorf("%d of 10 runs saw a difference between identical arms", alarms)
	}
}
