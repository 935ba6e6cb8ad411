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

	"github.com/jackc/pgx/v5"

	"nearfar/internal/export/pythontest"
	"nearfar/internal/history/postgrestest"
	"nearfar/internal/rundir"
	"nearfar/internal/rundir/rundirtest"
)

// overlay is the experiment of the pages, made short: its arms and its workload have the names that the commands speak of.
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

// finishedRun measures it, and gives the run directory.
func finishedRun(t *testing.T) string {
	t.Helper()
	a := measure(t, overlay)
	wantNoFailures(t, a)
	return a.Run
}

// stages are what the pages' blocks find when they are run: for each page what prepares the directory, runs the blocks in order,
// and looks at what is left.
func stages() map[string]func(*stage) {
	return map[string]func(*stage){
		"README.md":                  playReadme,
		"docs/blocks.md":             playBlocks,
		"docs/compare.md":            playCompare,
		"docs/engine.md":             playEngine,
		"docs/export.md":             playExport,
		"docs/first-run.md":          playFirstRun,
		"docs/history.md":            playHistory,
		"docs/import.md":             playImport,
		"docs/report.md":             playReport,
		"docs/serve.md":              playServe,
		"labs/congestion/README.md":  playCongestion,
		"labs/cpus/README.md":        playCPUs,
		"labs/ip-versions/README.md": playIPVersions,
		"labs/load/README.md":        playLoad,
		"labs/overlay/README.md":     playOverlay,
	}
}

// The names under which the pages speak of runs.
const (
	oneRun     = "runs/20261121T192200Z-overlay"
	anotherRun = "runs/20261128T190000Z-overlay"
)

func playReadme(s *stage) {
	// Short: the shortest that iperf3 knows, once.
	s.instead("duration: 500ms", "duration: 100ms, warmup: 20ms")
	s.instead("duration: 2s", "duration: 1s")
	s.instead("blocks: 12", "blocks: 1")
	s.instead("nearfar run firewall.yaml", "nearfar run --force firewall.yaml")
	s.instead("--watch firewall.yaml", "--watch --force firewall.yaml")
	s.place("runs/A", "runs/B", "runs/killed")
	s.kill("runs/killed")
	s.instead("runs/...", "runs/killed")
	s.instead("'rr rtt.p99", "'rr-1k rtt.p99") // as the workload of the finished run is called
	s.record("labs/zones/published/across-zones.txt", "old-results/zones.txt")
	s.record("internal/tool/testdata/iperf3/3.12/tcp.txt", "old-results/iperf3.txt")
	s.instead("engine serve ", "engine serve --listen 127.0.0.1:0 ") // the port may be taken
	s.all()
	run, err := rundir.Open(filepath.Join(s.dir, "runs/killed"))
	if err != nil {
		s.t.Fatal(err)
	}
	if got := run.Manifest().State; got != rundir.Complete {
		s.t.Errorf("the run that was gone on with is %s", got)
	}
}

func playCompare(s *stage) {
	s.place(oneRun, anotherRun, "runs/old-1", "runs/old-2", "runs/old-3", "runs/new-1", "runs/new-2", "runs/new-3")
	s.instead(oneRun+":l2/rr-4k", anotherRun+":l2/rr-1k") // the finished run has one workload
	s.record("labs/zones/published/availability-set.txt", "before.txt")
	s.record("labs/zones/published/across-zones.txt", "after.txt")
	// The output alone does not tell the message size.
	s.save("sockperf.txt", "$ sockperf ping-pong -i 127.0.0.1 -p 22112 --tcp -m 1024 -t 1\n"+s.source("internal/tool/testdata/sockperf/3.7/pp-tcp-half.txt"))
	s.next()
	s.next("B against A, in", "Differences: B less A, paired within blocks", "  rr-1k, rtt p50 in us\n",
		"Distributions: quantiles, median over trials", "  rr-1k, routed, rtt in us\n", "relative  pooled  pooled\n")
}

func playBlocks(s *stage) {
	s.record("labs/overlay/experiment.yaml", "labs/overlay/experiment.yaml")
	s.next()
	s.next("What it can show\n  7 comparisons need 9 blocks, the schedule has 12, in each workload and quantity.\n")
	s.place("runs/20261122T201453Z-overlay")
	s.next()
	if want := "if trials scatter as in runs/20261122T201453Z-overlay:\n"; !strings.Contains(s.printed, want) ||
		!strings.Contains(s.printed, "; 5% takes ") {
		s.t.Errorf("the dry run does not say what the plan can find:\n%s", s.printed)
	}
	s.next()
}

func playEngine(s *stage) {
	s.instead("serve --listen 192.0.2.2:7777", "serve --listen 127.0.0.1:0")
	s.next("the client needs: export NEARFAR_ENGINE_SECRET=")
	server := s.lasting[0]
	s.instead("export NEARFAR_ENGINE_SECRET=...", server.find(`export NEARFAR_ENGINE_SECRET=\S+`))
	s.instead("192.0.2.2:7777", server.find(`127\.0\.0\.1:[1-9]\d*`)+" --warmup 50ms")
	// Short.
	s.instead("engine rr", "engine rr --duration 200ms")
	s.instead("--rate", "--duration 200ms --rate")
	s.instead("1000/s:1s,5000/s:2s", "1000/s:100ms,5000/s:200ms")
	s.instead("--sweep 1000/s..64000/s", "--duration 200ms --sweep 8000/s..16000/s") // a p99 takes 1,000 requests
	s.all()
	if said := server.end(); strings.Count(said, ": done: ") < 5 {
		s.t.Errorf("the server does not speak of five sessions:\n%s", said)
	}
}

func playExport(s *stage) {
	s.place(oneRun, anotherRun)
	s.sql = func(query string) int {
		// The program runs what a page shows.
		s.save("query.md", "```sql\n"+query+"```\n")
		out := pythontest.Run(s.t, "../export/testdata/run_sql.py", filepath.Join(s.dir, "query.md"), s.dir)
		var rows int
		if _, err := fmt.Sscan(string(out), &rows); err != nil {
			s.t.Fatalf("%v in %s", err, out)
		}
		return rows
	}
	s.all()
	if text := s.saved("nearfar.prom"); !strings.HasSuffix(text, "# EOF\n") || !strings.Contains(text, "nearfar_rtt_seconds{") {
		s.t.Errorf("no OpenMetrics:\n%s", text)
	}
}

func playFirstRun(s *stage) {
	// Short, and the least that gives intervals.
	s.instead("duration: 500ms, warmup: 200ms", "duration: 100ms, warmup: 20ms")
	s.instead("blocks: 12", "blocks: 6")
	s.next("first is valid: What does a router add to a round trip?\n\nArms\n  near  bridge (baseline)\n  far   bridge, router\n",
		"\n1 comparison with near\n")
	s.next("Experiment first: 2 arms, 1 workloads, ", "\nOrder\n  block 1: far/rr near/rr\n  block 2: far/rr near/rr\n",
		"\nWhat it can show\n  1 comparison needs 6 blocks, the schedule has ")
	s.all()
	if text := s.saved("answer.json"); !strings.Contains(text, `"layer": "router"`) {
		s.t.Errorf("the answer says nothing of the router:\n%s", text)
	}
}

func playHistory(s *stage) {
	rundirtest.Fortnight(s.t, filepath.Join(s.dir, "runs"), "vxlan")
	s.next(slices.DeleteFunc(strings.Split(s.blocks[0].output, "\n"), func(line string) bool { return strings.TrimSpace(line) == "..." })...)
	address := postgrestest.Start(s.t)
	s.env = append(s.env, "PGPASSWORD="+postgrestest.Password)
	s.instead("postgres://nearfar@db.example/nearfar", "'"+address+"'")
	s.next()
	if !strings.Contains(s.printed, "copied 14 of 14 runs") || strings.Count(s.printed, "+18.6 %") < 2 {
		s.t.Errorf("the database does not have what was pushed:\n%s", s.printed)
	}
	s.sql = func(query string) int {
		connection, err := pgx.Connect(s.t.Context(), address)
		if err != nil {
			s.t.Fatal(err)
		}
		rows, err := connection.Query(s.t.Context(), query)
		if err != nil {
			s.t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := rows.Err(); err != nil {
			s.t.Error(err)
		}
		if err := connection.Close(s.t.Context()); err != nil {
			s.t.Error(err)
		}
		return n
	}
	s.next()
	if s.rows != 14 {
		s.t.Errorf("%d rows, want one for each of the 14 runs", s.rows)
	}
}

func playImport(s *stage) {
	s.record("internal/tool/testdata/ping/iputils-20221126/three.txt", "ping.txt")
	s.record("internal/tool/testdata/iperf3/3.12/tcp.json", "iperf3.json")
	s.record("labs/zones/published/across-zones.txt", "session.txt", "zones.txt")
	s.record("labs/zones/published/availability-set.txt", "set.txt")
	s.all()
}

func playReport(s *stage) {
	s.place(oneRun)
	s.save("experiment.yaml", briefly(overlay))
	s.instead("nearfar run ", "nearfar run --force ")
	s.all()
}

func playServe(s *stage) {
	s.save("experiment.yaml", briefly(overlay))
	s.instead("nearfar run --watch", "nearfar run --watch --force")
	s.next("nearfar: watch the run at http://127.0.0.1:")
	// The command that ssh starts on the other machine.
	s.instead("ssh -L 8080:127.0.0.1:8080 lab nearfar", "nearfar")
	s.instead("--listen 127.0.0.1:8080", "--listen 127.0.0.1:0") // the port may be taken
	s.next()
	s.place("runs/one", "srv/nearfar/runs/another")
	s.instead("/srv/nearfar/runs", filepath.Join(s.dir, "srv/nearfar/runs"))
	s.next()
	// What programs ask for, while a run goes on that does not end by itself.
	watched := s.start("nearfar run --watch --blocks 1000 experiment.yaml")
	at := watched.until(address)
	s.env = append(s.env, "ADDRESS="+at)
	s.following = func(events *process) {
		events.until(regexp.MustCompile(`event: trial`))
		watched.interrupt()
		events.until(regexp.MustCompile(`event: state`))
		// As a page does: until then the run waits for it, though not for long.
		if response, err := http.Get(at + "data.json"); err == nil {
			_ = response.Body.Close()
		}
	}
	s.next()
	if !strings.HasPrefix(s.printed, `"`) {
		s.t.Errorf("no verdict:\n%s", s.printed)
	}
	if code := watched.ended(); code != 130 {
		s.t.Errorf("exit code %d of a run that was interrupted", code)
	}
}

func playLoad(s *stage) {
	s.record("labs/load/experiment.yaml", "labs/load/experiment.yaml")
	s.shorten("labs/load/experiment.yaml", "duration: 1s, warmup: 300ms, background", "duration: 250ms, warmup: 50ms, background") // the least there is
	s.shorten("labs/load/experiment.yaml", "duration: 1s, warmup: 300ms", "duration: 100ms, warmup: 20ms")
	s.shorten("labs/load/experiment.yaml", "blocks: 12", "blocks: 1")
	s.instead("nearfar run ", "nearfar run --force ")
	s.all()
}

func playCongestion(s *stage) {
	s.record("labs/congestion/experiment.yaml", "labs/congestion/experiment.yaml")
	s.shorten("labs/congestion/experiment.yaml", "duration: 2s, warmup: 500ms", "duration: 300ms, warmup: 50ms")
	s.shorten("labs/congestion/experiment.yaml", "duration: 2s, warmup: 1s", "duration: 1s")
	s.shorten("labs/congestion/experiment.yaml", "blocks: 12", "blocks: 1")
	s.instead("nearfar run ", "nearfar run --force ")
	s.all()
}

func playCPUs(s *stage) {
	s.record("labs/cpus/experiment.yaml", "labs/cpus/experiment.yaml")
	s.shorten("labs/cpus/experiment.yaml", "duration: 500ms, warmup: 100ms", "duration: 100ms, warmup: 20ms")
	s.shorten("labs/cpus/experiment.yaml", "blocks: 12", "blocks: 1")
	s.instead("nearfar run ", "nearfar run --force ")
	s.all()
}

func playIPVersions(s *stage) {
	s.record("labs/ip-versions/experiment.yaml", "labs/ip-versions/experiment.yaml")
	s.shorten("labs/ip-versions/experiment.yaml", "duration: 500ms, warmup: 100ms", "duration: 100ms, warmup: 20ms")
	s.shorten("labs/ip-versions/experiment.yaml", "blocks: 12", "blocks: 1")
	s.instead("nearfar run ", "nearfar run --force ")
	s.all()
}

func playOverlay(s *stage) {
	s.record("labs/overlay/experiment.yaml", "labs/overlay/experiment.yaml")
	// netperf measures for a second at least: the workload is optional, and here it is left out.
	s.shorten("labs/overlay/experiment.yaml", "  - {name: netperf-1k, tool: netperf, mode: rr, protocol: tcp, request: 1024B, response: 1024B, duration: 1s, optional: true}\n", "")
	s.shorten("labs/overlay/experiment.yaml", "duration: 200ms, warmup: 50ms", "duration: 100ms, warmup: 20ms")
	s.shorten("labs/overlay/experiment.yaml", "blocks: 12", "blocks: 1")
	s.instead("nearfar run ", "nearfar run --force ")
	s.all()
}

// briefly leaves one block of an experiment.
func briefly(experiment string) string {
	return strings.Replace(experiment, "blocks: 7", "blocks: 1", 1)
}
