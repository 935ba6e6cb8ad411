package hosttest

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/host"
)

// processes tests what only operating system processes have. It skips kinds of hosts whose processes are functions.
func (s suite) processes(t *testing.T) {
	if r := run(t, s.client(t), self("kind")); r.err != nil || r.stdout != "process" {
		if r.stdout == "function" && r.err == nil {
			t.Skip("this kind of host runs functions, not processes")
		}
		t.Fatalf("the host runs %q (%v)", r.stdout, r.err)
	}
	t.Run("environment", s.environment)
	t.Run("CPUs", s.cpus)
	t.Run("put", s.put)
	t.Run("signal", s.signal)
	t.Run("stop what ignores SIGTERM", s.stopStubborn)
	t.Run("cancel a tree", s.cancelTree)
	t.Run("output held open", s.heldOpen)
	t.Run("close kills all", s.closeKills)
}

func (s suite) environment(t *testing.T) {
	c := s.client(t)
	cmd := self("env", "HOSTTEST")
	run(t, c, cmd).want(t, "", "")
	cmd.Env = []string{"HOSTTEST=a b=c;'d'"}
	run(t, c, cmd).want(t, "a b=c;'d'", "")
	cmd = self("env", "PATH")
	cmd.Env = []string{"HOSTTEST=1"} // added to the environment, which stays
	if r := run(t, c, cmd); r.err != nil || r.stdout == "" {
		t.Errorf("PATH is %q (%v)", r.stdout, r.err)
	}
}

func (s suite) cpus(t *testing.T) {
	c := s.client(t)
	free := run(t, c, self("cpus"))
	first, _, _ := strings.Cut(strings.NewReplacer(",", "-").Replace(free.stdout), "-")
	cpu, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("CPUs are %q (%v)", free.stdout, free.err)
	}
	pinned := self("cpus")
	pinned.CPUs = []int{cpu}
	run(t, c, pinned).want(t, first, "")
	run(t, c, self("cpus")).want(t, free.stdout, "") // the next one is free again
	pinned.CPUs = []int{100000}
	if p, err := c.Start(t.Context(), pinned); err == nil {
		t.Errorf("a process runs on CPU 100000 (%v)", p.Wait())
	}
}

func (s suite) put(t *testing.T) {
	c := s.client(t)
	const path = "/tmp/hosttest/deep/file"
	for _, content := range []string{"first", "second\x00", ""} { // each replaces the one before
		if err := c.Put(t.Context(), path, 0o600, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		run(t, c, self("file", path)).want(t, content, "")
	}
	if err := c.Put(t.Context(), path, 0o600, brokenReader{strings.NewReader("half")}); err == nil {
		t.Error("half a file was put")
	}
	run(t, c, self("file", path)).want(t, "", "")
}

func (s suite) signal(t *testing.T) {
	r := run(t, s.client(t), self("kill-self"))
	var exit *host.ExitError
	if !errors.As(r.err, &exit) || exit.Code != -1 || !strings.Contains(strings.ToLower(exit.Signal), "kill") {
		t.Errorf("a process that a signal ended gives %v", r.err)
	}
}

func (s suite) stopStubborn(t *testing.T) {
	c := s.client(t)
	p, child := start(t.Context(), t, c, self("tree"))
	// Parent and child ignore SIGTERM, and the child is in a session of its own.
	within(t, "stopping", func() {
		if err := p.Stop(10 * time.Millisecond); err != nil {
			t.Error(err)
		}
	})
	var exit *host.ExitError
	if err := p.Wait(); !errors.As(err, &exit) {
		t.Errorf("a process that was killed gives %v", err)
	}
	gone(t, c, child)
}

func (s suite) cancelTree(t *testing.T) {
	c := s.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, child := start(ctx, t, c, self("tree"))
	cancel()
	within(t, "ending with the context", func() {
		if err := p.Wait(); err == nil {
			t.Error("a killed process ended without an error")
		}
	})
	gone(t, c, child)
}

func (s suite) heldOpen(t *testing.T) {
	c := s.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := self("orphan")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	p, err := c.Start(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	within(t, "waiting for a process whose child holds its output open", func() {
		if err := p.Wait(); err != nil {
			t.Error(err, stderr.String())
		}
	})
	if !isAlive(t, c, strings.TrimSpace(stdout.String())) {
		t.Fatal("the child, which holds the output open, is not there")
	}
}

func (s suite) closeKills(t *testing.T) {
	c, sv := s.pair(t)
	_, child := start(t.Context(), t, c, self("tree"))
	if !isAlive(t, c, child) {
		t.Fatal("the child is not there")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// The server can look for the child, because both hosts see the same process numbers.
	gone(t, sv, child)
}

func isAlive(t *testing.T, h host.Host, pid string) bool {
	t.Helper()
	r := run(t, h, self("alive", pid))
	var exit *host.ExitError
	if r.err == nil {
		return true
	}
	if !errors.As(r.err, &exit) || exit.Code != 1 {
		t.Fatalf("asking for process %q: %v %s", pid, r.err, r.stderr)
	}
	return false
}

// gone waits until a process is gone; a zombie may stay for a moment.
func gone(t *testing.T, h host.Host, pid string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for isAlive(t, h, pid) {
		if time.Now().After(deadline) {
			t.Fatalf("process %s lives on", pid)
		}
	}
}
