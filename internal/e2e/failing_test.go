//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/rundir"
)

const halfBroken = `
nearfar: v1
name: failing
baseline: good
arms:
  good: {lab: {path: [bridge]}}
  bad: {lab: {path: [bridge, bridge]}}
workloads: [{name: bulk, tool: iperf3, protocol: udp, rate: 20Mbit/s, duration: 1s}]
schedule: {blocks: 1, seed: 5}
`

// brokenIperf3 makes a program called iperf3 that fails as a client of the second arm, and returns a PATH on which it
// comes first.
func brokenIperf3(t *testing.T, dir string) string {
	t.Helper()
	real, err := exec.LookPath("iperf3")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\ncase \"$*\" in *10.2.0.2*-J*|*-J*10.2.0.2*) echo broken >&2; exit 1;; esac\n" +
		"exec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "iperf3"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")
}

// TestFailingRunSaysSo: if all trials of an arm fail, the exit code and the first sentence say so. A resume with
// --retry-failed repeats the failed trials.
func TestFailingRunSaysSo(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	cmd := exec.Command(program, "run", "--force", "-f", "json", write(t, dir, halfBroken))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), brokenIperf3(t, dir))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("ended with %v, want exit code 1", err)
	}
	var a answer.Answer
	if err := json.Unmarshal(stdout.Bytes(), &a); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if want := "All trials of bad failed. "; !strings.HasPrefix(a.Verdict, want) || a.State != rundir.Complete {
		t.Errorf("the run is %s, and its verdict %q; want one that begins with %q", a.State, a.Verdict, want)
	}
	if !strings.Contains(stderr.String(), "All trials of bad failed. The first: ") {
		t.Errorf("standard error: %s", stderr.Bytes())
	}
	// Without the broken program.
	again := answerOf(t, nearfar(t, dir, nil, "run", "-f", "json", "--resume", a.Run, "--retry-failed"), "")
	if again.Failing != "" || again.Failed != again.Replaced || again.Failed != a.Failed || again.Trials != a.Trials+1 {
		t.Errorf("after the repetition %d of %d trials failed, %d replaced; the verdict is %q",
			again.Failed, again.Trials, again.Replaced, again.Verdict)
	}
}
