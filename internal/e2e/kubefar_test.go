//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/kits/kubetest"
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

// TestKubernetesFarAway says how long trials of one second take if a round trip to the API server takes 200 ms more. A
// trial begins when its client may start, so the start of a server can count for the trial before: all together, they
// take less than three round trips more for each trial. It runs on request (NEARFAR_FAR=1): TestRoundTripsOfATrial
// counts the round trips.
func TestKubernetesFarAway(t *testing.T) {
	if os.Getenv("NEARFAR_FAR") == "" {
		t.Skip("set NEARFAR_FAR=1")
	}
	r := newKubeRig(t, kubetest.Options{})
	const far = 200 * time.Millisecond
	var each []float64
	for _, more := range []time.Duration{0, far} {
		r.forward.RoundTrip(more)
		a := r.start(strings.ReplaceAll(farTrials, "TOOLS", "{image: "+kubetest.Tools+", resources: {}}")).answer(t)
		took := map[string][]float64{}
		all := trials(t, a)
		for i := range all[1:] {
			took[all[i].Workload] = append(took[all[i].Workload], all[i+1].Started.Sub(all[i].Started).Seconds())
		}
		sum := 0.0
		for workload, values := range took {
			median := stats.Summarize(values).Median.Value
			sum += median / float64(len(took))
			t.Logf("%v more: a trial of %s takes %.2f s (median of %d)", more, workload, median, len(values))
		}
		t.Logf("%v more: a trial takes %.2f s on average over workloads", more, sum)
		each = append(each, sum)
	}
	if added := each[1] - each[0]; added >= 3*far.Seconds() {
		t.Errorf("a trial takes %.2f s longer if a round trip takes %v longer", added, far)
	}
}
