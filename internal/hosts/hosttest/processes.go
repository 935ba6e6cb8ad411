package hosttest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// processes tests what only processes of an operating system have.
func (s suite) processes(t *testing.T) {
	want := map[bool]string{true: "process", false: "function"}[s.Processes]
	if r := run(t, s.client(t), self("kind")); r.err != nil || r.stdout != want {
		t.Fatalf("the host runs a %q (%v), want a %s", r.stdout, r.err, want)
	}
	if !s.Processes {
		t.Skip("this kind of host runs functions, not processes")
	}
	t.Run("addresses", s.addresses)
	t.Run("serves by a child", s.servesByChild)
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
	if !s.Pinning {
		pinned := self("exit", "0")
		pinned.CPUs = []int{0}
		if p, err := c.Start(t.Context(), pinned); err == nil {
			t.Errorf("a process was bound to a CPU, which the kind does not declare (%v)", p.Wait())
		}
		return
	}
	free := run(t, c, self("cpus"))
	first, _, _ := strings.Cut(free.stdout, " ")
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
	const path = "hosttest/deep/file" // below the folder for temporary files
	if !s.Files {
		if err := c.Put(t.Context(), path, 0o600, strings.NewReader("content")); err == nil {
			t.Error("a file was put, which the kind does not declare")
		}
		return
	}
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
	if !s.Signals {
		t.Skip("this kind of host has no signals")
	}
	r := run(t, s.client(t), self("kill-self"))
	var exit *host.ExitError
	if !errors.As(r.err, &exit) || exit.Code != -1 || !strings.Contains(strings.ToLower(exit.Signal), "kill") {
		t.Errorf("a process that a signal ended gives %v", r.err)
	}
}

// trees are the pair of hosts of a test that looks for a child of a process. The server looks, because it can do so
// even after the client has ended: it dials a port on which the child answers.
type trees struct {
	client, server host.Host
	port, address  string
}

// treesOn are for a test on the shared pair or on its own.
func treesOn(t *testing.T, c, sv host.Host) trees {
	t.Helper()
	_, dial, err := host.Pair{Client: sv.Endpoint(), Server: c.Endpoint()}.Addresses(0)
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(c.Endpoint().Ports().Data)
	return trees{client: c, server: sv, port: port, address: net.JoinHostPort(dial.String(), port)}
}

// tree starts a process with a child that answers. Both ignore SIGTERM, and the child is in a session of its own.
func (tr trees) tree(ctx context.Context, t *testing.T) host.Process {
	t.Helper()
	p, line := start(ctx, t, tr.client, self("tree", tr.port))
	if line != "ready" || !tr.alive(t) {
		t.Fatalf("the child printed %q, or does not answer", line)
	}
	return p
}

// alive says whether the child answers.
func (tr trees) alive(t *testing.T) bool {
	t.Helper()
	r := run(t, tr.server, self("knock", tr.address))
	var exit *host.ExitError
	if r.err != nil && (!errors.As(r.err, &exit) || exit.Code != 1) {
		t.Fatalf("looking for the child: %v %s", r.err, r.stderr)
	}
	return r.err == nil
}

// gone waits until the child no longer answers.
func (tr trees) gone(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); tr.alive(t); {
		if time.Now().After(deadline) {
			t.Fatal("the child lives on")
		}
	}
}

func (s suite) stopStubborn(t *testing.T) {
	c, sv := s.pair(t)
	tr := treesOn(t, c, sv)
	p := tr.tree(t.Context(), t)
	within(t, "stopping", func() {
		if err := p.Stop(10 * time.Millisecond); err != nil {
			t.Error(err)
		}
	})
	if err := p.Wait(); err == nil {
		t.Error("a process that was killed gives no error")
	}
	tr.gone(t)
}

func (s suite) cancelTree(t *testing.T) {
	c, sv := s.pair(t)
	tr := treesOn(t, c, sv)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := tr.tree(ctx, t)
	cancel()
	within(t, "ending with the context", func() {
		if err := p.Wait(); err == nil {
			t.Error("a killed process ended without an error")
		}
	})
	tr.gone(t)
}

func (s suite) heldOpen(t *testing.T) {
	c, sv := s.newPair(t)
	tr := treesOn(t, c, sv)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stderr bytes.Buffer
	cmd := self("orphan", tr.port)
	cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &stderr
	p, err := tr.client.Start(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	within(t, "waiting for a process whose child holds its output open", func() {
		if err := p.Wait(); err != nil {
			t.Error(err, stderr.String())
		}
	})
	if !tr.alive(t) {
		t.Fatal("the child, which holds the output open, does not answer")
	}
}

func (s suite) closeKills(t *testing.T) {
	c, sv := s.newPair(t)
	tr := treesOn(t, c, sv)
	tr.tree(t.Context(), t)
	if err := tr.client.Close(); err != nil {
		t.Fatal(err)
	}
	tr.gone(t)
}

// addresses tests that each host is reached at the addresses that it says, on its first port.
func (s suite) addresses(t *testing.T) {
	c, sv := s.pair(t)
	versions := []int{0}
	if s.IPv6 {
		versions = append(versions, 6)
	}
	for _, way := range [][2]host.Host{{c, sv}, {sv, c}} {
		pair := host.Pair{Client: way[0].Endpoint(), Server: way[1].Endpoint()}
		port := strconv.Itoa(pair.Server.Ports().Data)
		p, _ := start(t.Context(), t, way[1], self("stubborn", port))
		for _, version := range versions {
			_, dial, err := pair.Addresses(version)
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, way[0], self("knock", net.JoinHostPort(dial.String(), port)))
			if r.err != nil {
				t.Errorf("%s does not reach %s at %v: %s", pair.Client.Name, pair.Server.Name, dial, r.stderr)
			}
		}
		if err := p.Stop(0); err != nil {
			t.Error(err)
		}
	}
}

// servesByChild waits for a port that a child of the process holds, in a session of its own.
func (s suite) servesByChild(t *testing.T) {
	h := s.client(t)
	port := h.Endpoint().Ports().Data
	p, err := h.Start(t.Context(), self("parent", "tcp", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.Serves(ctx, "tcp", port); err != nil {
		t.Error(err)
	}
}
