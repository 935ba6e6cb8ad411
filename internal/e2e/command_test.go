//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
)

// exampleBlock is a block of docs/command.md: a file of YAML, or a configuration.
var exampleBlock = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```")

// commandExamples are the experiments of docs/command.md by their names, and its configurations by their first
// directive. Each experiment gets so many blocks.
func commandExamples(t *testing.T, blocks int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "command.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, block := range exampleBlock.FindAllStringSubmatch(string(text), -1) {
		kind, body := block[1], block[2]
		if kind != "yaml" {
			// A file of a program has the name of its first directive.
			directive, _, _ := strings.Cut(body, " ")
			found[directive] = body
			continue
		}
		_, rest, named := strings.Cut(body, "\nname: ")
		if !named {
			t.Fatalf("an example without a name:\n%s", body)
		}
		name, _, _ := strings.Cut(rest, "\n")
		found[name] = body + fmt.Sprintf("schedule: {blocks: %d, seed: 1}\n", blocks)
	}
	return found
}

// runExample measures an example of the documentation. Every figure of the file must be in the answer of both arms.
func runExample(t *testing.T, name string, set []string, figures ...string) answer.Answer {
	t.Helper()
	dir := workspace(t)
	file := write(t, dir, commandExamples(t, 2)[name])
	args := []string{"run", "--force", "-f", "json"}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	a := answerOf(t, nearfar(t, dir, nil, append(args, file)...), dir)
	wantNoFailures(t, a)
	for _, figure := range figures {
		for _, arm := range []string{"near", "far"} {
			found := false
			for _, f := range a.Arms {
				found = found || f.Arm == arm && strings.TrimSpace(f.Metric+" "+f.Stat) == figure && f.Median > 0
			}
			if !found {
				t.Errorf("%s has no %s: %+v", arm, figure, a.Arms)
			}
		}
	}
	for _, format := range []string{"markdown", "csv"} {
		report := strings.ReplaceAll(string(nearfar(t, dir, nil, "report", "-f", format, a.Run)), `\_`, "_")
		if metric, _, _ := strings.Cut(figures[0], " "); !strings.Contains(report, metric) {
			t.Errorf("the report in %s has no %s:\n%s", format, metric, report)
		}
	}
	return a
}

// folder is a folder that hosts of a lab see too, and in which the programs of every user can write. It has a file, if
// that has a name.
func folder(t *testing.T, file, content string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/lib", "nearfar-e2e-")
	if err != nil {
		t.Skipf("hosts of a lab have temporary folders of their own, and there is no other place: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // servers run as other users
		t.Fatal(err)
	}
	if file != "" {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCommandExamples: the examples of docs/command.md measure what they say. The wire of 200 us is in each figure that
// waits for it, which shows on a busy machine too.
func TestCommandExamples(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		need(t, "redis-server", "redis-server")
		need(t, "redis-tools", "redis-benchmark")
		a := runExample(t, "redis", nil, "get_time", "get_rate", "took")
		wantWire(t, a, "get_time", 400*time.Microsecond)
		if len(a.Objectives) != 1 || a.Objectives[0].Verdict == answer.ObjectiveError {
			t.Errorf("the objective: %+v", a.Objectives)
		}
		// A rule can name the figures, and the history shows them.
		dir := filepath.Dir(filepath.Dir(a.Run))
		nearfar(t, dir, nil, "gate", a.Run, "--require", "near get get_rate > 1/s")
		if out := string(nearfar(t, dir, nil, "history", "--metric", "get_time", "-f", "json")); !strings.Contains(out,
			`"better_if": "lower"`) {
			t.Errorf("the history of get_time: %s", out)
		}
	})
	t.Run("pages", func(t *testing.T) {
		need(t, "nginx-light", "/usr/sbin/nginx")
		need(t, "apache2-utils", "ab")
		site := folder(t, "nginx.conf", commandExamples(t, 1)["daemon"])
		// A connection for each page: two round trips.
		wantWire(t, runExample(t, "pages", []string{"SITE=" + site}, "page_median", "page_rate",
			"page_slowest_1_percent"), "page_median", 2*400*time.Microsecond)
	})
	t.Run("own-service", func(t *testing.T) {
		need(t, "curl", "curl")
		wantWire(t, runExample(t, "own-service", nil, "response p50"), "response", 400*time.Microsecond)
	})
	t.Run("broker", func(t *testing.T) {
		need(t, "mosquitto", "/usr/sbin/mosquitto")   //nolint:misspell // its name
		need(t, "mosquitto-clients", "mosquitto_pub") //nolint:misspell // its name
		broker := folder(t, "mosquitto.conf", commandExamples(t, 1)["listener"])
		runExample(t, "broker", []string{"BROKER=" + broker}, "published")
	})
	t.Run("messages", func(t *testing.T) {
		need(t, "activemq", "activemq")
		need(t, "default-jre-headless", "java")
		broker := folder(t, "activemq.xml", commandExamples(t, 1)["<beans"])
		wantWire(t, runExample(t, "messages", []string{"BROKER=" + broker, "STORE=" + filepath.Join(broker, "store")},
			"stored p50"), "stored", 400*time.Microsecond)
	})
	t.Run("quic", func(t *testing.T) {
		build := exec.Command("../../scripts/go-programs.sh", "quic")
		build.Stderr = os.Stderr
		programs, err := build.Output()
		if err != nil {
			t.Fatal(err)
		}
		// 20 connections, each with a round trip of 10 ms for its handshake and one for the request: longer than starting
		// the client 20 times takes.
		a := runExample(t, "quic", []string{"QUIC=" + strings.TrimSpace(string(programs))}, "fetched")
		wantWire(t, a, "fetched", 20*2*10*time.Millisecond)
	})
	t.Run("pgbench", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("PostgreSQL starts as another user only if that user's files can be made")
		}
		need(t, "postgresql", "pgbench")
		bin, data := database(t)
		wantWire(t, runExample(t, "pgbench", []string{"BIN=" + bin, "DATA=" + data}, "latency_average", "tps"),
			"latency_average", 400*time.Microsecond)
	})
}

// wantWire wants a figure of the far arm to have at least so many round trips over its wire, which is never early,
// however busy the machine is.
func wantWire(t *testing.T, a answer.Answer, metric string, wire time.Duration) {
	t.Helper()
	least := 0.95 * wire.Seconds() // programs round what they print
	for _, f := range a.Arms {
		if f.Arm == "far" && f.Metric == metric && f.Median < least {
			t.Errorf("%s %s of the far arm is %v, want at least %v", metric, f.Stat, f.Median, least)
		}
	}
}

// database makes the data of the example with PostgreSQL, as the documentation says.
func database(t *testing.T) (bin, data string) {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		t.Fatal("no PostgreSQL is installed: run scripts/install-tools.sh test")
	}
	bin = filepath.Dir(found[len(found)-1])
	data = filepath.Join(folder(t, "", ""), "data")
	script := `set -eu
BIN=$1 DATA=$2
"$BIN/initdb" -D "$DATA" --auth=trust --username=bench --no-sync >/dev/null
echo 'host all all all trust' >>"$DATA/pg_hba.conf"
"$BIN/postgres" -D "$DATA" -h '' -k "$DATA" -p 7777 >"$DATA/log" 2>&1 &
trap 'kill $!; wait' EXIT
n=0
until "$BIN/pg_isready" -q -h "$DATA" -p 7777; do n=$((n + 1)); [ $n -lt 300 ]; sleep 0.1; done
"$BIN/createdb" -h "$DATA" -p 7777 -U bench bench
"$BIN/pgbench" -h "$DATA" -p 7777 -U bench --initialize --quiet bench 2>/dev/null
`
	cmd := exec.Command("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "sh", "-c", script, "sh",
		bin, data)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin, data
}

// wrongCommand has a workload for each way in which a program of an experiment's own can go wrong.
const wrongCommand = `
nearfar: v1
name: wrong
arms: {one: {lab: {path: [bridge]}}}
workloads:
  - {name: floods, tool: command, client: [sh, -c, 'yes MARK'], metrics: {took: exit-time}}
  - {name: forks, tool: command, client: [sh, -c, 'for i in 1 2 3 4 5; do setsid sleep 3000 & done; echo 1'],
     metrics: {x: {regex: '(\d+)', unit: s}}}
  - {name: silent, tool: command, client: [sh, -c, 'echo nothing'], metrics: {x: {regex: 'x=(\d+)', unit: s}}}
  - {name: fails, tool: command, client: [sh, -c, 'echo 1; echo no password >&2; exit 3'],
     metrics: {x: {regex: '(\d+)', unit: s}}}
  - {name: never-ready, tool: command, client: [echo, 1], server: [sh, -c, 'echo waits; sleep 3000'], ready: {tcp: '{port}'},
     metrics: {took: exit-time}}
  - {name: never-ends, tool: command, duration: 100ms, client: [sleep, 3000], metrics: {took: exit-time}}
  - {name: good, tool: command, client: [sh, -c, 'sleep 0.2; echo x=5ms'], metrics: {x: {regex: 'x=(\S+)', unit: s},
     took: exit-time}}
schedule: {blocks: 1, retries: 0, seed: 1}
`

// TestWrongCommands: what goes wrong with a program of an experiment's own is said with the command and its last
// output, in time, and nothing of it is left.
func TestWrongCommands(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	mark := fmt.Sprintf("NEARFAR_TEST_COMMANDS=%d", os.Getpid())
	cmd := exec.Command(program, "run", "--force", "-f", "json", write(t, dir, wrongCommand))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), mark)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	_ = cmd.Run() // its trials say what failed
	took := time.Since(began)
	a := answerOf(t, stdout.Bytes(), dir)
	want := map[string][]string{
		"floods": {"yes MARK", "it printed more than 16 MiB, and was ended"}, "forks": {""},
		"silent":      {"client", "no figure x: ", "matches nothing", "its last output: nothing"},
		"fails":       {"client", "exit status 3", "no password"},
		"never-ready": {"server", "did not serve tcp port", "within 15s", "waits"},
		"never-ends":  {"client", "sleep 3000", "did not end within"}, "good": {""},
	}
	for _, trial := range trials(t, a) {
		for _, says := range want[trial.Workload] {
			if !strings.Contains(trial.Error, says) || says == "" && trial.Error != "" {
				t.Errorf("%s: %q, want %q", trial.Workload, trial.Error, says)
			}
		}
		if trial.Error != "" && len(trial.Metrics) > 0 {
			t.Errorf("%s failed, and has figures: %+v", trial.Workload, trial.Metrics)
		}
		if x, _ := trial.Value("x", ""); trial.Workload == "good" && x != 0.005 {
			t.Errorf("good: x is %v", x)
		}
		if ran, _ := trial.Value("took", ""); trial.Workload == "good" && (ran < 0.2 || ran > 10) {
			t.Errorf("good: took is %v", ran)
		}
		delete(want, trial.Workload)
	}
	if len(want) > 0 {
		t.Errorf("no trials of %v: %s", want, stderr.Bytes())
	}
	if limit := 3 * time.Minute; took > limit {
		t.Errorf("it took %v", took)
	}
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestCommandBySSH: programs of an experiment's own run on hosts over ssh, with a service that runs there already.
func TestCommandBySSH(t *testing.T) {
	t.Parallel()
	r := newSSHRigWith(t, nil, twoHosts())
	text := r.addressed(`
nearfar: v1
name: own
hosts:
  client: {ssh: client, address: CLIENT}
  server: {ssh: server, address: SERVER}
arms: {ssh: {client: client, server: server}}
workloads:
  - name: fetch
    tool: command
    server: [/usr/bin/python3, -m, http.server, '{port}', --bind, '{bind}', --directory, /usr/share/doc]
    ready: {tcp: '{port}'}
    client: [curl, --silent, --fail, --output, /dev/null, --write-out, '%{json}', 'http://{url}:{port}/']
    metrics: {fetch_time: {json: /time_total, unit: s}, took: exit-time}
  - {name: none, tool: command, client: [sh, -c, 'echo 1 >&2'], metrics: {x: {regex: '(1)', unit: B, better: higher}}}
schedule: {blocks: 2, seed: 1}
`)
	cmd, mark := r.run(write(t, r.dir, text))
	stdout, _ := r.answered(cmd)
	a := answerOf(t, stdout, r.dir)
	wantNoFailures(t, a)
	for _, f := range a.Arms {
		if f.Workload == "fetch" && (f.Median <= 0 || f.Median > 10) {
			t.Errorf("%s is %v", f.Metric, f.Median)
		}
	}
	if len(a.Arms) != 3 {
		t.Errorf("figures %+v", a.Arms)
	}
	r.wantNothingLeft(leftLimit)
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("left on nearfar's side: %v", left)
	}
}

// TestCommandOnAgents: an agent on a host that nothing can log in to runs no program of an experiment's own, and says
// so before anything is measured, unless it was started with --allow-command.
func TestCommandOnAgents(t *testing.T) {
	t.Parallel()
	onlyIfAllowed(t, 7831, `tool: command, client: [sh, -c, 'echo 5; touch ran'], metrics: {x: {regex: '(\d)', unit: s}}`)
}

// onlyIfAllowed measures a workload between this machine and an agent, which takes it with --allow-command alone.
func onlyIfAllowed(t *testing.T, port int, workload string) {
	t.Helper()
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprint(allowed), func(t *testing.T) {
			dir := workspace(t)
			args := []string{"--listen", "127.0.0.1:0"}
			if allowed {
				args = append(args, "--allow-command")
			}
			join := startAgent(t, dir, args...)
			file := write(t, dir, fmt.Sprintf(`nearfar: v1
name: own
hosts: {a: {local: {}, port: %[1]d}, b: {agent: "${JOIN}", port: %[1]d}}
arms: {there: {client: b, server: a}}
workloads: [{name: x, %[2]s}]
schedule: {blocks: 1}
`, port, workload))
			cmd := exec.Command(program, "run", "--force", "--out", "out", "-f", "json", file)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "JOIN="+join)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			says := strings.Join(strings.Fields(stderr.String()), " ")
			switch {
			case allowed && err != nil:
				t.Errorf("%v: %s", err, says)
			case allowed:
				wantNoFailures(t, answerOf(t, out, dir))
			case err == nil || !strings.Contains(says, "without --allow-command") ||
				!strings.Contains(says, "nothing was measured"):
				t.Errorf("%v: %s", err, says)
			}
		})
	}
}
