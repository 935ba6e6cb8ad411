//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"nearfar/internal/answer"
)

// Ground truth: wires whose delay is known. A wire of no delay is still a wire, so that arms differ by the delay alone.
//
// The interval holds twice the delay within 5 us. A machine with busy neighbours can only add to it, the more the longer a
// host's caches have time to go cold, so the test leaves 2 % more above.
func TestDelayIsFound(t *testing.T) {
	wantTruth(t, `
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
`, func(a answer.Answer) (wrong []string) {
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
				wrong = append(wrong, fmt.Sprintf("%s: [%g, %g], want %g", l.Layer, l.Interval[0], l.Interval[1], truth))
			}
		}
		for layer := range truths {
			t.Errorf("no cost of %s in %+v", layer, a.Layers)
		}
		return wrong
	})
}

// Goodput of TCP through a wire of 1 Gbit/s: 1448 of each 1514 bytes on the wire are the application's (1500 of MTU less 20
// of IP, 20 of TCP and 12 of its timestamps; 14 of Ethernet header).
//
// What else runs on the machine takes from that, so the best of a workload's trials must reach it. It can add to it, too: what
// waits in the receiver's buffer as the window begins counts in the window, and Linux lets that be up to 32 MiB, where the window
// carries 239 MB. That can befall one trial and not all, so the least of them must not be above it.
func TestRateIsFound(t *testing.T) {
	truth := 1e9 * 1448 / 1514
	wantTruth(t, `
nearfar: v1
name: rate
arms:
  gigabit: {lab: {path: [{wire: {rate: 1Gbit/s}}]}}
workloads:
  - {name: native, tool: native, mode: stream, duration: 2s, warmup: 500ms}
  - {name: iperf3, tool: iperf3, duration: 2s, warmup: 1s}
schedule: {blocks: 4, seed: 1}
`, func(a answer.Answer) (wrong []string) {
		got := map[string][]float64{}
		for _, tr := range trials(t, a) {
			goodput, _ := tr.Value("goodput", "")
			got[tr.Workload] = append(got[tr.Workload], goodput)
			t.Logf("%s: %.1f Mbit/s, and should %.1f: %+.2f %%", tr.Workload, goodput/1e6, truth/1e6, 100*(goodput/truth-1))
		}
		if len(got) != 2 {
			t.Fatalf("trials of %d workloads, want 2", len(got))
		}
		for workload, all := range got {
			if best := slices.Max(all); best < 0.97*truth {
				wrong = append(wrong, fmt.Sprintf("%s: the best of %d trials has %g bit/s, want %g within 3 %%", workload, len(all), best, truth))
			}
			if least := slices.Min(all); least > 1.01*truth {
				wrong = append(wrong, fmt.Sprintf("%s: even the least of %d trials has %g bit/s, through a wire that carries %g", workload, len(all), least, truth))
			}
		}
		return wrong
	})
}
