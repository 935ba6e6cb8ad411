// Package hosttest is the conformance suite for kinds of hosts: it tests what host.Host promises on real hosts.
//
// A test of each kind of host calls Run. The suite starts the test binary of that package on the hosts: see Verb, or
// Program for a kind of host whose processes are functions.
package hosttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// patience is how long the suite waits for what should happen at once. It is long, so that a busy machine passes.
const patience = time.Minute

// Kind is a kind of hosts, with what its hosts can do. The suite tests the declared abilities, and that all others are
// refused.
type Kind struct {
	// Hosts makes a new pair of hosts, and frees what Close does not free when t ends. The server can reach the ports
	// of the client (host.Endpoint.Ports), and the other way round.
	Hosts func(t *testing.T) (client, server host.Host)
	// Processes says that the hosts run processes of an operating system, with an environment and children, and not
	// functions of the test.
	Processes bool
	// Signals says that a process can be asked to end before it is killed, as SIGTERM does.
	Signals bool
	// Pinning says that processes can be bound to CPUs.
	Pinning bool
	// Files says that Put writes files that processes can read.
	Files bool
	// IPv6 says that both hosts have addresses of IPv6.
	IPv6 bool
	// NoTCPOwner says that the hosts do not tell which process holds a TCP port. Only Wine is like this.
	NoTCPOwner bool
}

// Run runs the suite. Its tests share a pair of hosts, because some kinds need seconds to make one. Tests that close a
// host, or leave a process that only Close ends, make their own pair.
func Run(t *testing.T, kind Kind) {
	s := suite{Kind: kind}
	s.sharedClient, s.sharedServer = s.newPair(t)
	t.Run("endpoints", s.endpoints)
	t.Run("serves", s.serves)
	t.Run("serves after the end", s.servesEnded)
	t.Run("port of a stranger", s.stranger)
	t.Run("output", s.output)
	t.Run("exit status", s.exitStatus)
	t.Run("stdin", s.stdin)
	t.Run("big output", s.bigOutput)
	t.Run("discarded output", s.discardedOutput)
	t.Run("failing writer", s.failingWriter)
	t.Run("missing program", s.missingProgram)
	t.Run("empty command", s.emptyCommand)
	t.Run("stop", s.stop)
	t.Run("cancel", s.cancel)
	t.Run("canceled before", s.canceledBefore)
	t.Run("times", s.times)
	t.Run("wait from several goroutines", s.severalWaits)
	t.Run("parallel starts", s.parallelStarts)
	t.Run("put of what fails", s.putFails)
	t.Run("close", s.close)
	t.Run("processes", s.processes)
}

type suite struct {
	Kind
	sharedClient, sharedServer host.Host
}

// client returns the client of the shared pair.
func (s suite) client(t *testing.T) host.Host {
	t.Helper()
	c, _ := s.pair(t)
	return c
}

// pair returns the shared pair. Processes that the test starts on it must have ended when the test ends.
func (s suite) pair(t *testing.T) (client, server host.Host) {
	t.Helper()
	return borrow(t, s.sharedClient), borrow(t, s.sharedServer)
}

// A borrowed host remembers the processes that a test started on it.
type borrowed struct {
	host.Host
	mu        sync.Mutex
	processes []host.Process
}

// borrow returns a host on which everything that the test starts is ended after the test.
func borrow(t *testing.T, h host.Host) *borrowed {
	t.Helper()
	b := &borrowed{Host: h}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		within(t, "ending the processes of the test", func() {
			for _, p := range b.processes {
				if err := p.Stop(0); err != nil {
					t.Errorf("ending a process of the test: %v", err)
				}
				_ = p.Wait() // how it ended is the test's concern
			}
		})
	})
	return b
}

func (b *borrowed) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	p, err := b.Host.Start(ctx, c)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.processes = append(b.processes, p)
	}
	return p, err
}

// newPair makes a pair of hosts, which is closed when the test ends.
func (s suite) newPair(t *testing.T) (client, server host.Host) {
	t.Helper()
	client, server = s.Hosts(t)
	t.Cleanup(func() {
		for _, h := range []host.Host{client, server} {
			if err := h.Close(); err != nil {
				t.Errorf("closing %s: %v", h.Endpoint().Name, err)
			}
		}
	})
	return client, server
}

// A ran is a process that has ended.
type ran struct {
	stdout, stderr string
	err            error
}

// run starts a command and waits for it.
func run(t *testing.T, h host.Host, c host.Cmd) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	p, err := h.Start(ctx, c)
	if err != nil {
		t.Fatalf("starting %q: %v", c.Argv, err)
	}
	err = p.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%q did not end", c.Argv)
	}
	return ran{stdout: stdout.String(), stderr: stderr.String(), err: err}
}

func (r ran) want(t *testing.T, stdout, stderr string) {
	t.Helper()
	if r.err != nil || r.stdout != stdout || r.stderr != stderr {
		t.Errorf("got %q, %q and error %v; want %q and %q", r.stdout, r.stderr, r.err, stdout, stderr)
	}
}

// started is a process that has printed its first line.
type started struct {
	host.Process
	stdout *lineWriter
}

// start starts a command and waits for its first line.
func start(ctx context.Context, t *testing.T, h host.Host, c host.Cmd) (started, string) {
	t.Helper()
	w := &lineWriter{first: make(chan string, 1)}
	c.Stdout = w
	p, err := h.Start(ctx, c)
	if err != nil {
		t.Fatalf("starting %q: %v", c.Argv, err)
	}
	select {
	case line := <-w.first:
		return started{Process: p, stdout: w}, line
	case <-time.After(patience):
		t.Fatalf("%q printed no line", c.Argv)
	}
	panic("unreachable")
}

// lineWriter keeps all output, and sends the first line to a channel.
type lineWriter struct {
	mu        sync.Mutex
	b         bytes.Buffer
	announced bool
	first     chan string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Write(p)
	if line, _, ok := strings.Cut(w.b.String(), "\n"); ok && !w.announced {
		w.announced = true
		w.first <- line
	}
	return len(p), nil
}

func (w *lineWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// within fails the test where f takes too long.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s takes more than %v", what, patience)
	}
}

func (s suite) endpoints(t *testing.T) {
	c, sv := s.pair(t)
	for _, h := range []host.Host{c, sv} {
		e := h.Endpoint()
		if e.Name == "" || e.System.OS == "" || e.System.Arch == "" || e.Dial == (host.Addresses{}) {
			t.Errorf("endpoint %+v lacks a name, an address or the system", e)
		}
		for _, a := range []host.Addresses{e.Bind, e.Dial} {
			if a.V4.IsValid() && !a.V4.Is4() || a.V6.IsValid() && (!a.V6.Is6() || a.V6.Is4In6()) {
				t.Errorf("endpoint %+v: an address of the wrong IP version", e)
			}
		}
		if e.Dial.V4.IsUnspecified() || e.Dial.V6.IsUnspecified() {
			t.Errorf("endpoint %+v: nobody can dial an unspecified address", e)
		}
		if e.Dial.V6.IsValid() != s.IPv6 {
			t.Errorf("endpoint %+v: its IPv6 address, while the kind declares %v", e, s.IPv6)
		}
		if last := e.Ports().BackgroundControl; e.Ports().Data < 1 || last > 65535 {
			t.Errorf("endpoint %+v: its ports are %+v", e, e.Ports())
		}
	}
	if c.Endpoint().Name == sv.Endpoint().Name {
		t.Errorf("both hosts are called %q", c.Endpoint().Name)
	}
}

func (s suite) output(t *testing.T) {
	c, sv := s.pair(t)
	run(t, c, self("print", "to", "both", "streams")).want(t, "to both streams", "15")
	run(t, sv, self("print", "of the server; 'quoted' $HOME")).want(t, "of the server; 'quoted' $HOME", "29")
	run(t, c, self("print", "")).want(t, "", "0")
}

func (s suite) exitStatus(t *testing.T) {
	c := s.client(t)
	run(t, c, self("exit", "0")).want(t, "", "")
	for _, code := range []int{1, 2, 77, 255} {
		r := run(t, c, self("exit", strconv.Itoa(code)))
		var exit *host.ExitError
		if !errors.As(r.err, &exit) || exit.Code != code || exit.Signal != "" {
			t.Errorf("exit status %d gives %v", code, r.err)
		}
	}
}

func (s suite) stdin(t *testing.T) {
	c := s.client(t)
	cat := self("cat")
	run(t, c, cat).want(t, "", "") // the end of file at once
	cat.Stdin = []byte("a secret\x00\xff\n")
	run(t, c, cat).want(t, "a secret\x00\xff\n", "")
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than any pipe holds
	cat.Stdin = big
	run(t, c, cat).want(t, string(big), "")
	// A process that does not read all of it is not blocked.
	unread := self("exit", "0")
	unread.Stdin = big
	run(t, c, unread).want(t, "", "")
}

func (s suite) bigOutput(t *testing.T) {
	const size = 8 << 20
	r := run(t, s.client(t), self("flood", strconv.Itoa(size)))
	if r.err != nil || len(r.stdout) != size || r.stderr != strings.ToUpper(r.stdout) {
		t.Errorf("got %d and %d bytes and error %v; want %d on both", len(r.stdout), len(r.stderr), r.err, size)
	}
}

func (s suite) discardedOutput(t *testing.T) {
	p, err := s.client(t).Start(t.Context(), self("flood", "1000000"))
	if err != nil {
		t.Fatal(err)
	}
	within(t, "a process without readers", func() {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	})
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func (s suite) failingWriter(t *testing.T) {
	full := errors.New("the disk is full")
	c := self("flood", "1000000")
	c.Stdout = failingWriter{full}
	p, err := s.client(t).Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	within(t, "a process whose output cannot be kept", func() {
		if err := p.Wait(); err == nil {
			t.Error("output that could not be kept is no error")
		}
	})
}

func (s suite) missingProgram(t *testing.T) {
	c := s.client(t)
	_, err := c.Start(t.Context(), host.Cmd{Argv: []string{"no-such-program-anywhere", "-x"}})
	var failure *host.Error
	if !errors.Is(err, host.ErrNotFound) || !errors.As(err, &failure) {
		t.Fatalf("a missing program gives %v", err)
	}
	if failure.Host != c.Endpoint().Name || len(failure.Argv) != 2 {
		t.Errorf("the error names host %q and command %q", failure.Host, failure.Argv)
	}
}

func (s suite) emptyCommand(t *testing.T) {
	if _, err := s.client(t).Start(t.Context(), host.Cmd{}); err == nil {
		t.Error("an empty command was started")
	}
}

func (s suite) stop(t *testing.T) {
	if !s.Signals {
		t.Skip("this kind of host cannot ask a process to end")
	}
	p, line := start(t.Context(), t, s.client(t), self("wait"))
	if line != "ready" {
		t.Fatalf("it printed %q", line)
	}
	within(t, "stopping", func() {
		if err := p.Stop(patience); err != nil {
			t.Error(err)
		}
	})
	if err := p.Wait(); err != nil {
		t.Errorf("a process that ended as asked: %v", err)
	}
	if got := p.stdout.String(); got != "ready\nasked to end\n" {
		t.Errorf("it printed %q", got)
	}
	within(t, "stopping again", func() {
		if err := p.Stop(patience); err != nil {
			t.Errorf("stopping what has ended: %v", err)
		}
	})
}

func (s suite) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, _ := start(ctx, t, s.client(t), self("wait"))
	cancel()
	within(t, "ending with the context", func() { _ = p.Wait() })
}

func (s suite) canceledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, err := s.client(t).Start(ctx, self("wait"))
	if err != nil {
		return // it was not even started
	}
	within(t, "ending with the context", func() { _ = p.Wait() })
}

// times compares times of one host with each other, because its clock may differ from this machine's.
func (s suite) times(t *testing.T) {
	h := s.client(t)
	var before time.Time
	for range 2 {
		p, _ := start(t.Context(), t, h, self("wait"))
		if started, ended := p.Times(); started.IsZero() || started.Before(before) || !ended.IsZero() {
			t.Errorf("a process that runs: started %v, ended %v; another one ended before, at %v",
				started, ended, before)
		}
		if err := p.Stop(s.grace()); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait()
		started, ended := p.Times()
		if ended.Before(started) || ended.IsZero() || started.Before(before) {
			t.Errorf("a process that has ended: started %v, ended %v; another one ended before, at %v", started, ended,
				before)
		}
		before = ended
	}
}

func (s suite) severalWaits(t *testing.T) {
	p, _ := start(t.Context(), t, s.client(t), self("wait"))
	results := make(chan error, 3)
	for range cap(results) {
		go func() { results <- p.Wait() }()
	}
	if err := p.Stop(s.grace()); err != nil {
		t.Fatal(err)
	}
	within(t, "waiting", func() {
		for range cap(results) {
			if err := <-results; (err == nil) != s.Signals { // without signals it was killed
				t.Error(err)
			}
		}
	})
}

func (s suite) parallelStarts(t *testing.T) {
	c, sv := s.pair(t)
	var all sync.WaitGroup
	for i := range 24 {
		h := c
		if i%2 == 1 {
			h = sv
		}
		all.Go(func() {
			word := "number " + strconv.Itoa(i)
			run(t, h, self("print", word)).want(t, word, strconv.Itoa(len(word)))
		})
	}
	all.Wait()
}

// brokenReader fails after some bytes.
type brokenReader struct{ rest io.Reader }

func (r brokenReader) Read(p []byte) (int, error) {
	n, err := r.rest.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (s suite) putFails(t *testing.T) {
	broken := brokenReader{strings.NewReader("half of it")}
	err := s.client(t).Put(t.Context(), "hosttest/half", 0o600, broken)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that cannot be read whole gives %v", err)
	}
}

func (s suite) close(t *testing.T) {
	c, sv := s.newPair(t)
	p, _ := start(t.Context(), t, c, self("wait"))
	other, _ := start(t.Context(), t, sv, self("wait"))
	within(t, "closing", func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	within(t, "a closed host's process", func() { _ = p.Wait() })
	if err := c.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := c.Start(t.Context(), self("exit", "0")); err == nil {
		t.Error("a process was started on a closed host")
	}
	run(t, sv, self("print", "here")).want(t, "here", "4") // the other host still works
	if err := other.Stop(s.grace()); err != nil {
		t.Error(err)
	}
}

// grace is how long a process that is asked to end may take: no time if it cannot be asked.
func (s suite) grace() time.Duration {
	if s.Signals {
		return patience
	}
	return 0
}
