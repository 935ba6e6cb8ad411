//go:build linux

package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A run reads the experiment file and the file of --hosts once: both can be pipes, and all of the run is about one
// content.
func TestExperimentIsReadOnce(t *testing.T) {
	t.Parallel()
	const made = `nearfar: v1
name: once
hosts: {a: {provisioned: true}, b: {provisioned: true}}
provision: {tofu: ./tofu, replace: [aws_instance]}
arms: {one: {client: a, server: b}}
workloads: [{name: rr, tool: native}]
schedule: {blocks: 4, deployments: 2}
`
	const here = "hosts: {a: {local: {}}}\n"
	for _, c := range []struct {
		name  string
		args  []string
		hosts string
		says  string
	}{
		{"run", []string{"run"}, "", "its machines are not up"},
		{"run --yes", []string{"run", "--yes"}, "", "its machines are not up"},
		{"run --down", []string{"run", "--down"}, "", "its machines are not up"},
		{
			"run --down --hosts", []string{"run", "--down", "--hosts", "hosts.yaml"}, here,
			"--hosts hosts.yaml does not say how",
		},
		{"check", []string{"check"}, "", "its machines are not up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			text := made
			if c.hosts != "" { // hosts that the file names are not made anew
				written(t, dir, "hosts.yaml", c.hosts)
				text = strings.Replace(made, ", deployments: 2", "", 1)
			}
			written(t, dir, "made.yaml", text)
			ctx, cancel := context.WithTimeout(t.Context(), hostileWait)
			defer cancel()
			cmd := exec.CommandContext(ctx, "nearfar", append(c.args, "made.yaml")...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
			said, _ := cmd.CombinedOutput() // the exit code is checked below
			if code := cmd.ProcessState.ExitCode(); ctx.Err() != nil || code != exitFailed && code != exitUsage ||
				!strings.Contains(string(said), c.says) {
				t.Errorf("exit code %d (%v): %s", code, ctx.Err(), said)
			}
		})
	}
}

// written makes a pipe into which a text is written once.
func written(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := unix.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w, err := os.OpenFile(path, os.O_WRONLY, 0) // blocks until a reader opens the pipe
		if err == nil {
			_, _ = w.WriteString(text) // the reader can be gone already
			_ = w.Close()
		}
	}()
	t.Cleanup(func() {
		r, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // if no reader came
		<-done
		if err == nil {
			_ = r.Close()
		}
	})
}
