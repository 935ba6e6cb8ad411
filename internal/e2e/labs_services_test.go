//go:build linux

package e2e

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/result"
)

// TestTLSLab: labs/tls takes as many round trips as its README says: the wire of 20 ms is in the quickest request of
// each arm, and in each of its phases. Beside other tests, a trial of a second may be over before an answer is there.
func TestTLSLab(t *testing.T) {
	const wire = 0.020
	a := measure(t, ofLab(t, "tls", "blocks: 12", "blocks: 2"), "--force")
	wantNoFailures(t, a)
	for arm, c := range map[string]struct {
		trips float64
		tls   string
	}{
		"plain": {0, "none"}, "tls": {0, "1.3"}, "tls-each": {0, "1.3"},
		"far-plain": {1, "none"}, "far-tls": {1, "1.3"}, "far-tls-each": {3, "1.3"},
	} {
		least := quickest(t, a, arm, "page", result.ResponseTime)
		t.Logf("%s: %.3f ms", arm, least*1e3)
		// On a busy machine all requests may be late, and by less than a round trip near.
		if least < c.trips*wire || c.trips == 0 && least > wire {
			t.Errorf("%s: %v s, not %v round trips of %v s", arm, least, c.trips, wire)
		}
		for _, trial := range trials(t, a) {
			if trial.Arm == arm && !strings.HasSuffix(trial.Facts["tls"], c.tls) {
				t.Errorf("%s: the fact tls is %q, want %q", arm, trial.Facts["tls"], c.tls)
			}
		}
	}
	for _, phase := range []string{result.ConnectTime, result.TLSTime, result.FirstByteTime} {
		if least := quickest(t, a, "far-tls-each", "page", phase); least < wire || least > 3*wire {
			t.Errorf("%s: %v s, not a round trip of %v s", phase, least, wire)
		}
	}
}

// TestOwnServiceLab: the template measures a service of Python's and nearfar's own pages, and both have the two round
// trips of a new connection. Nothing runs beside it, since its trials are short.
func TestOwnServiceLab(t *testing.T) {
	need(t, "curl", "curl")
	const wire = 0.010
	a := measure(t, ofLab(t, "own-service", "blocks: 12", "blocks: 2"), "--force")
	wantNoFailures(t, a)
	for workload, metric := range map[string]string{"user": "answer_time", "least": result.ResponseTime} {
		near, far := quickest(t, a, "near", workload, metric), quickest(t, a, "far", workload, metric)
		t.Logf("%s: %.3f ms near, %.3f ms far", workload, near*1e3, far*1e3)
		if far < 2*wire || near > far { // how late it is besides, depends on what else the machine does
			t.Errorf("%s: %v s near and %v s far, not two round trips of %v s more", workload, near, far, wire)
		}
	}
	// The times of curl are the trial's histogram.
	for _, trial := range trials(t, a) {
		if _, err := os.Stat(filepath.Join(a.Run, trial.Histogram)); trial.Histogram == "" || err != nil {
			t.Errorf("%s in %s has no histogram: %q, %v", trial.Workload, trial.Arm, trial.Histogram, err)
		}
	}
	if len(a.Objectives) != 1 || a.Objectives[0].Verdict == answer.ObjectiveError {
		t.Errorf("%+v", a.Objectives)
	}
	for _, w := range a.Warnings {
		if w.Code == "placement-free" {
			t.Errorf("%+v", w)
		}
	}
}

// TestOwnServiceThatRuns: the second template measures a service that runs at two addresses. Loopback has the two.
func TestOwnServiceThatRuns(t *testing.T) {
	t.Parallel()
	need(t, "curl", "curl")
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked [2]atomic.Int64
	service := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, "127.0.0.2:") {
			asked[1].Add(1)
		} else {
			asked[0].Add(1)
		}
		_, _ = w.Write(make([]byte, 1000))
	})}
	go func() { _ = service.Serve(l) }()
	t.Cleanup(func() { _ = service.Close() })
	text, err := os.ReadFile(filepath.Join("..", "..", "labs", "own-service", "running.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	changed := strings.NewReplacer(":8080/", ":"+port+"/", "{local: {}}", "{local: {}, address: 127.0.0.1}",
		`{ssh: "${OLD}"}`, "{local: {}, address: 127.0.0.1}", `{ssh: "${NEW}"}`, "{local: {}, address: 127.0.0.2}",
		// On a busy machine a request with a connection of its own may take 20 ms, and a median needs 20 of them.
		"duration: 1s, warmup: 200ms", "duration: 600ms, warmup: 50ms", "duration: 2s, warmup: 200ms",
		"duration: 600ms, warmup: 50ms", "rate: 20/s", "rate: 200/s", "blocks: 12", "blocks: 2").Replace(string(text))
	dir := workspace(t)
	cmd := exec.Command(program, "run", "--force", "-f", "json", write(t, dir, changed))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a := answerOf(t, out, dir)
	wantNoFailures(t, a)
	for i := range asked {
		if asked[i].Load() < 20 {
			t.Errorf("address %d was asked %d times", i, asked[i].Load())
		}
	}
	compared := map[string]bool{}
	for _, c := range a.Comparisons {
		compared[c.Workload] = compared[c.Workload] || c.Difference != nil
	}
	for _, w := range []string{"page", "new-page", "users", "program"} {
		if !compared[w] {
			t.Errorf("%s is not compared: %+v", w, a.Comparisons)
		}
	}
	// Two objectives, each in both arms.
	if len(a.Comparisons) < 4 || len(a.Objectives) != 4 {
		t.Errorf("%d comparisons, objectives %+v", len(a.Comparisons), a.Objectives)
	}
}

// TestSlowdownLab: each of the four applications waits for the wire as often as the README of labs/slowdown says, and
// its slow-down is in the answer.
func TestSlowdownLab(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("PostgreSQL starts as another user only if that user's files can be made")
	}
	for _, p := range [][2]string{{"redis-server", "redis-server"}, {"redis-tools", "redis-benchmark"},
		{"nginx-light", "/usr/sbin/nginx"}, {"apache2-utils", "ab"}, {"postgresql", "pgbench"},
		{"mosquitto", "/usr/sbin/mosquitto"}, {"mosquitto-clients", "mosquitto_pub"}} { //nolint:misspell // their names
		need(t, p[0], p[1])
	}
	const most = 1e-3 // the round trip of the longest wire, in seconds
	a := measure(t, ofLab(t, "slowdown", "blocks: 12", "blocks: 2", "iterations: 1000", "iterations: 300",
		"iterations: 500", "iterations: 200",
		"  rtt-100us: {lab: {path: [wire: {rate: 1Gbit/s, delay: 50us}]}}\n", "",
		"  rtt-200us: {lab: {path: [wire: {rate: 1Gbit/s, delay: 100us}]}}\n", "",
		"  rtt-500us: {lab: {path: [wire: {rate: 1Gbit/s, delay: 250us}]}}\n", ""), "--force")
	wantNoFailures(t, a)
	for _, w := range []struct {
		name, metric string
		trips        float64
	}{
		{"cache", "get_time", 1}, {"pages", "page_time", 2}, {"broker", "fetch_time", 200 - 1},
		{"database", "transaction_time", 7},
	} {
		slowest := smallest(t, a, "rtt-1ms", w.name, w.metric, "")
		t.Logf("%s: %.3f ms, without the wire %.3f ms", w.name, slowest*1e3,
			smallest(t, a, "rtt-0", w.name, w.metric, "")*1e3)
		if least := 0.95 * w.trips * most; slowest < least { // programs round what they print
			t.Errorf("%s: %v s, less than %v round trips of %v s", w.name, slowest, w.trips, most)
		}
		found := false
		for _, c := range a.Comparisons {
			found = found || c.Workload == w.name && c.Metric == w.metric && c.Arm == "rtt-1ms" && c.Relative != nil
		}
		if !found {
			t.Errorf("%s has no slow-down: %+v", w.name, a.Comparisons)
		}
	}
}
