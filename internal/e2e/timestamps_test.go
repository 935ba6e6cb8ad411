//go:build linux

package e2e

import (
	"math"
	"testing"

	"nearfar/internal/declare/result"
)

// TestPartsInTheLab: over a bridge between two namespaces the kernel's timestamps divide each trial's round trip into
// parts, and the parts add up to the round trip.
func TestPartsInTheLab(t *testing.T) {
	a := measure(t, `
nearfar: v1
name: parts
arms:
  l2: {lab: {path: [bridge]}}
workloads:
  - {name: tcp, tool: native, mode: rr, protocol: tcp, request: 64B, timestamps: true, duration: 300ms, warmup: 200ms}
  - {name: udp, tool: native, mode: rr, protocol: udp, request: 64B, timestamps: true, duration: 300ms, warmup: 200ms}
schedule: {blocks: 2, seed: 1}
`)
	wantNoFailures(t, a)
	for _, trial := range trials(t, a) {
		mean := map[string]float64{}
		for _, m := range trial.Metrics {
			if m.Name == result.RTT && m.Stat == result.Mean {
				mean[m.Scope] = m.Value
			}
		}
		parts := []string{"client", "network", "server-stack", "server-application"}
		sum := 0.0
		for _, part := range parts {
			if mean[part] <= 0 {
				t.Errorf("%s: no part %s in %v; notes: %v", trial.Workload, part, mean, trial.Notes)
			}
			sum += mean[part]
		}
		for _, fact := range []string{"timestamps_hardware", "server.timestamps_hardware"} {
			if want := "none: eth0 does not stamp both ways in hardware"; trial.Facts[fact] != want {
				t.Errorf("%s: %s is %q; a veth has software timestamps only", trial.Workload, fact, trial.Facts[fact])
			}
		}
		if apart := sum - mean[""]; math.Abs(apart) > 1e-6 {
			t.Errorf("%s: the parts add up to %.3f us, the round trip takes %.3f",
				trial.Workload, sum*1e6, mean[""]*1e6)
		}
		t.Logf("%s: %.2f us = client %.2f + network %.2f + server stack %.2f + server application %.2f", trial.Workload,
			mean[""]*1e6, mean["client"]*1e6, mean["network"]*1e6,
			mean["server-stack"]*1e6, mean["server-application"]*1e6)
		t.Logf("  sum less round trip %s, divided %s, overhead %s (p50 %s with timestamps, %s without)",
			trial.Facts["timestamps_sum_minus_rtt"], trial.Facts["timestamps_divided"],
			trial.Facts["timestamps_overhead"],
			trial.Facts["timestamps_rtt_p50_with"], trial.Facts["timestamps_rtt_p50_without"])
	}
}
