//go:build linux

package e2e

import (
	"testing"
)

// Ground truth: wires whose delay is known. A wire of no delay is still a wire, so that arms differ by the delay alone.
//
// The interval holds twice the delay within 5 us. A machine with busy neighbours can only add to it, the more the longer a
// host's caches have time to go cold, so the test leaves 2 % more above.
func TestDelayIsFound(t *testing.T) {
	a := measure(t, `
nearfar: v1
name: delay
baseline: w0
arms:
  w0: {lab: {path: [{wire: {delay: 0s}}]}}
  w50: {lab: {path: [{wire: {delay: 50us}}]}}
  w200: {lab: {path: [{wire: {delay: 200us}}]}}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 500ms, warmup: 200ms}
schedule: {blocks: 10, seed: 1}
`)
	wantNoFailures(t, a)
	truths := map[string]float64{"wire(delay=50us)": 100e-6, "wire(delay=200us)": 400e-6}
	for _, l := range a.Layers {
		truth, ok := truths[l.Layer]
		if !ok {
			continue
		}
		delete(truths, l.Layer)
		if l.Interval == nil {
			t.Fatalf("%s has no interval", l.Layer)
		}
		t.Logf("%s costs %.2f us [%.2f, %.2f], and should %.0f", l.Layer, l.Cost*1e6, l.Interval[0]*1e6, l.Interval[1]*1e6, truth*1e6)
		const tolerance = 5e-6
		if l.Interval[1] < truth-tolerance || l.Interval[0] > 1.02*truth+tolerance {
			t.Errorf("%s: [%g, %g], want %g", l.Layer, l.Interval[0], l.Interval[1], truth)
		}
	}
	for layer := range truths {
		t.Errorf("no cost of %s in %+v", layer, a.Layers)
	}
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
