//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
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
		"README.md":              playReadme,
		"docs/compare.md":        playCompare,
		"docs/engine.md":         playEngine,
		"docs/export.md":         playExport,
		"docs/first-run.md":      playFirstRun,
		"docs/history.md":        playHistory,
		"docs/import.md":         playImport,
		"docs/report.md":         playReport,
		"docs/serve.md":          playServe,
		"labs/load/README.md":    playLoad,
		"labs/overlay/README.md": playOverlay,
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
	s.instead("blocks: 10", "blocks: 1")
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
	s.place(oneRun, anotherRun)
	s.record("labs/zones/published/availability-set.txt", "before.txt")
	s.record("labs/zones/published/across-zones.txt", "after.txt")
	// The output alone does not tell the message size.
	s.save("sockperf.txt", "$ sockperf ping-pong -i 127.0.0.1 -p 22112 --tcp -m 1024 -t 1\n"+s.source("internal/tool/testdata/sockperf/3.7/pp-tcp-half.txt"))
	s.next()
	s.next("B against A, in", "Differences: B less A, paired within blocks", "  rr-1k, rtt p50 in us\n",
		"Distributions: quantiles, median over trials", "  rr-1k, routed, rtt in us\n", "relative  pooled  pooled\n")
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
	s.instead("blocks: 8", "blocks: 6")
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
	s.all()
}

func playServe(s *stage) {
	s.save("experiment.yaml", briefly(overlay))
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
	s.shorten("labs/load/experiment.yaml", "blocks: 10", "blocks: 1")
	s.all()
}

func playOverlay(s *stage) {
	s.record("labs/overlay/experiment.yaml", "labs/overlay/experiment.yaml")
	// netperf measures for a second at least: the workload is optional, and here it is left out.
	s.shorten("labs/overlay/experiment.yaml", "  - {name: netperf-1k, tool: netperf, mode: rr, protocol: tcp, request: 1024B, response: 1024B, duration: 1s, optional: true}\n", "")
	s.shorten("labs/overlay/experiment.yaml", "duration: 400ms, warmup: 100ms", "duration: 100ms, warmup: 20ms")
	s.shorten("labs/overlay/experiment.yaml", "blocks: 10", "blocks: 1")
	s.all()
}

// briefly leaves one block of an experiment.
func briefly(experiment string) string {
	return strings.Replace(experiment, "blocks: 7", "blocks: 1", 1)
}

// stage is a directory in which the blocks of a page are run, one after the other.
type stage struct {
	t        *testing.T
	dir      string
	finished string
	env      []string
	// blocks are those that are left.
	blocks        []block
	substitutions []substitution
	// sql runs a query and gives how many rows it found, which rows is of the last one.
	sql  func(query string) int
	rows int
	// printed is what the commands of the last block printed.
	printed string
	// lasting are the servers that later commands ask; following goes on while a command follows events.
	lasting   []*process
	following func(events *process)
}

// substitution is what a page shows and what stands for it here.
type substitution struct {
	shown, here string
	met         bool
}

func newStage(t *testing.T, finished string, blocks []block) *stage {
	dir := workspace(t)
	return &stage{t: t, dir: dir, finished: finished, blocks: blocks, env: append(os.Environ(),
		"PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "LC_ALL=C")}
}

// instead says what stands for something that the page shows: an address, a place, a time that is too long for a test. It is an
// error when the page does not show it. What was said first is replaced first.
func (s *stage) instead(shown, here string) {
	s.substitutions = append(s.substitutions, substitution{shown: shown, here: here})
}

func (s *stage) substituted(text string) string {
	for i := range s.substitutions {
		u := &s.substitutions[i]
		u.met = u.met || strings.Contains(text, u.shown)
		text = strings.ReplaceAll(text, u.shown, u.here)
	}
	return text
}

// save writes a file of the stage, saved reads one.
func (s *stage) save(name, text string) {
	s.t.Helper()
	name = filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) saved(name string) string {
	s.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.dir, name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// source reads a file of the project.
func (s *stage) source(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// record puts a file of the project under the names that the page uses.
func (s *stage) record(name string, as ...string) {
	s.t.Helper()
	for _, other := range as {
		s.save(other, s.source(name))
	}
}

// shorten replaces something in a file of the stage.
func (s *stage) shorten(name, long, short string) {
	s.t.Helper()
	text := s.saved(name)
	if !strings.Contains(text, long) {
		s.t.Fatalf("%s does not say %q", name, long)
	}
	s.save(name, strings.ReplaceAll(text, long, short))
}

// place puts the finished run under the names that the page uses.
func (s *stage) place(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(s.dir, name), os.DirFS(s.finished)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// kill leaves a run as one is left that was killed while its last trial ran.
func (s *stage) kill(name string) {
	s.t.Helper()
	trials := strings.SplitAfter(s.saved(name+"/trials.jsonl"), "\n")
	s.save(name+"/trials.jsonl", strings.Join(trials[:len(trials)-2], "")) // after the last newline there is nothing
	s.shorten(name+"/run.json", `"state": "complete"`, `"state": "running"`)
}

// all runs the blocks that are left.
func (s *stage) all() {
	s.t.Helper()
	for slices.ContainsFunc(s.blocks, block.runs) {
		s.next()
	}
}

// next runs the next block, and saves the files that the page shows before it. Where the page shows what is printed, the fixed
// parts are what both must have.
func (s *stage) next(fixed ...string) {
	s.t.Helper()
	for {
		if len(s.blocks) == 0 {
			s.t.Fatal("the page has no more blocks to run")
		}
		b := s.blocks[0]
		s.blocks = s.blocks[1:]
		if b.file != "" {
			s.save(b.file, s.substituted(b.text))
		}
		if !b.runs() {
			continue
		}
		s.run(b)
		if b.output != "" && len(fixed) == 0 {
			s.t.Errorf("%v: nothing is held against what the page shows below", b)
		}
		for _, part := range fixed {
			if !strings.Contains(b.output, part) {
				s.t.Errorf("%v: the page does not show %q below:\n%s", b, part, b.output)
			}
			if !strings.Contains(s.printed, part) {
				s.t.Errorf("%v: %q is not in what was printed:\n%s", b, part, s.printed)
			}
		}
		return
	}
}

func (s *stage) run(b block) {
	s.t.Helper()
	s.printed = ""
	if b.language == "sql" {
		if s.sql == nil {
			s.t.Fatalf("%v: nothing runs SQL here", b)
		}
		if s.rows = s.sql(b.text); s.rows == 0 {
			s.t.Errorf("%v: the query finds nothing", b)
		}
		return
	}
	for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", "")) {
		line = s.substituted(strings.TrimSpace(line))
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "export "):
			s.env = append(s.env, strings.TrimPrefix(line, "export "))
		case strings.HasPrefix(line, "nearfar engine serve"):
			server := s.start(line)
			server.until(regexp.MustCompile(`serves on \S+`))
			s.lasting = append(s.lasting, server)
		case strings.HasPrefix(line, "nearfar serve"):
			server := s.start(line)
			s.opens(server)
			server.end()
		case strings.HasPrefix(line, "nearfar run --watch"):
			watched := s.start(line)
			s.opens(watched)
			if code := watched.ended(); code != 0 {
				s.t.Errorf("%v: %s: exit code %d\n%s", b, line, code, watched.said)
			}
		case strings.HasPrefix(line, "curl -sN"):
			events := s.start(line)
			s.following(events)
			if code := events.ended(); code != 0 {
				s.t.Errorf("%v: %s: exit code %d\n%s", b, line, code, events.said)
			}
		default:
			s.command(b, line)
		}
	}
}

// opens opens the page whose address the program prints.
func (s *stage) opens(p *process) {
	s.t.Helper()
	if code, body := ask(s.t, p.until(address)); code != http.StatusOK || !bytes.Contains(body, []byte("<html")) {
		s.t.Errorf("%s shows no page: %d\n%s", p.line, code, body)
	}
}

var (
	written  = regexp.MustCompile(` -o (\S+)`)
	printing = regexp.MustCompile(` (-f json|--json)\b`)
)

// command runs a command that ends by itself, and well. The file that -o names is there then, and what is to be JSON is JSON.
func (s *stage) command(b block, line string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = s.dir, s.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	s.printed += stdout.String() + stderr.String()
	if strings.HasPrefix(line, "nearfar gate") && strings.HasPrefix(stdout.String(), "Gate: FAILED") && cmd.ProcessState.ExitCode() == 3 {
		err = nil // on a busy machine the second run may be slower indeed
	}
	if err != nil {
		s.t.Errorf("%v: %s: %v\n%s%s", b, line, err, stdout.Bytes(), stderr.Bytes())
		return
	}
	text := stdout.String()
	if file := written.FindStringSubmatch(line); file != nil {
		text = s.saved(file[1])
	}
	if text == "" {
		s.t.Errorf("%v: %s: says nothing", b, line)
	}
	if printing.MatchString(line) && !json.Valid([]byte(text)) {
		s.t.Errorf("%v: %s: this is no JSON:\n%s", b, line, text)
	}
}

// close ends the servers, and sees that everything was run and every substitution was needed.
func (s *stage) close() {
	s.t.Helper()
	for _, p := range s.lasting {
		p.end()
	}
	for _, b := range s.blocks {
		if b.runs() {
			s.t.Errorf("%v was not run", b)
		}
	}
	for _, u := range s.substitutions {
		if !u.met {
			s.t.Errorf("the page does not show %q, which stands for %q", u.shown, u.here)
		}
	}
}

// process is a command that goes on until it is told to end, or until others have ended.
type process struct {
	s     *stage
	line  string
	cmd   *exec.Cmd
	lines chan string
	// said is what it has printed, as far as it was read.
	said string
}

// start starts it. Both its outputs are read.
func (s *stage) start(line string) *process {
	s.t.Helper()
	p := &process{s: s, line: line, lines: make(chan string, 100_000)}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p.cmd = exec.CommandContext(ctx, "sh", "-c", "exec "+line)
	p.cmd.Dir, p.cmd.Env = s.dir, s.env
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cancel()
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Wait()
		}
	})
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	return p
}

// until reads until a line has what is looked for, and gives that.
func (p *process) until(what *regexp.Regexp) string {
	p.s.t.Helper()
	for line := range p.lines {
		p.heard(line)
		if found := what.FindString(line); found != "" {
			return found
		}
	}
	p.s.t.Fatalf("%s ends without %v:\n%s", p.line, what, p.said)
	return ""
}

func (p *process) heard(line string) {
	p.said += line + "\n"
	p.s.printed += line + "\n"
}

// find gives a part of what it has said.
func (p *process) find(what string) string {
	p.s.t.Helper()
	found := regexp.MustCompile(what).FindString(p.said)
	if found == "" {
		p.s.t.Fatalf("%s does not say %s:\n%s", p.line, what, p.said)
	}
	return found
}

// interrupt is Ctrl-C.
func (p *process) interrupt() {
	p.s.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		p.s.t.Fatal(err)
	}
}

// ended waits for the end and gives the exit code.
func (p *process) ended() int {
	p.s.t.Helper()
	for line := range p.lines { // until it has closed its outputs
		p.heard(line)
	}
	_ = p.cmd.Wait() // the code says it
	return p.cmd.ProcessState.ExitCode()
}

// end ends a server with Ctrl-C, which it must do well, once, and gives what it said.
func (p *process) end() string {
	p.s.t.Helper()
	if p.cmd.ProcessState != nil {
		return p.said
	}
	p.interrupt()
	if code := p.ended(); code != 0 {
		p.s.t.Errorf("%s: exit code %d after Ctrl-C\n%s", p.line, code, p.said)
	}
	return p.said
}
