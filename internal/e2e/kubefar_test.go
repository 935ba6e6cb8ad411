//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"nearfar/internal/kubetest"
	"nearfar/internal/stats"
)

// farTrials are trials of one second between pods, with tools whose server ends by itself, and two whose server does
// not.
const farTrials = `
nearfar: v1
name: far
arms: {pods: {kubernetes: {client: TOOLS, server: TOOLS}}}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 900ms, warmup: 100ms}
  - {name: iperf3, tool: iperf3, protocol: udp, rate: 20Mbit/s, duration: 1s}
  - {name: sockperf, tool: sockperf, mode: rr, request: 64B, duration: 1s}
  - {name: netperf, tool: netperf, mode: rr, request: 64B, duration: 1s}
schedule: {blocks: 5, seed: 1}
`

// TestKubernetesFarAway says how long trials of one second take if a round trip to the API server takes 200 ms more. It
// runs on request (NEARFAR_FAR=1): TestRoundTripsOfATrial counts the round trips.
func TestKubernetesFarAway(t *testing.T) {
	if os.Getenv("NEARFAR_FAR") == "" {
		t.Skip("set NEARFAR_FAR=1")
	}
	r := newKubeRig(t, kubetest.Options{})
	for _, more := range []time.Duration{0, 200 * time.Millisecond} {
		r.forward.RoundTrip(more)
		a := r.start(strings.ReplaceAll(farTrials, "TOOLS", "{image: "+kubetest.Tools+", resources: {}}")).answer(t)
		took := map[string][]float64{}
		all := trials(t, a)
		for i := range all[1:] {
			took[all[i].Workload] = append(took[all[i].Workload], all[i+1].Started.Sub(all[i].Started).Seconds())
		}
		for workload, values := range took {
			t.Logf("%v more: a trial of %s takes %.2f s (median of %d)", more, workload,
				stats.Summarize(values).Median.Value, len(values))
		}
	}
}
