// Package fake is a kind of host for tests: each process is a Go function, and the host records the commands.
package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"nearfar/internal/onhost/host"
)

// Program is a program of the host. It returns the exit status; ctx ends when the process is to end.
type Program func(ctx context.Context, argv []string, stdin []byte, stdout, stderr io.Writer) int

// Host is a fake host.
type Host struct {
	endpoint host.Endpoint
	programs map[string]Program

	mu      sync.Mutex
	started []host.Cmd
	// ports are the processes that hold ports. changed is closed, and replaced, whenever that changes.
	ports   map[port]*process
	changed chan struct{}
	running sync.WaitGroup
	cancel  []context.CancelFunc
	closed  bool
}

// port is a port of a protocol.
type port struct {
	protocol string
	number   int
}

// New makes a fake host that has the given programs, by their names.
func New(name string, programs map[string]Program) *Host {
	addresses := host.Addresses{V4: netip.MustParseAddr("192.0.2.1"), V6: netip.MustParseAddr("2001:db8::1")}
	return &Host{
		endpoint: host.Endpoint{
			Name: name, Bind: addresses, Dial: addresses,
			System: host.System{OS: runtime.GOOS, Arch: runtime.GOARCH},
		},
		programs: programs, ports: map[port]*process{}, changed: make(chan struct{}),
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
	if c.After != nil {
		_ = c.After.Wait() // how it ended does not matter
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fail(errors.New("the host is closed"))
	}
	h.started = append(h.started, c)
	ctx, cancel := context.WithCancel(ctx)
	h.cancel = append(h.cancel, cancel)
	p := &process{
		host: h, program: c.Argv[0], number: len(h.started), cancel: cancel, done: make(chan struct{}),
		started: time.Now(),
	}
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
		defer h.release(p)
		p.code = program(context.WithValue(ctx, processKey{}, p), c.Argv, c.Stdin, stdout, stderr)
		p.killed = ctx.Err() != nil
		p.ended = time.Now()
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

// processKey is the key of a program's process in its context.
type processKey struct{}

// Listen makes the process of a program hold a port until the program ends. ctx is the program's. If another process of
// the host holds the port, the error is a *host.PortTakenError.
func Listen(ctx context.Context, protocol string, number int) error {
	p, ok := ctx.Value(processKey{}).(*process)
	if !ok {
		return errors.New("this is not the context of a program of a fake host")
	}
	h, at := p.host, port{protocol, number}
	h.mu.Lock()
	defer h.mu.Unlock()
	if other := h.ports[at]; other != nil && other != p {
		return other.taken(at)
	}
	h.ports[at] = p
	h.change()
	return nil
}

// release frees the ports of a process that has ended.
func (h *Host) release(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for at, holder := range h.ports {
		if holder == p {
			delete(h.ports, at)
		}
	}
	h.change()
}

// change wakes up the goroutines that wait for a port.
func (h *Host) change() {
	close(h.changed)
	h.changed = make(chan struct{})
}

type process struct {
	host *Host
	// program and number name the process in errors.
	program string
	number  int
	cancel  context.CancelFunc
	done    chan struct{}
	started time.Time
	// ended, code and killed are valid once done is closed.
	ended  time.Time
	code   int
	killed bool
}

// taken is the error that says that the process holds a port.
func (p *process) taken(at port) error {
	return &host.PortTakenError{
		Protocol: at.protocol, Port: at.number, Program: p.program, PID: p.number, User: -1,
	}
}

// Serves waits until the program calls Listen.
func (p *process) Serves(ctx context.Context, protocol string, number int) error {
	at := port{protocol, number}
	for {
		p.host.mu.Lock()
		holder, changed := p.host.ports[at], p.host.changed
		p.host.mu.Unlock()
		switch {
		case holder == p:
			return nil
		case holder != nil:
			return holder.taken(at)
		}
		select {
		case <-changed:
		case <-p.done:
			return host.ErrEnded
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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

// Times are measured by the clock of this machine.
func (p *process) Times() (started, ended time.Time) {
	select {
	case <-p.done:
		return p.started, p.ended
	default:
		return p.started, time.Time{}
	}
}

func (p *process) Stop(time.Duration) error {
	p.cancel()
	<-p.done
	return nil
}
