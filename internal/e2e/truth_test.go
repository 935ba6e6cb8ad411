//go:build linux

package e2e

import (
	"fmt"
	"testing"
)

// Ground truth: wires whose delay is known. A wire of no delay is still a wire, so that arms differ by the delay alone.
//
// A process plays the wire where the kernel has no netem, and what else runs on the machine can only add to a delay. So
// one of three runs has to hold the truth within the tolerance, and none may be below it.
func TestDelayIsFound(t *testing.T) {
	const runs, tolerance = 3, 5e-6
	truths := map[string]float64{"wire(delay=50us)": 100e-6, "wire(delay=200us)": 400e-6}
	for run := 1; run <= runs; run++ {
		a := measure(t, fmt.Sprintf(`
nearfar: v1
name: delay
baseline: w0
arms:
  w0: {lab: {path: [{wire: {delay: 0s}}]}}
  w50: {lab: {path: [{wire: {delay: 50us}}]}}
  w200: {lab: {path: [{wire: {delay: 200us}}]}}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 500ms, warmup: 200ms}
schedule: {blocks: 10, seed: %d}
`, run))
		wantNoFailures(t, a)
		held := 0
		for _, l := range a.Layers {
			truth, ok := truths[l.Layer]
			if !ok {
				continue
			}
			if l.Interval == nil {
				t.Fatalf("%s has no interval", l.Layer)
			}
			t.Logf("run %d: %s costs %.2f us [%.2f, %.2f], and should %.0f", run, l.Layer, l.Cost*1e6, l.Interval[0]*1e6, l.Interval[1]*1e6, truth*1e6)
			if l.Interval[1] < truth-tolerance {
				t.Errorf("%s: [%g, %g] lies below %g", l.Layer, l.Interval[0], l.Interval[1], truth)
			}
			if l.Interval[0] <= truth+tolerance {
				held++
			}
		}
		if held == len(truths) {
			return
		}
	}
	t.Errorf("no run of %d held twice the delays within %g s", runs, float64(tolerance))
}

// Goodput of TCP through a wire of 1 Gbit/s: 1448 of each 1514 bytes on the wire are the application's (1500 of MTU less 20
// of IP, 20 of TCP and 12 of its timestamps; 14 of Ethernet header). What else runs on the machine can only take from that, so
// the best of the trials is held against it, and none may be much above (what waited in the receiver's buffer as the window
// began counts in it).
func TestRateIsFound(t *testing.T) {
	a := measure(t, `
nearfar: v1
name: rate
arms:
  gigabit: {lab: {path: [{wire: {rate: 1Gbit/s}}]}}
workloads:
  - {name: native, tool: native, mode: stream, duration: 2s, warmup: 500ms}
  - {name: iperf3, tool: iperf3, duration: 2s, warmup: 1s}
schedule: {blocks: 4, seed: 1}
`)
	wantNoFailures(t, a)
	truth := 1e9 * 1448 / 1514
	best := map[string]float64{}
	for _, tr := range trials(t, a) {
		got, _ := tr.Value("goodput", "")
		best[tr.Workload] = max(best[tr.Workload], got)
		t.Logf("%s: %.1f Mbit/s, and should %.1f: %+.2f %%", tr.Workload, got/1e6, truth/1e6, 100*(got/truth-1))
		if got > 1.05*truth {
			t.Errorf("%s: %g bit/s through a wire that carries %g", tr.Workload, got, truth)
		}
	}
	for workload, got := range best {
		if got < 0.97*truth {
			t.Errorf("%s: %g bit/s, want %g within 3 %%", workload, got, truth)
		}
	}
}
