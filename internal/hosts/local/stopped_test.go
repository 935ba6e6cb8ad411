//go:build linux

package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// TestStoppedWorker: a worker that was stopped (SIGSTOP) is killed after the time of silence, with what it started: a
// measured server must not listen on.
func TestStoppedWorker(t *testing.T) {
	folder, err := os.MkdirTemp("", "local-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	c, err := Open(t.Context(), agent.Options{Name: "here", Silence: 2 * time.Second, Limit: 2 * time.Second}, folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	printed := host.NewTail(100)
	_, err = c.Host().Start(t.Context(), host.Cmd{
		Argv: []string{"setsid", "--wait", "sh", "-c", "echo $$; exec sleep 1000"}, Stdout: printed,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := 0
	wait(t, "the process to print its number", func() bool {
		server, _ = strconv.Atoi(strings.TrimSpace(printed.String()))
		return server > 0
	})
	worker := workerOf(t, folder)
	if err := unix.Kill(worker, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	wait(t, "the server of the stopped worker to end", func() bool { return unix.Kill(server, 0) != nil })
	t.Logf("it ended %v after the worker was stopped", time.Since(stopped).Round(time.Millisecond))
	wait(t, "the files to go", func() bool {
		left, err := os.ReadDir(folder)
		return err == nil && len(left) == 0
	})
}

// workerOf finds the worker of the agent with a folder below this one.
func workerOf(t *testing.T, folder string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		words := bytes.Split(bytes.TrimRight(line, "\x00"), []byte{0})
		if err == nil && len(words) >= 4 && string(words[1]) == "agent-work" && strings.HasPrefix(string(words[3]), folder) {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("the agent has no worker")
	return 0
}
