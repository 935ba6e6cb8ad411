//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/declare/rundir/rundirtest"
	"nearfar/internal/kits/pythontest"
)

// overlay is a short form of the experiment that the pages use: its arms and its workload have the names that the
// commands use.
const overlay = `
nearfar: v1
name: overlay
question: How much round-trip time do routing and VXLAN add between two VMs?
baseline: l2
arms:
  l2: {lab: {path: [bridge]}}
  routed: {lab: {path: [bridge, router, bridge]}}
  vxlan: {lab: {path: [vtep, bridge, router, bridge, vtep]}}
workloads:
  - {name: rr-1k, tool: native, mode: rr, request: 1024B, response: 1024B, duration: 150ms, warmup: 20ms}
schedule: {blocks: 7, seed: 1}
`

// finishedRun runs it and returns the run directory. The pages judge p99 of each trial. On a busy machine a trial can
// have too few round trips for that; then the run is made again, with longer trials.
func finishedRun(t *testing.T) string {
	t.Helper()
	for attempt := 1; ; attempt++ {
		a := measure(t, strings.ReplaceAll(overlay, "150ms", fmt.Sprintf("%dms", 150*attempt*attempt)))
		wantNoFailures(t, a)
		all := trials(t, a)
		without := slices.IndexFunc(all, func(tr result.Trial) bool {
			_, ok := tr.Value(result.RTT, result.P99)
			return !ok
		})
		if without < 0 {
			return a.Run
		}
		if attempt == attempts {
			t.Fatalf("trial %d has no p99 after %d attempts", all[without].Trial, attempts)
		}
	}
}

// pageRuns has a function for each page: it prepares the directory, runs the blocks in order, and checks the results.
func pageRuns() map[string]func(*pageRun) {
	return map[string]func(*pageRun){
		"README.md":                  runReadme,
		"docs/blocks.md":             runBlocks,
		"docs/compare.md":            runCompare,
		"docs/engine.md":             runEngine,
		"docs/captures.md":           runCaptures,
		"docs/export.md":             runExport,
		"docs/first-run.md":          runFirstRun,
		"docs/history.md":            runHistory,
		"docs/import.md":             runImport,
		"docs/report.md":             runReport,
		"docs/serve.md":              runServe,
		"labs/congestion/README.md":  runCongestion,
		"labs/cpus/README.md":        runCPUs,
		"labs/ip-versions/README.md": runIPVersions,
		"labs/load/README.md":        runLoad,
		"labs/overlay/README.md":     runOverlay,
		"labs/own-service/README.md": runOwnService,
		"labs/web-sql/README.md":     runWebSQL,
	}
}

// The run directories that the pages name.
const (
	oneRun     = "runs/20261121T192200Z-overlay"
	anotherRun = "runs/20261128T190000Z-overlay"
)

func runReadme(r *pageRun) {
	// One block, with the shortest duration that iperf3 accepts. A TCP stream would take all CPUs.
	r.instead("duration: 500ms", "duration: 100ms, warmup: 20ms")
	r.instead("tool: iperf3, duration: 2s", "tool: iperf3, protocol: udp, rate: 20Mbit/s, duration: 1s")
	r.instead("blocks: 12", "blocks: 1")
	r.instead("nearfar run experiment.yaml", "nearfar run --force --blocks 1 experiment.yaml")
	r.instead("nearfar run firewall.yaml", "nearfar run --force firewall.yaml")
	r.instead("nearfar baseline firewall.yaml", "nearfar baseline --force --blocks 2 firewall.yaml")
	r.instead("--watch firewall.yaml", "--watch --force firewall.yaml")
	r.place("runs/A", "runs/B", "runs/killed")
	r.kill("runs/killed")
	r.instead("runs/...", "runs/killed")
	r.instead("'rr rtt.p99", "'rr-1k rtt.p99") // the workload of the finished run
	r.record("labs/zones/published/across-zones.txt", "old-results/zones.txt")
	r.record("internal/measure/tool/testdata/iperf3/3.12/tcp.txt", "old-results/iperf3.txt")
	r.instead("engine serve ", "engine serve --listen 127.0.0.1:0 ") // the port may be taken
	r.all()
	run, err := rundir.Open(filepath.Join(r.dir, "runs/killed"))
	if err != nil {
		r.t.Fatal(err)
	}
	if got := run.Manifest().State; got != rundir.Complete {
		r.t.Errorf("the resumed run is %s", got)
	}
}

func runCompare(r *pageRun) {
	r.place(oneRun, anotherRun, "runs/old-1", "runs/old-2", "runs/old-3", "runs/new-1", "runs/new-2", "runs/new-3")
	r.instead(oneRun+":l2/rr-4k", anotherRun+":l2/rr-1k") // the finished run has one workload
	r.record("labs/zones/published/availability-set.txt", "before.txt")
	r.record("labs/zones/published/across-zones.txt", "after.txt")
	// The message size is in the command line only.
	r.save("sockperf.txt", "$ sockperf ping-pong -i 127.0.0.1 -p 22112 --tcp -m 1024 -t 1\n"+
		r.source("internal/measure/tool/testdata/sockperf/3.7/pp-tcp-half.txt"))
	r.next()
	// Noise can hide the difference of a short run, and make numbers so wide that columns are left out.
	r.next("With routed, ", "Differences: B less A, paired within blocks", "  rr-1k, rtt p50 in us\n",
		"Distributions: quantiles, median over trials", "  rr-1k, routed, rtt in us\n", "  quantile ")
}

func runBlocks(r *pageRun) {
	r.record("labs/overlay/experiment.yaml", "labs/overlay/experiment.yaml")
	r.next()
	r.next("What it can show\n  7 comparisons need 9 blocks, the schedule has 12, in each workload and quantity.\n")
	r.place("runs/20261122T201453Z-overlay")
	r.next()
	want := "if trials scatter as in runs/20261122T201453Z-overlay:\n"
	if !strings.Contains(r.printed, want) || !strings.Contains(r.printed, "; 5% takes ") {
		r.t.Errorf("the dry run does not say what the plan can find:\n%s", r.printed)
	}
	r.next()
}

func runEngine(r *pageRun) {
	r.instead("serve --listen 192.0.2.2:7777", "serve --listen 127.0.0.1:0")
	r.next("the client needs: export NEARFAR_ENGINE_SECRET=")
	server := r.lasting[0]
	r.instead("export NEARFAR_ENGINE_SECRET=...", server.find(`export NEARFAR_ENGINE_SECRET=\S+`))
	r.instead("192.0.2.2:7777", server.find(`127\.0\.0\.1:[1-9]\d*`)+" --warmup 50ms")
	r.instead("engine rr", "engine rr --duration 200ms")
	r.instead("--rate", "--duration 200ms --rate")
	r.instead("1000/s:1s,5000/s:2s", "1000/s:100ms,5000/s:200ms")
	r.instead("--sweep 1000/s..64000/s", "--duration 200ms --sweep 8000/s..16000/s") // a p99 needs 1,000 requests
	r.all()
	if said := server.end(); strings.Count(said, ": done: ") < 5 {
		r.t.Errorf("the server does not report five sessions:\n%s", said)
	}
}

func runExport(r *pageRun) {
	r.place(oneRun, anotherRun)
	r.sql = func(query string) int {
		// run_sql.py runs the SQL of a page.
		r.save("query.md", "```sql\n"+query+"```\n")
		out := pythontest.Run(r.t, "../show/export/testdata/run_sql.py", filepath.Join(r.dir, "query.md"), r.dir)
		var rows int
		if _, err := fmt.Sscan(string(out), &rows); err != nil {
			r.t.Fatalf("%v in %s", err, out)
		}
		return rows
	}
	r.all()
	text := r.saved("openmetrics.txt")
	if !strings.HasSuffix(text, "# EOF\n") || !strings.Contains(text, "nearfar_rtt_seconds{") {
		r.t.Errorf("no OpenMetrics:\n%s", text)
	}
	text = r.saved("nearfar.prom")
	if strings.Contains(text, "# EOF") || !strings.Contains(text, "nearfar_rtt_seconds{") {
		r.t.Errorf("no text for Prometheus:\n%s", text)
	}
}

func runFirstRun(r *pageRun) {
	// Six blocks are the fewest that give intervals.
	r.instead("duration: 500ms, warmup: 200ms", "duration: 100ms, warmup: 20ms")
	r.instead("blocks: 12", "blocks: 6")
	r.next("first is valid: What does a router add to a round trip?\n\n"+
		"Arms\n  near  bridge (baseline)\n  far   bridge, router\n", "\n1 comparison with near\n")
	r.next("Experiment first: 2 arms, 1 workloads, ",
		"\nOrder\n  block 1: far/rr near/rr\n  block 2: far/rr near/rr\n",
		"\nWhat it can show\n  1 comparison needs 6 blocks, the schedule has ")
	r.all()
	if text := r.saved("answer.json"); !strings.Contains(text, `"layer": "router"`) {
		r.t.Errorf("the answer does not name the router:\n%s", text)
	}
}

func runHistory(r *pageRun) {
	rundirtest.TwentyNights(r.t, filepath.Join(r.dir, "runs"), "vxlan")
	r.next(slices.DeleteFunc(strings.Split(r.blocks[0].output, "\n"), func(line string) bool {
		return strings.TrimSpace(line) == "..."
	})...)
	r.instead("/srv/runs", "runs")
	r.next()
	if strings.Count(r.printed, "+18.") < 2 {
		r.t.Errorf("the folder's history has no change:\n%s", r.printed)
	}
}

func runImport(r *pageRun) {
	r.record("internal/measure/tool/testdata/ping/iputils-20221126/three.txt", "ping.txt")
	r.record("internal/measure/tool/testdata/iperf3/3.12/tcp.json", "iperf3.json")
	r.record("labs/zones/published/across-zones.txt", "session.txt", "zones.txt")
	r.record("labs/zones/published/availability-set.txt", "set.txt")
	r.all()
}

func runCaptures(r *pageRun) {
	for _, name := range []string{"client.pcap", "a-before.pcap", "a-behind.pcap", "b.pcapng"} {
		r.record("internal/measure/recordings/captures/testdata/vtep/"+name, name)
	}
	// The files are the same each time, and so is every line.
	shown := r.blocks[slices.IndexFunc(r.blocks, block.runs)].output
	r.next(strings.Split(strings.TrimSpace(shown), "\n")...)
	r.all()
}

func runReport(r *pageRun) {
	r.place(oneRun)
	r.save("experiment.yaml", briefly(overlay))
	r.instead("nearfar run ", "nearfar run --force ")
	r.all()
}

func runServe(r *pageRun) {
	r.save("experiment.yaml", briefly(overlay))
	r.instead("nearfar run --watch", "nearfar run --watch --force")
	r.next("nearfar: watch the run at http://127.0.0.1:")
	// Without ssh, only the command that it would start on the other machine.
	r.instead("ssh -L 8080:127.0.0.1:8080 lab nearfar", "nearfar")
	r.instead("--listen 127.0.0.1:8080", "--listen 127.0.0.1:0") // the port may be taken
	r.next()
	r.place("runs/one", "srv/nearfar/runs/another")
	r.instead("/srv/nearfar/runs", filepath.Join(r.dir, "srv/nearfar/runs"))
	r.next()
	// The addresses for programs, during a run that does not end by itself.
	watched := r.start("nearfar run --watch --blocks 1000 experiment.yaml")
	at := watched.until(address)
	r.env = append(r.env, "ADDRESS="+at)
	r.following = func(events *process) {
		events.until(regexp.MustCompile(`event: trial`))
		watched.interrupt()
		events.until(regexp.MustCompile(`event: state`))
		// The HTML page fetches the data too; the run waits a short time for it.
		if response, err := http.Get(at + "data.json"); err == nil {
			_ = response.Body.Close()
		}
	}
	r.next()
	if !strings.HasPrefix(r.printed, `"`) {
		r.t.Errorf("no verdict:\n%s", r.printed)
	}
	if code := watched.ended(); code != 130 {
		r.t.Errorf("exit code %d of a run that was interrupted", code)
	}
}

func runLoad(r *pageRun) {
	r.lab("load",
		"duration: 1s, warmup: 300ms, background", "duration: 250ms, warmup: 50ms, background", // the shortest allowed
		"duration: 1s, warmup: 300ms", "duration: 100ms, warmup: 20ms")
}

func runCongestion(r *pageRun) {
	r.lab("congestion", "duration: 2s, warmup: 500ms", "duration: 300ms, warmup: 50ms",
		"duration: 2s, warmup: 1s", "duration: 1s")
}

func runCPUs(r *pageRun) {
	r.lab("cpus", "duration: 500ms, warmup: 100ms", "duration: 400ms, warmup: 50ms")
}

func runIPVersions(r *pageRun) {
	r.lab("ip-versions", "duration: 500ms, warmup: 100ms", "duration: 100ms, warmup: 20ms",
		"  - {name: netperf, tool: netperf, mode: rr, request: 64B, duration: 1s, optional: true}\n", "")
}

func runOverlay(r *pageRun) {
	r.lab("overlay", "duration: 200ms, warmup: 50ms", "duration: 100ms, warmup: 20ms",
		// netperf measures for a second at least. Its workload is optional, and left out here.
		"  - {name: netperf-1k, tool: netperf, mode: rr, protocol: tcp, request: 1024B, response: 1024B, "+
			"duration: 1s, optional: true}\n", "")
}

func runOwnService(r *pageRun) {
	r.save("my-service.yaml", ofLab(r.t, "own-service", "blocks: 12", "blocks: 1", "iterations: 30", "iterations: 20",
		"duration: 500ms, warmup: 100ms", "duration: 100ms, warmup: 20ms"))
	r.instead("nearfar run ", "nearfar run --force ")
	r.all()
}

func runWebSQL(r *pageRun) {
	needApp(r.t)
	r.lab("web-sql", "duration: 500ms", "duration: 300ms")
}

// lab runs all blocks of a lab's page with one block of its experiment, in which texts are replaced by others, in
// pairs.
func (r *pageRun) lab(name string, replaced ...string) {
	r.t.Helper()
	r.save("labs/"+name+"/experiment.yaml", ofLab(r.t, name, append(replaced, "blocks: 12", "blocks: 1")...))
	r.instead("nearfar run ", "nearfar run --force ")
	r.all()
}

// briefly reduces an experiment to one block.
func briefly(experiment string) string {
	return strings.Replace(experiment, "blocks: 7", "blocks: 1", 1)
}
