//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/agent/binaries"
	postgres "nearfar/internal/onhost/database"
	"nearfar/internal/onhost/host"
)

// needApp skips a test without PostgreSQL, or without the front in the program.
func needApp(t *testing.T) {
	t.Helper()
	if _, err := binaries.Front(host.System{OS: "linux", Arch: runtime.GOARCH}); errors.Is(err, binaries.ErrMissing) {
		t.Skipf("%v", err)
	}
	if _, err := postgres.Version(t.Context()); err != nil {
		t.Skip(err)
	}
}

// TestAppOverWires: a page of Q queries, one after the other, takes Q round trips of the wire between the front and the
// database, with 0, 50 and 500 us each way; and the answer says that so many round trips explain the difference.
func TestAppOverWires(t *testing.T) {
	needApp(t)
	queries := []int{1, 10, 40}
	var workloads strings.Builder
	for _, q := range queries {
		fmt.Fprintf(&workloads, "  - {name: q%d, tool: app, queries: %d, response: 100B, duration: 500ms, warmup: 100ms}\n",
			q, q)
	}
	a := measure(t, `
nearfar: v1
name: app-wires
baseline: w0
arms:
  w0: {lab: {path: [{wire: {delay: 0us}}]}}
  w50: {lab: {path: [{wire: {delay: 50us}}]}}
  w500: {lab: {path: [{wire: {delay: 500us}}]}}
workloads:
  - {name: rr, tool: native, duration: 500ms, warmup: 100ms}
`+workloads.String()+"schedule: {blocks: 8, seed: 1}\n", "--force")
	wantNoFailures(t, a)
	if len(a.Meaning) != len(queries) {
		t.Fatalf("%+v", a.Meaning)
	}
	for i, q := range queries {
		t.Logf("%+v", a.Meaning[i].Text)
		if between := a.Meaning[i].Between; between == nil || between[0] > float64(q) || between[1] < float64(q) {
			t.Errorf("%d queries: %+v", q, a.Meaning[i])
		}
		name := fmt.Sprint("q", q)
		zero := quickest(t, a, "w0", name, result.ResponseTime)
		for arm, delay := range map[string]float64{"w50": 50e-6, "w500": 500e-6} {
			more, want := quickest(t, a, arm, name, result.ResponseTime)-zero, float64(q)*2*delay
			t.Logf("%s over %s: +%.1f us, and %.1f us are the wire's", name, arm, more*1e6, want*1e6)
			if more < 0.95*want || more > 1.05*want+float64(q)*5e-6 {
				t.Errorf("%s over %s: %v s more, and the wire has %v s", name, arm, more, want)
			}
		}
		for _, trial := range trials(t, a) {
			if n, ok := trial.Value(result.PageQueries, ""); trial.Workload == name && (!ok || n != float64(q)) {
				t.Errorf("%s has %v queries a page", name, n)
			}
		}
	}
	t.Log(a.Verdict)
}

// TestAppExample runs the first experiment of docs/app.md, for a shorter time: each query waits for the wire once.
func TestAppExample(t *testing.T) {
	needApp(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "app.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("docs/app.md has no example")
	}
	text = strings.NewReplacer(", duration: 5s", "", "tool: app", "tool: app, duration: 500ms, warmup: 100ms").
		Replace(text)
	a := measure(t, text+"schedule: {blocks: 3, seed: 1}\n", "--force")
	wantNoFailures(t, a)
	const trip = 400e-6
	for workload, trips := range map[string]float64{"short": 1, "usual": 10, "long": 40, "together": 5} {
		far := quickest(t, a, "far", workload, result.ResponseTime)
		more := far - quickest(t, a, "near", workload, result.ResponseTime)
		t.Logf("%s: %.0f us, which is %.0f us more", workload, far*1e6, more*1e6)
		// Of queries at the same time, some are worked on while others are on their way: less than the round trips is added.
		if least := 0.9 * trips * trip; far < trips*trip || more < least && workload != "together" {
			t.Errorf("%s: %v s, which is %v s more, and there are %v round trips of 400 us", workload, far, more, trips)
		}
		if more > 1.4*trips*trip {
			t.Errorf("%s: %v s more, and %v round trips of 400 us", workload, more, trips)
		}
	}
}

// TestAppPlacements: parallel queries share a round trip, connections of a page's own cost more of them, TLS too, and
// with the front beside the database one round trip is left.
func TestAppPlacements(t *testing.T) {
	needApp(t)
	const trip = 10e-3
	a := measure(t, `
nearfar: v1
name: app-placements
arms:
  far: {lab: {path: [{wire: {delay: 5ms}}]}}
workloads:
  - {name: one-by-one, tool: app, queries: 8, duration: 1s, warmup: 200ms}
  - {name: parallel, tool: app, queries: 8, parallel: 4, duration: 1s, warmup: 200ms}
  - {name: tls, tool: app, queries: 2, tls: true, duration: 1s, warmup: 200ms}
  - {name: each, tool: app, queries: 1, database_connections: per-request, duration: 1s, warmup: 200ms}
  - {name: near, tool: app, queries: 8, front: server, duration: 1s, warmup: 200ms}
  - {name: offered, tool: app, queries: 2, rate: 20/s, concurrency: 4, duration: 1s, warmup: 200ms}
schedule: {blocks: 2, seed: 1}
`, "--force")
	wantNoFailures(t, a)
	for workload, trips := range map[string]float64{"one-by-one": 8, "parallel": 2, "tls": 2, "near": 1, "offered": 2} {
		least := quickest(t, a, "far", workload, result.ResponseTime)
		if least < trips*trip || least > trips*trip*1.05+2e-3 {
			t.Errorf("%s: %v s, not %v round trips of %v s", workload, least, trips, trip)
		}
	}
	// TCP, the start of the session, two of SCRAM, and the query.
	if least := quickest(t, a, "far", "each", result.ResponseTime); least < 5*trip || least > 7*trip {
		t.Errorf("a page with a connection of its own takes %v s", least)
	}
	for _, trial := range trials(t, a) {
		if trial.Workload == "tls" && !strings.HasPrefix(trial.Facts["database_tls"], "TLS 1.3") {
			t.Errorf("tls: %q", trial.Facts["database_tls"])
		}
	}
}

// TestAppBySSH: front and database are put on other machines, and nothing of them is left there.
func TestAppBySSH(t *testing.T) {
	t.Parallel()
	needApp(t)
	r := newSSHRigWith(t, nil, twoHosts())
	text := strings.Replace(faulty, "workloads: [{name: load, tool: native, mode: load, rate: 200/s, duration: 1s, "+
		"warmup: 100ms}]", "workloads: [{name: page, tool: app, queries: 5, duration: 500ms, warmup: 100ms}, "+
		"{name: near, tool: app, front: server, queries: 5, duration: 500ms, warmup: 100ms}]", 1)
	if text == faulty {
		t.Fatal("the experiment has other workloads")
	}
	text = strings.NewReplacer("SILENCE", "1m", "blocks: 8", "blocks: 2").Replace(r.addressed(text))
	cmd, mark := r.run(write(t, r.dir, text))
	stdout, _ := r.answered(cmd)
	a := answerOf(t, stdout, r.dir)
	wantNoFailures(t, a)
	if len(a.Arms) == 0 {
		t.Error("no figures")
	}
	r.wantNothingLeft(leftLimit)
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("left on nearfar's side: %v", left)
	}
}

// aDatabaseOfTheirs is a PostgreSQL that runs already, with its URL.
func aDatabaseOfTheirs(t *testing.T, password string) (address string, process *os.Process) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(l.Addr().String())
	_ = l.Close()
	o := &postgres.Options{Listen: at, Password: password, Connections: 8}
	text, err := json.Marshal(postgres.Backend{Database: o})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "engine", "database")
	cmd.Env = append(os.Environ(), "TMPDIR="+workspace(t))
	cmd.Stdin = bytes.NewReader(text)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for limit := time.After(time.Minute); ; {
		if c, err := net.Dial("tcp", at.String()); err == nil {
			_ = c.Close()
			break
		}
		select {
		case <-again.C:
		case <-ended:
			t.Fatalf("PostgreSQL ended: %s", &said)
		case <-limit:
			t.Fatal("PostgreSQL does not listen")
		}
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(postgres.User, password), Host: at.String(),
		Path: postgres.Name, RawQuery: "sslmode=disable"}
	return u.String(), cmd.Process
}

// ofPages is an experiment that measures pages of a database of the user's, on this machine.
const ofPages = `
nearfar: v1
name: own-database
hosts:
  here: {local: {}, address: 127.0.0.1}
arms:
  own: {client: here, server: here}
workloads:
  - {name: page, tool: app, queries: 3, duration: 500ms, warmup: 100ms, database_env: SHOP_URL}
schedule: {blocks: 2, seed: 1, retries: 0}
`

// runOwnDatabase runs it with a URL, below another program if one is given.
func runOwnDatabase(t *testing.T, text, address string, below ...string) (dir, said string, err error) {
	t.Helper()
	dir = workspace(t)
	text = strings.Replace(text, "local: {}", fmt.Sprintf("local: {}, port: %d", freePorts(t)), 1)
	argv := append(below, program, "run", "--force", write(t, dir, text))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "SHOP_URL="+address)
	out, err := cmd.CombinedOutput()
	if left := inCommandLines(dir); left != "" {
		t.Errorf("left: %s", left)
	}
	return dir, strings.Join(strings.Fields(string(out)), " "), err
}

// TestAppSecretsStay: the password of the user's database is in no command line, file, page or output.
func TestAppSecretsStay(t *testing.T) {
	t.Parallel()
	needApp(t)
	const canary = "canary-a1f40c"
	address, _ := aDatabaseOfTheirs(t, canary)
	dir, said, err := runOwnDatabase(t, ofPages, address)
	if err != nil || strings.Contains(said, canary) {
		t.Fatalf("%v: %s", err, said)
	}
	isNowhere(t, dir, canary)
}

// TestAppFaults: a database that is gone, slow, closed to this password or not installed is told in the run's own
// words, in time, without its password, and nothing is left.
func TestAppFaults(t *testing.T) {
	t.Parallel()
	needApp(t)
	const canary = "canary-ee17"
	address, _ := aDatabaseOfTheirs(t, canary)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	at := func(host string) string { return "postgres://me:" + canary + "@" + host + "/shop?sslmode=disable" }
	own := strings.Replace(ofPages, ", database_env: SHOP_URL", "", 1)
	hide := []string{"unshare", "--mount", "sh", "-c",
		`for d in /usr/lib/postgresql /usr/pgsql-*; do [ ! -d "$d" ] || mount -t tmpfs none "$d"; done; exec "$0" "$@"`}
	full := []string{"unshare", "--mount", "sh", "-c", `mkdir small && mount -t tmpfs -o size=24m,mode=1777 none small &&
TMPDIR=$PWD/small exec "$0" "$@"`}
	wrong := strings.Replace(address, canary, canary+"-x", 1)
	for name, c := range map[string]struct {
		text, url, want string
		below           []string
	}{
		"gone":           {ofPages, at("127.0.0.1:1"), "connection refused", nil},
		"slow":           {ofPages, at(l.Addr().String()), "timeout", nil},
		"wrong password": {ofPages, wrong, "password authentication failed", nil},
		"unset":          {ofPages, "", "variable SHOP_URL is not set", nil},
		"not installed":  {own, "", "PostgreSQL is not installed", hide},
		"full":           {own, "", "MB are free on the disk", full},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(c.below) > 0 && os.Getuid() != 0 {
				t.Skip("folders can be hidden by root alone")
			}
			began := time.Now()
			_, said, err := runOwnDatabase(t, c.text, c.url, c.below...)
			if err == nil || !strings.Contains(said, c.want) || strings.Contains(said, canary) {
				t.Errorf("%v: %s", err, said)
			}
			if took := time.Since(began); took > 90*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestAppDatabaseGoes: a database that goes while pages are asked for makes pages fail, which the trial counts.
func TestAppDatabaseGoes(t *testing.T) {
	t.Parallel()
	needApp(t)
	address, process := aDatabaseOfTheirs(t, "canary-b0b0")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("duration: 500ms", "duration: 2s", "blocks: 2", "blocks: 1").Replace(ofPages)
	dir := workspace(t)
	cmd := exec.Command(program, "run", "--force", write(t, dir, text))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "SHOP_URL="+address)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitConnection(t, u.Port())
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // whether a trial with failed pages fails is up to how many there were
	text = strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(text, "fail") || strings.Contains(text, "canary-b0b0") {
		t.Errorf("%s", text)
	}
	if left := inCommandLines(dir); left != "" {
		t.Errorf("left: %s", left)
	}
}

// awaitConnection waits until somebody has a connection to a port of this machine.
func awaitConnection(t *testing.T, port string) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for limit := time.After(time.Minute); ; {
		out, err := exec.Command("ss", "-Htn", "state", "established", "dport", "=", ":"+port).Output()
		if err == nil && len(bytes.TrimSpace(out)) > 0 {
			return
		}
		select {
		case <-again.C:
		case <-limit:
			t.Fatalf("no connection to port %s: %v", port, err)
		}
	}
}

// TestAppOnAgents: an agent on a host that nothing can log in to takes no front, and says so before anything is
// measured, unless it was started with --allow-command.
func TestAppOnAgents(t *testing.T) {
	t.Parallel()
	needApp(t)
	onlyIfAllowed(t, 7861, "tool: app, queries: 2, duration: 300ms, warmup: 100ms")
}
