// Package rundirtest makes run directories for tests.
package rundirtest

import (
	"math/rand/v2"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// TwentyNights makes 20 runs in a directory, one a day, of two arms: l2, and a second whose round trips of 1024 B take
// twice as long. From the ninth on the tool has another version and round trips take longer. docs/history.md shows
// their history.
func TwentyNights(t testing.TB, runs, second string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	arms := []string{"l2", second}
	for day := range 20 {
		version, level := "0.1.0", 8e-6
		if day >= 8 {
			version, level = "0.2.0", 9.5e-6
		}
		run, err := rundir.Create(runs, rundir.Manifest{
			Nearfar: "v1", Seed: 1, State: rundir.Complete, Machine: "bench-1",
			Started:  time.Date(2026, 11, 1+day, 6, 30, 0, 0, time.UTC),
			Versions: map[string]string{"nearfar": "0.1.0"},
			Experiment: &experiment.Experiment{
				Name: "overlay", Baseline: "l2", Arms: []experiment.Arm{{Name: arms[0]}, {Name: arms[1]}},
				Workloads: []experiment.Workload{{Name: "rr-1k", Tool: "native", Mode: "rr"}},
				Schedule:  experiment.Schedule{Blocks: 7, Seed: 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		drift, size := 1+0.004*r.NormFloat64(), 1024
		for i := range 14 {
			value := level * drift * (1 + 0.003*r.NormFloat64()) * float64(1+i%2)
			if err := run.Append(result.Trial{
				Trial: i + 1, Block: 1 + i/2, Arm: arms[i%2], Workload: "rr-1k",
				Tool: result.ToolVersion{Name: "native", Version: version}, Mode: "rr",
				Protocol: "tcp", MessageBytes: &size, DurationSeconds: 2, ReportedAs: "rtt", Definition: "rtt",
				Metrics: []result.Metric{{Name: "rtt", Stat: "p50", Unit: "s", Value: value}},
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
