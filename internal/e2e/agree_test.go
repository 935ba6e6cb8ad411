//go:build linux

package e2e

import (
	"fmt"
	"math"
	"testing"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
)

// TestToolsAgree: the native engine and other tools must report the same round trip and the same goodput of one path,
// with their trials interleaved. wantTruth tries three times: first with one trial of each tool, and then with the
// medians of three trials, which tolerate a disturbed one.
//
// The path has a delay and a rate, so that both figures are properties of the path. On a path without them they are
// properties of the hosts and of what each tool does between its system calls, and tools may differ.
func TestToolsAgree(t *testing.T) {
	wantTruth(t, `
nearfar: v1
name: agree
arms:
  far: {lab: {path: [bridge, {wire: {delay: 50us, rate: 1Gbit/s}}]}}
workloads:
  - {name: native-rr, tool: native, mode: rr, request: 64B, duration: 500ms, warmup: 200ms}
  - {name: sockperf-rr, tool: sockperf, mode: rr, request: 64B, duration: 1s}
  - {name: netperf-rr, tool: netperf, mode: rr, request: 64B, response: 64B, duration: 1s}
  - {name: native-stream, tool: native, mode: stream, duration: 1s, warmup: 500ms}
  - {name: iperf3-stream, tool: iperf3, mode: stream, duration: 1s, warmup: 1s}
schedule: {blocks: 3, seed: 1}
`, func(a answer.Answer) (wrong []string) {
		figure := func(workload, metric, stat string) float64 { return median(t, a, "far", workload, metric, stat) }
		goodput := func(workload string) float64 { return figure(workload, "goodput", "") }
		mean := meanOfTrials(t, a, "far", "native-rr")
		native := figure("native-rr", "rtt", "p50")
		for _, c := range []struct {
			what         string
			ours, theirs float64
		}{
			{"rr p50, native and sockperf", native, figure("sockperf-rr", "rtt", "p50")},
			// netperf reports a mean, so it is compared with the mean of native.
			{"rr mean, native and netperf", mean, figure("netperf-rr", "rtt", "mean")},
			{"goodput, native and iperf3", goodput("native-stream"), goodput("iperf3-stream")},
		} {
			t.Logf("%s: %g and %g, ratio %.3f", c.what, c.ours, c.theirs, c.ours/c.theirs)
			if math.Abs(c.ours/c.theirs-1) > 0.10 {
				wrong = append(wrong, fmt.Sprintf("%s differ by more than 10 %%: %g and %g", c.what, c.ours, c.theirs))
			}
		}
		return wrong
	}, "--blocks", "1")
}

// meanOfTrials returns the median over an arm's trials of the mean round trip.
func meanOfTrials(t *testing.T, a answer.Answer, arm, workload string) float64 {
	t.Helper()
	var means []float64
	for _, tr := range trials(t, a) {
		if v, ok := tr.Value("rtt", "mean"); ok && tr.Arm == arm && tr.Workload == workload {
			means = append(means, v)
		}
	}
	return stats.Summarize(means).Median.Value
}
