//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/agent/daemon"
	"nearfar/internal/onhost/host"
)

// ownerVerb makes the test binary open a host, start a tree of processes, print the number of one, and wait.
const ownerVerb = "owner"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case hosttest.Verb:
			os.Exit(hosttest.Main(os.Args[1:]))
		case Verb:
			err = daemon.Serve(context.Background(), daemon.Options{
				Folder: os.Args[4], Attached: true, Work: []string{"agent-work"},
			}, os.Stdin, os.Stdout)
		case "agent-work":
			err = daemon.Work(context.Background(), daemon.Options{Folder: os.Args[3]}, os.Stdin)
		case ownerVerb:
			err = own(os.Args[2])
		default:
			os.Exit(m.Run())
		}
		if err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// own is the owner that the test kills.
func own(folder string) error {
	c, err := Open(context.Background(), agent.Options{Name: "here"}, folder)
	if err != nil {
		return err
	}
	// setsid waits: output is read only for a short time after the end of the process.
	_, err = c.Host().Start(context.Background(), host.Cmd{
		Argv: []string{"env", "-i", "setsid", "--wait", "sh", "-c",
			`(trap "" TERM HUP; while :; do /bin/sleep 1; done) & echo $!; wait`},
		Stdout: os.Stdout,
	})
	if err != nil {
		return err
	}
	if err := c.Host().Put(context.Background(), "file", 0o600, strings.NewReader("content")); err != nil {
		return err
	}
	select {}
}

// TestKilledOwner: SIGKILL of the program that opened the host leaves no process and no file.
func TestKilledOwner(t *testing.T) {
	folder, err := os.MkdirTemp("", "local-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	cmd := exec.CommandContext(t.Context(), os.Args[0], ownerVerb, folder)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	wait(t, "the process to end", func() bool { return unix.Kill(pid, 0) != nil })
	wait(t, "the files to go", func() bool {
		left, err := os.ReadDir(folder)
		return err == nil && len(left) == 0
	})
	wait(t, "the agent to end", func() bool { return !mentioned(folder) })
}

// mentioned says whether a process has the text on its command line.
func mentioned(text string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(text)) {
			return true
		}
	}
	return false
}

func wait(t *testing.T, what string, until func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !until(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// TestConformance runs the suite.
func TestConformance(t *testing.T) {
	open := func(t *testing.T, name string) host.Host {
		c, err := Open(t.Context(), agent.Options{Name: name, Endpoint: hosttest.Loopback(t, name)}, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c.Host()
	}
	hosttest.Run(t, hosttest.Kind{
		Hosts:     func(t *testing.T) (client, server host.Host) { return open(t, "client"), open(t, "server") },
		Processes: true, Signals: true, Pinning: true, Files: true, IPv6: true,
	})
}

// TestClosed: a closed host starts nothing, and is not called lost.
func TestClosed(t *testing.T) {
	c, err := Open(t.Context(), agent.Options{Name: "here"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	_, err = c.Host().Start(t.Context(), host.Cmd{Argv: []string{"true"}})
	if err == nil || errors.Is(err, host.ErrLost) {
		t.Errorf("a start on a closed host gives %v", err)
	}
}
