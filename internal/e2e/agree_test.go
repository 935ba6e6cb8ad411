//go:build linux

package e2e

import (
	"fmt"
	"math"
	"testing"

	"nearfar/internal/answer"
	"nearfar/internal/stats"
)

// The native engine and the field's tools must agree on one path, interleaved over ten blocks.
//
// The path has a delay and a rate, so that a round trip and goodput are properties of the path. On a bare path they are those of
// the hosts: a stream is bound by the CPU, and a round trip of some microseconds holds what each tool itself does between its
// system calls, which on some processors is a tenth of it and more. That is logged and not held against anything.
func TestToolsAgree(t *testing.T) {
	wantTruth(t, `
nearfar: v1
name: agree
arms:
  far: {lab: {path: [bridge, {wire: {delay: 50us, rate: 1Gbit/s}}]}}
  bare: {lab: {path: [bridge]}}
workloads:
  - {name: native-rr, tool: native, mode: rr, request: 64B, duration: 1s, warmup: 400ms}
  - {name: sockperf-rr, tool: sockperf, mode: rr, request: 64B, duration: 1s}
  - {name: netperf-rr, tool: netperf, mode: rr, request: 64B, response: 64B, duration: 1s}
  - {name: native-stream, tool: native, mode: stream, duration: 1s, warmup: 1s}
  - {name: iperf3-stream, tool: iperf3, mode: stream, duration: 1s, warmup: 1s}
schedule: {blocks: 10, seed: 1}
`, func(a answer.Answer) (wrong []string) {
		for _, arm := range []string{"far", "bare"} {
			native := median(t, a, arm, "native-rr", "rtt", "p50")
			for _, c := range []struct {
				what         string
				ours, theirs float64
			}{
				{"rr p50, native and sockperf", native, median(t, a, arm, "sockperf-rr", "rtt", "p50")},
				// netperf reports a mean, so it is held against the mean of native.
				{"rr mean, native and netperf", meanOfTrials(t, a, arm, "native-rr"), median(t, a, arm, "netperf-rr", "rtt", "mean")},
				{"goodput, native and iperf3", median(t, a, arm, "native-stream", "goodput", ""), median(t, a, arm, "iperf3-stream", "goodput", "")},
			} {
				t.Logf("%s, %s: %g and %g, ratio %.3f", arm, c.what, c.ours, c.theirs, c.ours/c.theirs)
				if arm == "far" && math.Abs(c.ours/c.theirs-1) > 0.10 {
					wrong = append(wrong, fmt.Sprintf("%s, %s differ by more than 10 %%: %g and %g", arm, c.what, c.ours, c.theirs))
				}
			}
		}
		return wrong
	})
}

// meanOfTrials is the median over an arm's trials of their mean round trip.
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
