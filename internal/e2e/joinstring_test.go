//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startAgent starts `nearfar agent` with its standard output in a file. It returns the join string.
func startAgent(t *testing.T, dir string, args ...string) string {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(dir, "join.txt"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	cmd := exec.Command(program, append([]string{"agent"}, args...)...)
	cmd.Stdout = file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it may have ended
	})
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(file.Name()); err == nil && strings.HasSuffix(string(text), "\n") {
			if info, err := file.Stat(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file with the join string has mode %v, %v", info.Mode(), err)
			}
			return strings.TrimSpace(string(text))
		}
	}
	t.Fatal("the agent printed no join string")
	return ""
}

// TestJoinStringSurvives: a join string survives runs that end before they measure, and a check. The run that measures
// uses it up. Its answer says between which addresses it measured, although both hosts are one machine.
func TestJoinStringSurvives(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	join := startAgent(t, dir, "--listen", "127.0.0.1:0")
	// The port is not that of tests beside this one.
	const text = `nearfar: v1
name: join
hosts:
  a: {local: {}, port: 7811}
  b: {agent: "${JOIN}", port: 7811}
  %s
arms:
  there: {client: a, server: b}
  back: {client: %s, server: %s}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 100ms, warmup: 20ms}
schedule: {blocks: 1}
`
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for file, content := range map[string]string{
		good: fmt.Sprintf(text, "", "b", "a"), bad: fmt.Sprintf(text, "c: {ssh: nowhere.invalid}", "c", "a"),
	} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	nearfar := func(wantExit int, says string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "JOIN="+join)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != wantExit || !strings.Contains(stderr.String(), says) {
			t.Fatalf("nearfar %q: %v; want %q: %s", args, err, says, stderr.String())
		}
		return string(out)
	}
	const stays = "the join string of host b is not used up: it stays good until "
	run := []string{"run", "--force", "--out", "out"}
	nearfar(1, stays, append(run, bad)...)
	taken, err := net.Listen("tcp", ":7811")
	if err != nil {
		t.Fatal(err)
	}
	nearfar(1, stays, append(run, good)...) // the check of the ports fails
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	nearfar(0, stays, "check", good)
	a := answerOf(t, []byte(nearfar(0, "there: measures between a (", append(run, "-f", "json", good)...)), dir)
	wantNoFailures(t, a)
	if a.Environment == nil || len(a.Environment.Addresses) != 2 ||
		a.Environment.Addresses[0].Server.Address == "" || a.Environment.Addresses[1].Client.Host != "b" {
		t.Errorf("the answer does not say where it measured: %+v", a.Environment)
	}
	for _, format := range []string{"terminal", "markdown", "html"} {
		at := a.Environment.Addresses[0]
		want := "there between " + at.Client.String() + " and " + at.Server.String()
		printed := nearfar(0, "", "report", "-f", format, a.Run)
		if !strings.Contains(strings.Join(strings.Fields(printed), " "), want) {
			t.Errorf("%s does not say %q", format, want)
		}
	}
	nearfar(1, "the agent has ended: start 'nearfar agent' again", append(run, good)...)
}
