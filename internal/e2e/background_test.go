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
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 1s, warmup: 200ms}
  - {name: rr-loaded, tool: native, mode: rr, request: 64B, duration: 1s, warmup: 200ms, background: {connections: 2, direction: upload, congestion: reno}}
  - {name: netperf-loaded, tool: netperf, mode: rr, duration: 1s, background: {direction: download, congestion: reno}}
  - {name: load-loaded, tool: native, mode: load, rate: 500/s, duration: 1s, warmup: 200ms, background: {congestion: reno}}
schedule: {blocks: 3, seed: 1}
`

// A stream that fills a line of 100 Mbit/s makes round trips over it wait in its queue, and the figures of both are in the
// trial. 1448 of each 1514 bytes on the wire are the stream's own.
//
// Of rr the mean is judged: in a millisecond in which the queue is empty it makes more round trips than in a second in which
// it is full, and they are then the median. A load sends at its rate all the time.
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
		if waited < 2*idle {
			t.Errorf("%s: %g s, and alone it is %g s: it did not wait for the stream", workload, waited, idle)
		}
		if goodput < full/4 || goodput > 1.02*full {
			t.Errorf("%s: the background's goodput is %g bit/s on a line that carries %g", workload, goodput, full)
		}
	}
	if waited := loaded["load-loaded"]; waited < idle+500e-6 {
		t.Errorf("the load waited %g s, and alone a round trip takes %g s", waited, idle)
	}
	for _, tr := range trials(t, a) {
		_, there := tr.ScopedValue("goodput", "", "background")
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
		if loaded := strings.HasSuffix(tr.Workload, "loaded"); there != loaded || (files > 0) != loaded || (len(tr.Commands) == 4) != loaded {
			t.Errorf("%s: goodput of a background %v, %d files of it, commands %q", tr.Workload, there, files, tr.Commands)
		}
	}
}

// The plan shows the background's commands too.
func TestPlanShowsTheBackground(t *testing.T) {
	dir := workspace(t)
	printed := string(nearfar(t, dir, nil, "run", "--dry-run", write(t, dir, loadedLine)))
	for _, command := range []string{"nearfar engine rr ", "nearfar engine stream ", "--connections 2 --congestion reno --interval ", "--direction download --congestion reno", "netperf -H"} {
		if !strings.Contains(printed, command) {
			t.Errorf("no %q in:\n%s", command, printed)
		}
	}
}
