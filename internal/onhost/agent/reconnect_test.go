//go:build linux

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// cutting is a connection that is cut after a number of bytes in both directions together.
type cutting struct {
	net.Conn
	mu   sync.Mutex
	left int
}

// take takes up to n bytes from what is left.
func (c *cutting) take(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = min(n, c.left)
	c.left -= n
	return n
}

func (c *cutting) Write(b []byte) (int, error) {
	n := c.take(len(b))
	written, err := c.Conn.Write(b[:n])
	if err == nil && n < len(b) {
		_ = c.Close()
		err = io.ErrClosedPipe
	}
	return written, err
}

func (c *cutting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if got := c.take(n); got < n {
		_ = c.Close()
		return got, io.ErrClosedPipe
	}
	return n, err
}

// TestCuts cuts the connection again and again, at random bytes, while a process is started, prints and ends. It is
// started once, its output is whole, and its exit status is right.
func TestCuts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	var mu sync.Mutex
	cuts := 0
	a := newInProcess(t, ServerOptions{})
	cut := false
	a.wrap = func(c net.Conn) io.ReadWriteCloser {
		mu.Lock()
		defer mu.Unlock()
		if !cut {
			return c
		}
		cuts++
		// Between 100 bytes and 100 KB, each order of magnitude as often as the others.
		return &cutting{Conn: c, left: int(math.Pow(10, 2+3*random.Float64()))}
	}
	client := a.connect("host", time.Minute)
	h := client.Host()
	mu.Lock()
	cut = true
	mu.Unlock()
	a.cut()
	folder := t.TempDir()
	for round := range rounds {
		mu.Lock()
		lines, code, stdin := random.IntN(4000), random.IntN(200), strings.Repeat("x", random.IntN(50000))
		mu.Unlock()
		file := filepath.Join(folder, fmt.Sprint(round))
		var stdout, stderr bytes.Buffer
		const script = `echo started >> "$1"; wc -c >&2; i=0
			while [ $i -lt $2 ]; do echo line $i; i=$((i+1)); done; exit $3`
		p, err := h.Start(t.Context(), host.Cmd{
			Argv:  []string{"sh", "-c", script, "sh", file, fmt.Sprint(lines), fmt.Sprint(code)},
			Stdin: []byte(stdin), Stdout: &stdout, Stderr: &stderr,
		})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if round%3 == 0 {
			a.cut() // also while nothing is sent
		}
		err = p.Wait()
		var exit *host.ExitError
		if code == 0 && err != nil || code != 0 && (!errors.As(err, &exit) || exit.Code != code) {
			t.Fatalf("round %d: it ended with %v, want exit status %d", round, err, code)
		}
		var want strings.Builder
		for i := range lines {
			fmt.Fprintln(&want, "line", i)
		}
		if stdout.String() != want.String() {
			t.Fatalf("round %d: %d bytes of output, want %d", round, stdout.Len(), want.Len())
		}
		if got := strings.TrimSpace(stderr.String()); got != fmt.Sprint(len(stdin)) {
			t.Fatalf("round %d: it read %s bytes, want %d", round, got, len(stdin))
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != "started\n" {
			t.Fatalf("round %d: it was started as %q (%v)", round, b, err)
		}
		// A file is put whole, however often that takes.
		if err := h.Put(t.Context(), "file", 0o600, strings.NewReader(stdin)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if b, err := os.ReadFile(filepath.Join(a.folder, rootName, "file")); err != nil || string(b) != stdin {
			t.Fatalf("round %d: the file has %d bytes (%v), want %d", round, len(b), err, len(stdin))
		}
	}
	mu.Lock()
	t.Logf("%d connections", cuts)
	cut = false
	mu.Unlock()
	if cuts < rounds/3 {
		t.Errorf("only %d connections in %d rounds: too few were cut", cuts, rounds)
	}
}

// TestCutStops: stopping and canceling continue after a cut too.
func TestCutStops(t *testing.T) {
	a := newInProcess(t, ServerOptions{})
	h := a.connect("host", time.Minute).Host()
	for _, end := range []string{"stop", "cancel"} {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := h.Start(ctx, self("stubborn"))
		if err != nil {
			t.Fatal(err)
		}
		a.cut()
		if end == "stop" {
			if err := p.Stop(10 * time.Millisecond); err != nil {
				t.Error(err)
			}
		}
		cancel()
		a.cut()
		if err := p.Wait(); err == nil || errors.Is(err, host.ErrLost) {
			t.Errorf("%s: it ended with %v", end, err)
		}
	}
}

// TestCanceledStart: if the context of a start ends while there is no connection, no process is left.
func TestCanceledStart(t *testing.T) {
	a := newInProcess(t, ServerOptions{})
	hold := make(chan struct{})
	var mu sync.Mutex
	held := false
	a.wrap = func(c net.Conn) io.ReadWriteCloser {
		mu.Lock()
		defer mu.Unlock()
		if held {
			return &delayed{Conn: c, until: hold}
		}
		return c
	}
	h := a.connect("host", time.Minute).Host()
	mu.Lock()
	held = true
	mu.Unlock()
	a.cut()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	file := filepath.Join(t.TempDir(), "started")
	_, err := h.Start(ctx, host.Cmd{Argv: []string{"sh", "-c", `echo >> "$0"; sleep 60`, file}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it gives %v", err)
	}
	close(hold)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the process was started")
	}
}

// delayed is a connection that sends nothing until a channel is closed.
type delayed struct {
	net.Conn
	until <-chan struct{}
}

func (c *delayed) Write(b []byte) (int, error) {
	<-c.until
	return c.Conn.Write(b)
}

// TestOneOwner: an agent has one owner. It refuses another one, also with the right secret, and continues to serve the
// first.
func TestOneOwner(t *testing.T) {
	a := newInProcess(t, ServerOptions{})
	first := a.connect("first", time.Minute)
	for name, refusal := range map[string]struct{ session, says string }{
		"second": {a.session, "another owner"}, "stranger": {NewSession(), "secret"},
	} {
		_, err := Connect(t.Context(), a.dial, Options{Name: name, Session: refusal.session, Silence: time.Minute})
		if err == nil || !strings.Contains(err.Error(), refusal.says) {
			t.Errorf("%s gets %v", name, err)
		}
	}
	if _, err := first.Facts(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAnotherAgent: if an owner meets another agent than before, the first agent counts as lost, and the owner ends the
// new one.
func TestAnotherAgent(t *testing.T) {
	a := newInProcess(t, ServerOptions{})
	other := newInProcess(t, ServerOptions{Session: a.session})
	var at atomic.Pointer[inProcess]
	at.Store(a)
	dial := func(ctx context.Context) (io.ReadWriteCloser, error) { return at.Load().dial(ctx) }
	c, err := Connect(t.Context(), dial, Options{Name: "host", Session: a.session, Silence: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Host().Start(t.Context(), self("wait"))
	if err != nil {
		t.Fatal(err)
	}
	at.Store(other)
	a.cut()
	if err := p.Wait(); !errors.Is(err, host.ErrLost) {
		t.Errorf("it gives %v, want an error that wraps host.ErrLost", err)
	}
	other.await()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
