//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/conclude/bisect"
)

// bisected runs nearfar bisect and returns what it found.
func bisected(t *testing.T, dir string, args ...string) bisect.Result {
	t.Helper()
	var r bisect.Result
	out := nearfar(t, dir, nil, append([]string{"bisect", "-f", "json"}, args...)...)
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r
}

// wires is a lab whose wire has the delay of the step. A trial is long enough for a median, 20 round trips, also while
// the machine is busy: without one, the figure is the mean.
const wires = `
nearfar: v1
name: wires
baseline: far
arms:
  far: {lab: {path: [bridge, wire: {delay: "${STEP}"}, bridge]}}
workloads:
  - {name: rr, tool: native, mode: rr, duration: 400ms, warmup: 20ms}
`

// TestBisectWire: of ten wires, the first that is 2 ms longer each way is found, with the figure that the file names
// first. On a busy machine round trips of half a millisecond may take three times as long.
func TestBisectWire(t *testing.T) {
	dir := workspace(t)
	var steps strings.Builder
	for i := range 10 {
		delay := 200 + i
		if i >= 6 {
			delay += 2000
		}
		fmt.Fprintf(&steps, "%dus\n", delay)
	}
	if err := os.WriteFile(filepath.Join(dir, "delays.txt"), []byte(steps.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	r := bisected(t, dir, write(t, dir, wires), "--steps", "delays.txt", "--seed", "1")
	if r.Outcome != bisect.Found || r.First.Name != "2206us" || r.Quantity.Name() != "rtt p50" || r.Risk > 0.05 {
		t.Errorf("%+v", r)
	}
	if d := r.Difference; d == nil || *d < 3.9e-3 {
		t.Errorf("the difference is %v, and there are 2 ms more each way", d)
	}
	t.Logf("%d visits: %s", r.Visits, r.Verdict)
	if again := bisected(t, dir, "--resume", r.Directory); again.Visits != r.Visits || again.Verdict != r.Verdict {
		t.Errorf("read again: %+v", again)
	}
}

// service is a service in Python that answers after a delay.
const service = `import http.server, sys, time

DELAY = %s

class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(DELAY)
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Service).serve_forever()
`

// TestBisectCommits: the example of docs/bisect.md finds the commit that made a service slower, past one that does not
// start.
func TestBisectCommits(t *testing.T) {
	t.Parallel()
	need(t, "curl", "curl")
	need(t, "git", "git")
	repo := folder(t, "", "")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=Test", "-c", "user.email=test@localhost"},
			args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--initial-branch=main")
	hashes := []string{""}
	for n := 1; n <= 8; n++ {
		text := fmt.Sprintf(service, "0.001")
		switch {
		case n == 3:
			text = "import missing\n"
		case n >= 6:
			text = fmt.Sprintf(service, "0.006")
		}
		text += fmt.Sprintf("# commit %d\n", n)
		if err := os.WriteFile(filepath.Join(repo, "service.py"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", "service.py")
		git("commit", "--quiet", "--message", fmt.Sprintf("commit %d", n))
		hashes = append(hashes, git("rev-parse", "HEAD"))
	}
	git("tag", "v1", hashes[1])
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "bisect.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := fenced.FindSubmatch(text)
	if example == nil || !strings.Contains(string(example[1]), "\nname: service\n") {
		t.Fatal("docs/bisect.md does not begin with the example of the service")
	}
	dir := workspace(t)
	r := bisected(t, dir, write(t, dir, string(example[1])), "--set", "REPO="+repo, "--git", repo, "--good", "v1", "--bad",
		"main", "--place", "git -C "+repo+" checkout --quiet {step}", "--checks", "0")
	if r.Outcome != bisect.Found || r.First.Name != hashes[6] || r.First.About != "commit 6" ||
		r.Before.Name != hashes[5] {
		t.Errorf("%+v", r)
	}
	t.Logf("%d visits: %s", r.Visits, r.Verdict)
}
