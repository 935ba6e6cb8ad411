// Package fake is a kind of host for tests: each process is a Go function, and the host records what was started.
package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"sync"
	"time"

	"nearfar/internal/host"
)

// Program is a program of the host. It returns the exit status; ctx ends when the process is to end.
type Program func(ctx context.Context, argv []string, stdin []byte, stdout, stderr io.Writer) int

// Host is a fake host.
type Host struct {
	endpoint host.Endpoint
	programs map[string]Program

	mu      sync.Mutex
	started []host.Cmd
	running sync.WaitGroup
	cancel  []context.CancelFunc
	closed  bool
}

// New makes a fake host that has the given programs, by their names.
func New(name string, programs map[string]Program) *Host {
	return &Host{
		endpoint: host.Endpoint{
			Name: name, Address: netip.MustParseAddr("192.0.2.1"), Address6: netip.MustParseAddr("2001:db8::1"),
		},
		programs: programs,
	}
}

// Start runs the program of that name.
func (h *Host) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	fail := func(err error) error { return &host.Error{Host: h.endpoint.Name, Argv: c.Argv, Err: err} }
	if len(c.Argv) == 0 {
		return nil, fail(errors.New("no command"))
	}
	program, ok := h.programs[c.Argv[0]]
	if !ok {
		return nil, fail(fmt.Errorf("%s: %w", c.Argv[0], host.ErrNotFound))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fail(errors.New("the host is closed"))
	}
	h.started = append(h.started, c)
	ctx, cancel := context.WithCancel(ctx)
	h.cancel = append(h.cancel, cancel)
	p := &process{cancel: cancel, done: make(chan struct{})}
	stdout, stderr := c.Stdout, c.Stderr
	if stdout == nil {
		stdout = io.Discard
	}
	if stderr == nil {
		stderr = io.Discard
	}
	h.running.Go(func() {
		defer close(p.done)
		defer cancel()
		p.code = program(ctx, c.Argv, c.Stdin, stdout, stderr)
		p.killed = ctx.Err() != nil
	})
	return p, nil
}

// Put reads the file and discards it: no program here looks for it.
func (h *Host) Put(_ context.Context, _ string, _ fs.FileMode, r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// Endpoint is the host's name, with addresses that are reserved for documentation (RFC 5737, RFC 3849).
func (h *Host) Endpoint() host.Endpoint { return h.endpoint }

// Started lists the commands that were started, in order.
func (h *Host) Started() []host.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]host.Cmd(nil), h.started...)
}

// Close ends all processes.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	for _, cancel := range h.cancel {
		cancel()
	}
	h.mu.Unlock()
	h.running.Wait()
	return nil
}

type process struct {
	cancel context.CancelFunc
	done   chan struct{}
	code   int
	killed bool
}

func (p *process) Wait() error {
	<-p.done
	switch {
	case p.code == 0:
		return nil
	case p.killed:
		return &host.ExitError{Code: -1, Signal: "killed"}
	}
	return &host.ExitError{Code: p.code}
}

func (p *process) Stop(time.Duration) error {
	p.cancel()
	<-p.done
	return nil
}
