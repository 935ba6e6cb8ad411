//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const loadedLine = `
nearfar: v1
name: loaded
arms:
  line: {lab: {path: [{wire: {rate: 100Mbit/s}}]}}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 200ms, warmup: 100ms}
  - {name: rr-loaded, tool: native, mode: rr, request: 64B, duration: 1s, warmup: 200ms,
     background: {connections: 2, direction: upload, congestion: reno}}
  - {name: netperf-loaded, tool: netperf, mode: rr, duration: 1s, background: {direction: download, congestion: reno}}
  - {name: load-loaded, tool: native, mode: load, rate: 500/s, duration: 1s, warmup: 200ms,
     background: {congestion: reno}}
schedule: {blocks: 1, seed: 1}
`

// TestLatencyBesideABackground: a stream fills a line of 100 Mbit/s, so that round trips over the line wait in its
// queue, and the trial has the figures of both. 1448 of each 1514 bytes on the wire belong to the stream's application.
//
// The mean of rr is judged, not its median: while the queue is empty, a millisecond has more round trips than a second
// with a full queue, so the median may be a round trip that did not wait. A load sends at its rate all the time.
func TestLatencyBesideABackground(t *testing.T) {
	a := measure(t, loadedLine)
	wantNoFailures(t, a)
	idle := meanOfTrials(t, a, "line", "rr")
	loaded := map[string]float64{
		"rr-loaded":      meanOfTrials(t, a, "line", "rr-loaded"),
		"netperf-loaded": median(t, a, "line", "netperf-loaded", "rtt", "mean"),
		"load-loaded":    median(t, a, "line", "load-loaded", "response_time", "p50"),
	}
	const full = 100e6 * 1448 / 1514
	for workload, waited := range loaded {
		goodput := median(t, a, "line", workload, "goodput", "")
		t.Logf("%s: %.0f us beside %.1f Mbit/s; rr alone %.0f us", workload, waited*1e6, goodput/1e6, idle*1e6)
		// A full queue adds milliseconds.
		if waited < idle+500e-6 {
			t.Errorf("%s: %g s beside the stream, %g s alone: it did not wait in the queue", workload, waited, idle)
		}
		if goodput < full/2 || goodput > 1.02*full {
			t.Errorf("%s: the background's goodput is %g bit/s on a line that carries %g", workload, goodput, full)
		}
	}
	for _, tr := range trials(t, a) {
		_, measured := tr.ScopedValue("goodput", "", "background")
		files := 0
		for _, name := range tr.Raw {
			if !strings.Contains(name, ".background.") {
				continue
			}
			files++
			if _, err := os.Stat(filepath.Join(a.Run, name)); err != nil {
				t.Error(err)
			}
		}
		loaded := strings.HasSuffix(tr.Workload, "loaded")
		if measured != loaded || (files > 0) != loaded || (len(tr.Commands) == 4) != loaded {
			t.Errorf("%s: goodput of a background: %v, its files: %d, commands: %q",
				tr.Workload, measured, files, tr.Commands)
		}
	}
}

// TestPlanShowsTheBackground: --dry-run also prints the commands of the background.
func TestPlanShowsTheBackground(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	printed := string(nearfar(t, dir, nil, "run", "--dry-run", write(t, dir, loadedLine)))
	for _, command := range []string{"nearfar engine rr ", "nearfar engine stream ",
		"--connections 2 --congestion reno --interval ", "--direction download --congestion reno", "netperf -H"} {
		if !strings.Contains(printed, command) {
			t.Errorf("no %q in:\n%s", command, printed)
		}
	}
}
