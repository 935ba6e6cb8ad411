//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/kits/winetest"
	"nearfar/internal/onhost/agent/tls"
)

// A windowsAgent is `nearfar-agent agent` under Wine.
type windowsAgent struct {
	t     *testing.T
	join  string
	ended chan error

	mu   sync.Mutex
	said bytes.Buffer
}

// Write receives standard error.
func (a *windowsAgent) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.said.Write(b)
}

func startWindowsAgent(t *testing.T, w *winetest.Wine, program string, args ...string) *windowsAgent {
	t.Helper()
	a := &windowsAgent{t: t, ended: make(chan error, 1)}
	cmd := exec.Command(w.Loader, append([]string{program, "agent"}, args...)...)
	cmd.Env = append(os.Environ(), w.Env...)
	cmd.Stderr = a
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if the test has failed
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("no join string: %v\n%s", cmd.Wait(), &a.said)
	}
	a.join = lines.Text()
	go func() {
		for lines.Scan() { // until it ends
		}
		a.ended <- cmd.Wait()
	}()
	return a
}

// wantEnd waits for the end of the agent, after which nothing of its folder is left.
func (a *windowsAgent) wantEnd() {
	a.t.Helper()
	select {
	case err := <-a.ended:
		a.mu.Lock()
		defer a.mu.Unlock()
		if err != nil || !strings.Contains(a.said.String(), "the run is over, and nothing that it started is left") {
			a.t.Errorf("the agent ended with %v: %s", err, &a.said)
		}
	case <-time.After(patience):
		a.t.Error("the agent does not end")
	}
}

// TestWindowsAgents runs experiments between agents for Windows, under Wine, and this machine. Their figures are not
// judged.
func TestWindowsAgents(t *testing.T) {
	t.Parallel()
	w := winetest.New(t)
	program := w.WithUDP(t, w.Build(t, "agent.exe", "nearfar/cmd/nearfar-agent", false), "nearfar-agent.exe")
	for _, name := range []string{"latte", "ntttcp"} {
		built := w.Build(t, "built.exe", "../measure/tool/testdata/standins/"+name, false)
		w.WithUDP(t, built, filepath.Join("tools", name+".exe"))
	}
	// between measures between two agents, one for each direction of dialling. The blocks would be too few for an
	// answer.
	between := func(t *testing.T, file string) answer.Answer {
		tools := winetest.OnWindows(filepath.Join(w.Folder, "tools"))
		one := startWindowsAgent(t, w, program, "--listen", "127.0.0.1:0", "--path", tools)
		two := startWindowsAgent(t, w, program, "--dial", fmt.Sprintf("127.0.0.1:%d", freePorts(t)), "--path", tools,
			"--peers", "127.0.0.0/8")
		for _, a := range []*windowsAgent{one, two} {
			if _, err := tls.ParseJoin(a.join); err != nil {
				t.Fatal(err)
			}
		}
		hosts := fmt.Sprintf(`nearfar: v1
name: windows
placement: split
hosts:
  one: {agent: "${ONE}", address: 127.0.0.1, port: %d}
  two: {agent: "${TWO}", address: 127.0.0.1, port: %d}
  here: {local: {}, address: 127.0.0.1, port: %d}
`, freePorts(t), freePorts(t), freePorts(t))
		a := measure(t, hosts+file, "--set", "ONE="+one.join, "--set", "TWO="+two.join, "--force")
		one.wantEnd()
		two.wantEnd()
		return a
	}
	t.Run("supervise", func(t *testing.T) {
		t.Parallel()
		built := w.Build(t, "supervise.exe", "nearfar/internal/onhost/supervise", true)
		tests := platform{prefix: []string{w.Loader, built}, env: w.Env}
		if said := tests.output(t, "", "-test.v"); !strings.Contains(said, "--- PASS: TestEnvironment") {
			t.Errorf("the tests of supervise for Windows print %s", said)
		}
	})
	t.Run("native", func(t *testing.T) {
		t.Parallel()
		a := between(t, `
arms:
  windows: {client: one, server: two}
  to: {client: here, server: two}
  from: {client: one, server: here}
workloads:
  - {name: tcp, tool: native, mode: rr, duration: 300ms, warmup: 50ms}
  - {name: udp, tool: native, mode: rr, protocol: udp, duration: 300ms, warmup: 50ms}
schedule: {blocks: 2, seed: 1}
`)
		wantNoFailures(t, a)
		seen := trials(t, a)
		if len(seen) != 12 {
			t.Errorf("%d trials, want 12", len(seen))
		}
		for _, tr := range seen {
			// A busy machine may leave too few observations for a percentile.
			v, ok := tr.Value("rtt", "mean")
			if t.Logf("%s of %s: mean %.0f us", tr.Workload, tr.Arm, v*1e6); !ok || v <= 0 {
				t.Error("this is no round trip")
			}
			client, server := "windows/amd64", "windows/amd64"
			switch tr.Arm {
			case "to":
				client = native().system
			case "from":
				server = native().system
			}
			if tr.Facts["os"] != client || tr.Facts["server.os"] != server {
				t.Errorf("%s: measured from %s to %s", tr.Arm, tr.Facts["os"], tr.Facts["server.os"])
			}
		}
	})
	// latte and ntttcp are stand-ins (internal/measure/tool/testdata/standins): programs of this project that take the
	// options of the real ones and print in their format.
	t.Run("stand-ins", func(t *testing.T) {
		t.Parallel()
		a := between(t, `
arms:
  windows: {client: one, server: two}
workloads:
  - {name: latte, tool: latte, mode: rr, duration: 1s}
  - {name: latte-udp, tool: latte, mode: rr, protocol: udp, duration: 1s}
  - {name: latte-counted, tool: latte, mode: rr, iterations: 50, duration: 20s}
  - {name: ntttcp, tool: ntttcp, connections: 4, message: 8192B, duration: 1s}
schedule: {blocks: 1, seed: 1}
`)
		wantNoFailures(t, a)
		for _, tr := range trials(t, a) {
			metric, stat := "rtt", "mean"
			if tr.Workload == "ntttcp" {
				metric, stat = "goodput", ""
			}
			if v, ok := tr.Value(metric, stat); !ok || v <= 0 {
				t.Errorf("%s: %s %s is %v", tr.Workload, metric, stat, v)
			}
			if n := tr.Facts["iterations"]; tr.Workload == "latte-counted" && n != "50" {
				t.Errorf("%s: latte made %s round trips, want 50", tr.Workload, n)
			}
		}
	})
}
