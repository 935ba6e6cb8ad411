//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"nearfar/internal/conclude/answer"
)

// TestDelayIsFound measures wires whose delay is known. The baseline is a wire without delay, so that the arms differ
// in the delay alone.
//
// The interval must contain twice the delay within 5 us. A machine with busy neighbours can only add to the round trip,
// and adds more when a host's caches have longer to go cold, so the upper tolerance is 2 % wider.
//
// Ten blocks: with them the interval is from the second to the ninth of the paired differences, so that one disturbed
// trial in an arm does not decide.
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
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 200ms, warmup: 100ms}
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
			t.Logf("%s costs %.2f us [%.2f, %.2f], want %.0f",
				l.Layer, l.Cost*1e6, l.Interval[0]*1e6, l.Interval[1]*1e6, truth*1e6)
			const tolerance = 5e-6
			if l.Interval[1] < truth-tolerance || l.Interval[0] > 1.02*truth+tolerance {
				wrong = append(wrong,
					fmt.Sprintf("%s: [%g, %g], want %g", l.Layer, l.Interval[0], l.Interval[1], truth))
			}
		}
		for layer := range truths {
			t.Errorf("no cost of %s in %+v", layer, a.Layers)
		}
		return wrong
	})
}

// TestRateIsFound measures the goodput of TCP through a wire of 1 Gbit/s. 1448 of each 1514 bytes on the wire belong to
// the application: the MTU of 1500, less 20 for IP, 20 for TCP and 12 for its timestamps, plus 14 for the Ethernet
// header.
//
// Other work on the machine lowers goodput, so the best trial of a workload must reach the truth. A trial can also
// exceed it: bytes that wait in the receiver's buffer when the window begins count in the window. Linux lets that be up
// to 32 MiB, and the window of a second carries 119 MB. That can happen in one trial but not in all, so the lowest
// trial must not exceed the truth. The first attempt has one trial of each workload, and the later ones have three.
func TestRateIsFound(t *testing.T) {
	truth := 1e9 * 1448 / 1514
	wantTruth(t, `
nearfar: v1
name: rate
arms:
  gigabit: {lab: {path: [{wire: {rate: 1Gbit/s}}]}}
workloads:
  - {name: native, tool: native, mode: stream, duration: 1s, warmup: 500ms}
  - {name: iperf3, tool: iperf3, duration: 1s, warmup: 1s}
schedule: {blocks: 3, seed: 1}
`, func(a answer.Answer) (wrong []string) {
		got := map[string][]float64{}
		for _, tr := range trials(t, a) {
			goodput, _ := tr.Value("goodput", "")
			got[tr.Workload] = append(got[tr.Workload], goodput)
			t.Logf("%s: %.1f Mbit/s, want %.1f: %+.2f %%", tr.Workload, goodput/1e6, truth/1e6, 100*(goodput/truth-1))
		}
		if len(got) != 2 {
			t.Fatalf("trials of %d workloads, want 2", len(got))
		}
		for workload, all := range got {
			if best := slices.Max(all); best < 0.97*truth {
				wrong = append(wrong, fmt.Sprintf("%s: the best of %d trials has %g bit/s, want %g within 3 %%",
					workload, len(all), best, truth))
			}
			if least := slices.Min(all); least > 1.01*truth {
				wrong = append(wrong, fmt.Sprintf("%s: the lowest of %d trials has %g bit/s, on a wire of %g",
					workload, len(all), least, truth))
			}
		}
		return wrong
	}, "--blocks", "1")
}
