//go:build linux

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// started runs the program with a pipe as its standard input. It returns after the program has read from the pipe,
// because the program then handles signals.
func started(t *testing.T, ctx context.Context, dir string, args ...string) *exec.Cmd {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	cmd := exec.CommandContext(ctx, "nearfar", args...)
	cmd.Dir, cmd.Stdin = dir, r
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	for left := 1; left > 0; {
		if left, err = unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// startedAtPipe runs the program, and returns when it has opened the named pipe, which never delivers anything.
func startedAtPipe(t *testing.T, ctx context.Context, dir, pipe string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, "nearfar", args...)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(filepath.Join(dir, pipe), os.O_WRONLY, 0) // blocks until the reader opens the pipe
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return cmd
}

// TestInterruptDuringInput: the first Ctrl-C ends every verb that is waiting for input.
func TestInterruptDuringInput(t *testing.T) {
	dir := t.TempDir()
	m := madeRun{arms: []string{"a", "b"}, workloads: []string{"w"}, blocks: 2, level: 1e-5}
	if err := m.write(filepath.Join(dir, "sound")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"import", "-"}, {"import", "--run", "x", "--arm", "a=-"}, {"run", "-"}, {"validate", "-"},
		{"compare", "-", "sound"}, {"gate", "sound", "-", "--fail-if", "* rtt.p50 > 1s"},
		{"import", "pipe"}, {"run", "pipe"}, {"compare", "pipe", "sound"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), hostileWait)
			defer cancel()
			var cmd *exec.Cmd
			if slices.Contains(args, "pipe") {
				cmd = startedAtPipe(t, ctx, dir, "pipe", args...)
			} else {
				cmd = started(t, ctx, dir, args...)
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the exit code is checked below
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("ends with %d (%v)", code, ctx.Err())
			}
			if left, err := filepath.Glob(filepath.Join(dir, "runs", "*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestSecondInterruptEndsEverything: a verb that does not react to the first Ctrl-C ends with the second. The verb here
// waits for a pipe that nothing writes to, and is not one of the verbs that readsOnly abandons. A SIGTERM between the
// two does not count.
func TestSecondInterruptEndsEverything(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, between := range []os.Signal{nil, syscall.SIGTERM} {
		ctx, cancel := context.WithTimeout(t.Context(), hostileWait)
		defer cancel()
		cmd := startedAtPipe(t, ctx, dir, "pipe", "engine", "samples", "pipe", "--csv")
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // the exit code is checked below
			close(ended)
		}()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		waitForHandled(t, cmd.Process.Pid)
		if between != nil {
			if err := cmd.Process.Signal(between); err != nil {
				t.Fatal(err)
			}
			waitForHandled(t, cmd.Process.Pid)
		}
		select {
		case <-ended:
			t.Fatal("the program ended before the second Ctrl-C")
		default:
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(hostileWait):
			t.Fatal("the program has not ended")
		}
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("ends with %d (%v)", code, ctx.Err())
		}
	}
}

// TestEverySignalLeavesAnAnswer: after any signals, a run leaves its state, the answer so far, and how to continue it.
// `timeout` sends SIGTERM to the process and again to its group.
func TestEverySignalLeavesAnAnswer(t *testing.T) {
	t.Parallel()
	for _, signals := range [][]os.Signal{
		{syscall.SIGTERM, syscall.SIGTERM}, {syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM, syscall.SIGHUP},
		{os.Interrupt, syscall.SIGTERM}, {os.Interrupt, os.Interrupt},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), hostileWait)
		defer cancel()
		cmd := exec.CommandContext(ctx, "nearfar", "run", "-f", "json", "--progress", "plain")
		var answered bytes.Buffer
		cmd.Dir, cmd.Stdout = liveDir(t, 5000), &answered
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		sent := false
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if sent || !strings.Contains(lines.Text(), "block 1/5000") {
				continue
			}
			sent = true
			for _, s := range signals {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // the exit code is checked below
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("%v: ends with %d: %s", signals, code, said.String())
		}
		runs, err := filepath.Glob(filepath.Join(cmd.Dir, "runs", "*", "run.json"))
		if err != nil || len(runs) != 1 {
			t.Fatalf("%v: %v, %v", signals, runs, err)
		}
		manifest, err := os.ReadFile(runs[0])
		if err != nil || !strings.Contains(string(manifest), `"state": "interrupted"`) {
			t.Errorf("%v: the state is not interrupted, %v", signals, err)
		}
		if !strings.Contains(answered.String(), `"verdict"`) || !strings.Contains(said.String(), "nearfar run --resume runs/") {
			t.Errorf("%v: no answer or no hint: %s\n%s", signals, said.String(), &answered)
		}
	}
}

// waitForHandled waits until an idle process has handled a signal that was sent to it: twice in a row, no signal is
// pending and all threads sleep. Before that the kernel, or Go's runtime, would merge the signal with a second one of
// the same kind.
func waitForHandled(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(hostileWait)
	for idle := 0; idle < 2; {
		if time.Now().After(deadline) {
			t.Fatal("the program does not come to rest after the first signal")
		}
		idle++
		threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "status"))
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			status, err := os.ReadFile(thread)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
				continue // the thread has ended
			}
			if err != nil {
				t.Fatal(err)
			}
			_, pending, _ := strings.Cut(string(status), "\nShdPnd:\t")
			if strings.Trim(pending[:16], "0") != "" || !strings.Contains(string(status), "\nState:\tS") {
				idle = 0
			}
		}
	}
}
