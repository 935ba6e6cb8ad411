//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/result"
)

// TestHTTPOverAWire: a wire of 5 ms each way judges how many round trips a request takes: one over a connection that
// stays, one more to connect, and one more for TLS 1.3, with both versions of HTTP.
func TestHTTPOverAWire(t *testing.T) {
	const wire = 0.010
	a := measure(t, `
nearfar: v1
name: http-wire
arms:
  wire: {lab: {path: [{wire: {delay: 5ms}}]}}
workloads:
  - {name: stays, tool: http, duration: 1s, warmup: 200ms}
  - {name: each, tool: http, connect: per-request, duration: 1s, warmup: 200ms}
  - {name: tls-stays, tool: http, tls: true, duration: 1s, warmup: 200ms}
  - {name: tls-each, tool: http, tls: true, connect: per-request, duration: 1s, warmup: 200ms}
  - {name: two-stays, tool: http, version: 2, concurrency: 4, request: 64B, duration: 1s, warmup: 200ms}
  - {name: two-tls-each, tool: http, version: 2, tls: true, connect: per-request, duration: 1s, warmup: 200ms}
  - {name: offered, tool: http, rate: 200/s, concurrency: 8, duration: 1s, warmup: 200ms}
schedule: {blocks: 4, seed: 1}
`)
	wantNoFailures(t, a)
	for workload, trips := range map[string]float64{"stays": 1, "each": 2, "tls-stays": 1, "tls-each": 3, "two-stays": 1,
		"two-tls-each": 3, "offered": 1} {
		least := quickest(t, a, "wire", workload, result.ResponseTime)
		t.Logf("%s: %.3f ms", workload, least*1e3)
		if least < trips*wire || least > trips*wire*1.05+0.001 {
			t.Errorf("%s: %v s, not %v round trips of %v s", workload, least, trips, wire)
		}
	}
	for phase, workload := range map[string]string{result.ConnectTime: "each", result.TLSTime: "tls-each",
		result.FirstByteTime: "stays"} {
		if least := quickest(t, a, "wire", workload, phase); least < wire || least > wire*1.05+0.001 {
			t.Errorf("%s of %s: %v s, not a round trip of %v s", phase, workload, least, wire)
		}
	}
}

// TestClientsOfHTTPOverAWire: a wire of 5 ms each way judges fortio and wrk as it judges nearfar's own client. wrk does
// not count the opening of a connection, fortio does.
func TestClientsOfHTTPOverAWire(t *testing.T) {
	const wire = 0.010
	a := measure(t, `
nearfar: v1
name: clients
arms:
  wire: {lab: {path: [{wire: {delay: 5ms}}]}}
workloads:
  - {name: http, tool: http, duration: 1s, warmup: 200ms}
  - {name: fortio, tool: fortio, duration: 1s}
  - {name: fortio-each, tool: fortio, connect: per-request, duration: 1s}
  - {name: fortio-offered, tool: fortio, rate: 200/s, concurrency: 8, duration: 1s, ip: 6}
  - {name: wrk, tool: wrk, duration: 1s}
  - {name: wrk-each, tool: wrk, connect: per-request, concurrency: 4, duration: 1s, ip: 6}
schedule: {blocks: 3, seed: 1}
`)
	wantNoFailures(t, a)
	for workload, c := range map[string]struct {
		stat  string
		trips float64
	}{
		"http": {result.Min, 1}, "fortio": {result.Min, 1}, "fortio-each": {result.Min, 2},
		"fortio-offered": {result.Min, 1}, "wrk": {result.P50, 1}, "wrk-each": {result.P50, 1},
	} {
		least := smallest(t, a, "wire", workload, result.ResponseTime, c.stat)
		t.Logf("%s: %.3f ms", workload, least*1e3)
		if least < c.trips*wire || least > c.trips*wire*1.05+0.002 {
			t.Errorf("%s: %v s, not %v round trips of %v s", workload, least, c.trips, wire)
		}
	}
	definitions := map[string]bool{}
	for _, trial := range trials(t, a) {
		definitions[trial.Definition] = true
	}
	if len(definitions) != 3 {
		t.Errorf("the three clients have the definitions %v", definitions)
	}
}

// quickest is the shortest time of a metric in the trials of an arm and a workload: what the path takes at least,
// however busy the machine is.
func quickest(t *testing.T, a answer.Answer, arm, workload, metric string) float64 {
	t.Helper()
	return smallest(t, a, arm, workload, metric, result.Min)
}

// smallest is the smallest value of a statistic in the trials of an arm and a workload.
func smallest(t *testing.T, a answer.Answer, arm, workload, metric, stat string) float64 {
	t.Helper()
	least := math.Inf(1)
	for _, trial := range trials(t, a) {
		if v, ok := trial.Value(metric, stat); ok && trial.Arm == arm && trial.Workload == workload {
			least = min(least, v)
		}
	}
	return least
}

// tripsWithAFraction finds a ratio that is told as if it were a number of round trips.
var tripsWithAFraction = regexp.MustCompile(`\d\.\d+( \([^)]*\))? (of them|round trip)`)

// TestMeaningOfHTTP: over wires of 0, 50 and 500 us, the number of round trips that the answer finds in a request is
// the one that HTTP has: one over a connection that stays, one more to connect, and one more for TLS 1.3. It explains
// all but 4 % of the difference: the hosts' part, which grows with the wire by other times in rr than in a request.
// What is left is told as a time, and no ratio as a number of round trips.
func TestMeaningOfHTTP(t *testing.T) {
	truths := map[string]float64{"stays": 1, "each": 2, "tls-each": 3}
	wantTruth(t, `
nearfar: v1
name: http-meaning
baseline: w0
arms:
  w0: {lab: {path: [{wire: {delay: 0s}}]}}
  w50: {lab: {path: [{wire: {delay: 50us}}]}}
  w500: {lab: {path: [{wire: {delay: 500us}}]}}
workloads:
  - {name: rr, tool: native, mode: rr, duration: 500ms, warmup: 100ms}
  - {name: stays, tool: http, duration: 500ms, warmup: 100ms}
  - {name: each, tool: http, connect: per-request, duration: 500ms, warmup: 100ms}
  - {name: tls-each, tool: http, tls: true, connect: per-request, duration: 500ms, warmup: 100ms}
objectives:
  - w500 stays response_time.p50 < 100ms
schedule: {blocks: 10, seed: 1}
`, func(a answer.Answer) (wrong []string) {
		if len(a.Meaning) != len(truths) {
			t.Fatalf("%+v", a.Meaning)
		}
		for _, m := range a.Meaning {
			t.Logf("%s %s", m.Workload, m.Text)
			if m.Slope == nil {
				wrong = append(wrong, m.Text)
				continue
			}
			truth, i := truths[m.Workload], m.Between
			t.Logf("%s: slope %.4f %.4f, explained by %.4f with a tolerance of %.4f", m.Workload, m.Slope.Value,
				*m.Slope.Interval, *i, m.Tolerance)
			if i[0] > truth || i[1] < truth || m.Others || m.Trips == nil || float64(*m.Trips) != truth {
				wrong = append(wrong, fmt.Sprintf("%s: %v times, explained by %v, want %v", m.Workload, m.Slope.Value, *i, truth))
				continue
			}
			far := m.Arms[len(m.Arms)-1]
			t.Logf("%s: with %s, %.1f us and a round trip of %.1f us, %.1f us %.7f remain", m.Workload, far.Arm,
				1e6*far.Application.Value, 1e6*far.RoundTrip.Value, 1e6*far.Remains.Value, *far.Remains.Interval)
			if left := math.Abs(far.Remains.Value / far.Application.Value); far.Arm != "w500" || left > 0.04 {
				wrong = append(wrong, fmt.Sprintf("%s: %.1f %% of the difference of %s remain", m.Workload, 100*left, far.Arm))
			}
			if said := tripsWithAFraction.FindString(m.Text); said != "" {
				t.Errorf("%q in %q", said, m.Text)
			}
		}
		if said := tripsWithAFraction.FindString(a.Verdict); said != "" {
			t.Errorf("%q in %q", said, a.Verdict)
		}
		meant := regexp.MustCompile(`What it means: with w500, the median response of stays takes .* longer, and a ` +
			`round trip .* longer: over all arms, as if it waited for 1 round trip( to within \d\.\d %)?; ` +
			`no objective fails\.$`)
		if !meant.MatchString(a.Also) {
			wrong = append(wrong, a.Also)
		}
		return wrong
	})
}

// TestHTTPExample runs the first experiment of docs/http.md, for a shorter time.
func TestHTTPExample(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("docs/http.md has no example")
	}
	text = strings.ReplaceAll(text, "response: 10KB", "response: 10KB, duration: 300ms, warmup: 100ms")
	a := measure(t, text+"schedule: {blocks: 3, seed: 1}\n", "--force")
	wantNoFailures(t, a)
	// Each round trip of the far wire takes 1 ms, and there are three with a new connection and TLS.
	for workload, trips := range map[string]float64{"page": 1, "new-page": 3, "offered": 1} {
		more := quickest(t, a, "far", workload, result.ResponseTime) -
			quickest(t, a, "near", workload, result.ResponseTime)
		if more < 0.9e-3*trips || more > 1.3e-3*trips {
			t.Errorf("%s: %v s more, and %v round trips of 1 ms", workload, more, trips)
		}
	}
	t.Log(a.Verdict)
}

// serviceOf serves pages on loopback, and keeps what it saw of the first request.
func serviceOf(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

// ofService is an experiment that measures a service of the user's from this machine.
func ofService(to, keys string) string {
	return `
nearfar: v1
name: own-service
hosts:
  here: {local: {}, address: 127.0.0.1}
arms:
  own: {client: here, server: here}
workloads:
  - {name: page, tool: http, duration: 500ms, warmup: 100ms, to: "` + to + `"` + keys + `}
schedule: {blocks: 2, seed: 1, retries: 0}
`
}

// TestHTTPSecretsStay: the value of a header reaches the service, and no command line, file, page or output has it.
func TestHTTPSecretsStay(t *testing.T) {
	t.Parallel()
	const canary = "canary-5d0c9e"
	var once sync.Once
	var seen, where string
	to := serviceOf(t, func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { seen, where = r.Header.Get("Authorization"), inCommandLines(canary) })
		_, _ = w.Write([]byte("ok"))
	})
	dir := workspace(t)
	cmd := exec.Command(program, "run", write(t, dir, ofService(to, `, headers_env: {Authorization: PAGE_TOKEN}`)))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "PAGE_TOKEN="+canary)
	said, err := cmd.CombinedOutput()
	if err != nil || bytes.Contains(said, []byte(canary)) {
		t.Fatalf("%v: %s", err, said)
	}
	if seen != canary || where != "" {
		t.Errorf("the service saw %q; the value is in %s", seen, where)
	}
	isNowhere(t, dir, canary)
}

// isNowhere makes the page of the one run in a folder, and looks for a secret in all files there.
func isNowhere(t *testing.T, dir, secret string) {
	t.Helper()
	nearfar(t, dir, nil, "report", onlyRun(t, dir), "-f", "html", "-o", "report.html")
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if files++; bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil || files < 6 {
		t.Errorf("%d files, %v", files, err)
	}
}

// inCommandLines names the processes whose command line has a text.
func inCommandLines(text string) (who string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(text)) {
			who += " " + path + ": " + string(line)
		}
	}
	return who
}

// TestSaturationOfAService: a service that answers one request at a time, each in 5 ms or little more, carries somewhat
// less than 200 a second, whatever more it is offered. Requests that meet no other take their 5 ms.
func TestSaturationOfAService(t *testing.T) {
	var one sync.Mutex
	to := serviceOf(t, func(w http.ResponseWriter, _ *http.Request) {
		one.Lock()
		defer one.Unlock()
		time.Sleep(5 * time.Millisecond)
		_, _ = w.Write([]byte("ok"))
	})
	var sweep strings.Builder
	for _, rate := range []int{20, 60, 120, 400} {
		fmt.Fprintf(&sweep, "  - {name: at%d, tool: http, to: %q, rate: %d/s, concurrency: 64, duration: 500ms, warmup: 100ms}\n",
			rate, to, rate)
	}
	wantTruth(t, `
nearfar: v1
name: own-service
hosts:
  here: {local: {}, address: 127.0.0.1}
arms:
  own: {client: here, server: here}
workloads:
`+sweep.String()+`
objectives:
  - own at20 response_time.p50 < 100ms
schedule: {blocks: 6, seed: 1}
`, func(a answer.Answer) (wrong []string) {
		if len(a.Saturation) != 1 || len(a.Saturation[0].Arms) != 1 {
			t.Fatalf("%+v", a.Saturation)
		}
		arm := a.Saturation[0].Arms[0]
		knee := arm.Knee.Value
		if knee == nil || arm.Knee.Interval == nil || *knee > 200 || *knee < 150 {
			return []string{fmt.Sprintf("the service saturates at %+v", arm.Knee)}
		}
		t.Logf("%.1f/s %v", *knee, *arm.Knee.Interval)
		for _, at := range arm.At {
			if at.Fraction == 0.5 && at.Stat == result.P50 && (at.Value < 5e-3 || at.Value > 20e-3) {
				wrong = append(wrong, fmt.Sprintf("at half of it a response takes %v s", at.Value))
			}
		}
		// The queue of more than is answered grows through the window: its half waits for longer than 100 ms at 400/s.
		k := arm.Keeps
		if len(k) != 1 || k[0].Rate.Value == nil || *k[0].Rate.Value < 120 || *k[0].Rate.Value > 400 {
			wrong = append(wrong, fmt.Sprintf("the objective is kept up to %+v", k))
		}
		return wrong
	})
}

// TestHTTPFaults: a service that is not there, and one that does not answer, are told in the run's own words, in time.
func TestHTTPFaults(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := "http://" + l.Addr().String()
	t.Cleanup(func() { _ = l.Close() })
	for name, c := range map[string]struct{ to, keys, want string }{
		"hangs":  {silent, "", "timeout (waiting for the answer: no end within the time-out)"},
		"absent": {"http://127.0.0.1:1", "", "connect (connecting: dial tcp 127.0.0.1:1: connect: connection refused)"},
		"status": {serviceOf(t, http.NotFound), "", "status (status 404)"},
		"no TLS": {strings.Replace(serviceOf(t, http.NotFound), "http:", "https:", 1), "", "tls (TLS: "},
		"unset":  {"http://127.0.0.1:1", ", headers_env: {A: NOT_SET_ANYWHERE}", "variable NOT_SET_ANYWHERE is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workspace(t)
			cmd := exec.Command(program, "run", write(t, dir, ofService(c.to, c.keys)))
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
			began := time.Now()
			said, err := cmd.CombinedOutput()
			if text := strings.Join(strings.Fields(string(said)), " "); err == nil || !strings.Contains(text, c.want) {
				t.Errorf("%v: %s", err, said)
			}
			if took := time.Since(began); took > 90*time.Second {
				t.Errorf("it took %v", took)
			}
			if left := inCommandLines(dir); left != "" {
				t.Errorf("left: %s", left)
			}
		})
	}
}
