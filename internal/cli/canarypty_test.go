//go:build linux

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/base/clean"
)

// TestCanaryOnATerminal prints a run with hostile texts to a pseudo-terminal, in the formats for programs too. The only
// escape sequences in the output are the report's colours.
func TestCanaryOnATerminal(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Setenv("LC_ALL", "C.UTF-8")
	m := canaryRun()
	m.text = canary
	run := made(t, "run", m)
	h := readHostile(t, run)
	for _, old := range []string{"What was made up?", "0.1.0", "vxlan"} {
		renamed(h.manifest, old, old+canary)
		renamed(h.trials, old, old+canary)
	}
	h.write(t, run)
	painted := false
	for _, args := range [][]string{
		{"report", run}, {"report", "-f", "json", run}, {"report", "-f", "csv", run},
		{"report", "-f", "markdown", run}, {"report", "-f", "openmetrics", run},
		{"report", "-f", "html", run}, {"gate", run}, {"gate", "-f", "json", run}, {"gate", "-f", "junit", run},
		{"compare", run, run},
		{"compare", "-f", "json", run, run}, {"history", filepath.Dir(run)},
		{"history", "-f", "json", filepath.Dir(run)}, {"report", canary},
	} {
		p := newPTY(t, 100, 24)
		Main(args, strings.NewReader(""), p.slave, p.slave)
		fmt.Fprintln(p.slave, "end of output")
		p.await("end of output", 0)
		text := strings.ReplaceAll(p.text(), "\r\n", "\n")
		for _, colour := range clean.Colours() {
			painted = painted || strings.Contains(text, colour)
			text = strings.ReplaceAll(text, colour, "")
		}
		wantPlain(t, strings.Join(args[:2], " "), text)
	}
	if !painted {
		t.Error("no report had colours")
	}
}

// processSays is nearfarSays in a process of its own, which the lab needs.
func processSays(t *testing.T, what string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "nearfar", args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", what, err)
	}
	wantPlain(t, what+", standard output", stdout.String())
	wantPlain(t, what+", standard error", stderr.String())
	return stdout.String() + stderr.String()
}

// TestCanaryFromTools: the output of a tool appears, escaped, in the errors of its trials and in the last message.
func TestCanaryFromTools(t *testing.T) {
	skipMeasuring(t)
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf '" + `\033]0;owned\007\033[2J\302\233\233\r\342\200\256bad` + "' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "ping"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	file := strings.Replace(fmt.Sprintf(liveFile, 1), "tool: native, mode: rr, duration: 300ms, warmup: 20ms",
		"tool: ping, mode: ping, duration: 300ms", 1)
	if err := os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	said := processSays(t, "tool", "run", "--force", "--progress", "plain", "--out",
		filepath.Join(dir, "runs"), filepath.Join(dir, "e.yaml"))
	if !strings.Contains(said, "every trial failed; the first: ") || !strings.Contains(said, "bad") {
		t.Errorf("what the tool said is not in the message: %s", said)
	}
}

// TestCanaryInPlans: the plan of a resumed run shows the names in run.json escaped.
func TestCanaryInPlans(t *testing.T) {
	skipMeasuring(t)
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "e.yaml"), fmt.Appendf(nil, liveFile, 1), 0o644); err != nil {
		t.Fatal(err)
	}
	processSays(t, "run", "run", "--force", "--out", filepath.Join(dir, "runs"), filepath.Join(dir, "e.yaml"))
	runs, err := filepath.Glob(filepath.Join(dir, "runs", "*"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("%v, %v", runs, err)
	}
	said := processSays(t, "plan", "run", "--resume", runs[0], "--dry-run")
	if !strings.Contains(said, "Commands") {
		t.Errorf("no plan: %s", said)
	}
	h := readHostile(t, runs[0])
	for _, old := range []string{"try", "How much does a bridge add?", "switched", "rr", "native"} {
		manifest := renamed(readHostile(t, runs[0]).manifest, old, old+canary).(map[string]any)
		hostile{manifest: manifest, trials: h.trials}.write(t, filepath.Join(dir, "other"))
		processSays(t, old, "run", "--resume", filepath.Join(dir, "other"), "--dry-run")
	}
}
