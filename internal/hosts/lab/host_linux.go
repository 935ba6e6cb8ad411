package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/host"
)

// labHost is one end of an arm, or in tests a namespace between them.
type labHost struct {
	lab      *Lab
	arm      string
	space    string
	endpoint host.Endpoint

	mu     sync.Mutex
	closed bool
}

func (l *Lab) newHost(p *plan, i int) *labHost {
	s := &p.Spaces[i]
	addresses := host.Addresses{V4: s.addressOf(hostDevice), V6: s.address6Of(hostDevice)}
	return &labHost{lab: l, arm: p.Arm, space: s.Name, endpoint: host.Endpoint{
		Name: p.Arm + "/" + s.Name, Bind: addresses, Dial: addresses,
		System: host.System{OS: runtime.GOOS, Arch: runtime.GOARCH}, Release: release(),
	}}
}

// release is what this machine says of its distribution; empty if it has no such file.
func release() string {
	text, _ := os.ReadFile("/etc/os-release")
	return string(text)
}

// Endpoint has the name "arm/client" or "arm/server".
func (h *labHost) Endpoint() host.Endpoint { return h.endpoint }

func (h *labHost) fail(argv []string, err error) error {
	return &host.Error{Host: h.endpoint.Name, Argv: argv, Err: err}
}

func (h *labHost) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// Start starts a process in the host's namespaces.
func (h *labHost) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	if len(c.Argv) == 0 {
		return nil, h.fail(nil, errors.New("an empty command line"))
	}
	if h.isClosed() {
		return nil, h.fail(c.Argv, ErrClosed)
	}
	if c.After != nil {
		return nil, h.fail(c.Argv, errors.New("a host of a lab starts nothing after another process"))
	}
	if err := ctx.Err(); err != nil {
		return nil, h.fail(c.Argv, err)
	}
	streams, err := openStreams(c)
	if err != nil {
		return nil, h.fail(c.Argv, err)
	}
	defer closeAll(streams.theirs[:])
	// The start does not end with ctx: nobody would know of the process.
	r, err := h.lab.call(context.Background(), request{
		Op: opStart, Arm: h.arm, Space: h.space, Argv: c.Argv, Env: c.Env, CPUs: c.CPUs,
	}, streams.theirs[:]...)
	if err != nil {
		closeAll(streams.ours[:])
		return nil, h.fail(c.Argv, err)
	}
	p := &labProcess{host: h, argv: c.Argv, key: r.Process, started: r.At, done: make(chan struct{})}
	go p.run(streams, c)
	go func() {
		select {
		case <-ctx.Done():
			p.mu.Lock()
			p.canceled = ctx.Err()
			p.mu.Unlock()
			_ = p.kill() // it fails only where the lab is gone, and Wait says so
		case <-p.done:
		}
	}()
	return p, nil
}

// Put writes a file in the lab. A relative path is below /tmp. It accepts only directories whose files are the lab's
// own: elsewhere the file would outlive the lab.
func (h *labHost) Put(ctx context.Context, path string, mode fs.FileMode, r io.Reader) error {
	fail := func(err error) error { return h.fail([]string{"put", path}, err) }
	if h.isClosed() {
		return fail(ErrClosed)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(tempDir, path)
	}
	path = filepath.Clean(path)
	if !inPrivateDir(path) {
		return fail(fmt.Errorf("a file there would outlive the lab; put it below one of %v", privateDirs()))
	}
	// The file is read whole before the lab gets any of it.
	fd, err := unix.MemfdCreate("put", unix.MFD_CLOEXEC)
	if err != nil {
		return fail(os.NewSyscallError("memfd_create", err))
	}
	f := os.NewFile(uintptr(fd), "put")
	defer func() { _ = f.Close() }()
	if _, err := io.Copy(f, r); err != nil {
		return fail(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fail(err)
	}
	if _, err := h.lab.call(ctx, request{Op: opPut, Path: path, Mode: uint32(mode.Perm())}, f); err != nil {
		return fail(err)
	}
	return nil
}

// Close ends all processes of the host. With both hosts of an arm closed, its namespaces are freed.
func (h *labHost) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	_, err := h.lab.call(context.Background(), request{Op: opClear, Arm: h.arm, Space: h.space})
	if errors.Is(err, ErrClosed) {
		return nil
	}
	if errors.Is(err, host.ErrLost) {
		return h.lab.awaitEnd() // it was killed, and all that ran in it
	}
	h.lab.mu.Lock()
	h.lab.open[h.arm]--
	last := h.lab.open[h.arm] == 0
	h.lab.mu.Unlock()
	if last && err == nil {
		_, err = h.lab.call(context.Background(), request{Op: opDrop, Arm: h.arm})
	}
	if err != nil {
		return h.fail([]string{"close"}, err)
	}
	return nil
}

// streams are the ends of a process's standard streams: input, output and error.
type streams struct {
	theirs [3]*os.File
	// ours are nearfar's ends of the pipes; nil without input, and for output that is discarded. Closing nil does
	// nothing.
	ours [3]*os.File
}

func openStreams(c host.Cmd) (*streams, error) {
	s := &streams{}
	var err error
	if len(c.Stdin) > 0 {
		s.theirs[0], s.ours[0], err = os.Pipe()
	} else {
		s.theirs[0], err = os.Open(os.DevNull)
	}
	for i, w := range []io.Writer{c.Stdout, c.Stderr} {
		switch {
		case err != nil:
		case w != nil:
			s.ours[i+1], s.theirs[i+1], err = os.Pipe()
		default:
			s.theirs[i+1], err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		}
	}
	if err != nil {
		closeAll(s.theirs[:])
		closeAll(s.ours[:])
		return nil, err
	}
	return s, nil
}

// labProcess is nearfar's view of a process in the lab.
type labProcess struct {
	host *labHost
	argv []string
	key  uint64
	// started is when the process started.
	started time.Time
	done    chan struct{} // closed when it has ended and its output is written
	// ended and err are valid once done is closed.
	ended time.Time
	err   error

	mu       sync.Mutex
	canceled error // why its context ended
}

// outputGrace is how long output is read after the process has ended: its children may hold the pipe open.
const outputGrace = 200 * time.Millisecond

// run feeds the process, copies its output and waits for its end.
func (p *labProcess) run(s *streams, c host.Cmd) {
	defer close(p.done)
	var copying sync.WaitGroup
	var failed [2]error
	for i, to := range []io.Writer{c.Stdout, c.Stderr} {
		if from := s.ours[i+1]; from != nil {
			copying.Go(func() { failed[i] = copyOutput(to, from) })
		}
	}
	if stdin := s.ours[0]; stdin != nil {
		copying.Go(func() {
			// A process need not read all of its input.
			_, _ = stdin.Write(c.Stdin)
			_ = stdin.Close()
		})
	}
	r, err := p.host.lab.call(context.Background(), request{Op: opWait, Process: p.key})
	for _, f := range s.ours {
		_ = f.SetDeadline(time.Now().Add(outputGrace))
	}
	copying.Wait()
	closeAll(s.ours[:])
	p.ended = r.At
	p.mu.Lock()
	canceled := p.canceled
	p.mu.Unlock()
	switch {
	case err != nil:
		p.err = p.host.fail(p.argv, err)
	case r.Code != 0 || r.Signal != "":
		p.err = &host.ExitError{Code: r.Code, Signal: r.Signal}
		if canceled != nil {
			p.err = p.host.fail(p.argv, fmt.Errorf("%w: %w", canceled, p.err))
		}
	default:
		if err := errors.Join(failed[:]...); err != nil {
			p.err = p.host.fail(p.argv, fmt.Errorf("writing its output: %w", err))
		}
	}
}

// copyOutput copies until the end of the pipe, or until the pipe's deadline, and then what the pipe holds. If the
// writer fails, the rest is still read, so that the process does not block.
func copyOutput(to io.Writer, from *os.File) error {
	b := make([]byte, 64<<10)
	var failed error
	for {
		n, err := from.Read(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return errors.Join(failed, drain(to, from, b))
		}
		if n > 0 && failed == nil {
			_, failed = to.Write(b[:n])
		}
		if err != nil {
			return failed // the end of the pipe
		}
	}
}

// maxDrain is more than a pipe can hold.
const maxDrain = 2 << 20

// drain copies the content of the pipe and does not wait for more.
func drain(to io.Writer, from *os.File, b []byte) error {
	if err := from.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	raw, err := from.SyscallConn()
	if err != nil {
		return err
	}
	for total := 0; total < maxDrain; {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			n, _ = unix.Read(int(fd), b)
			return true
		})
		if err != nil || n <= 0 {
			return err
		}
		total += n
		if _, err := to.Write(b[:n]); err != nil {
			return err
		}
	}
	return nil
}

// Wait waits for the end of the process and of its output.
func (p *labProcess) Wait() error {
	<-p.done
	return p.err
}

// Serves waits until the process, or one that it started, holds the port.
func (p *labProcess) Serves(ctx context.Context, protocol string, port int) error {
	q := request{
		Op: opServes, Arm: p.host.arm, Space: p.host.space, Process: p.key, Protocol: protocol, Port: port,
	}
	if deadline, limited := ctx.Deadline(); limited {
		if q.Limit = time.Until(deadline); q.Limit <= 0 {
			return context.DeadlineExceeded
		}
	}
	_, err := p.host.lab.call(ctx, q)
	return err
}

// Times are by the clock of this machine.
func (p *labProcess) Times() (started, ended time.Time) {
	select {
	case <-p.done:
		return p.started, p.ended
	default:
		return p.started, time.Time{}
	}
}

// Stop sends SIGTERM to the process. After the grace time it kills the process and its remaining children.
func (p *labProcess) Stop(grace time.Duration) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	_, err := p.host.lab.call(context.Background(), request{Op: opSignal, Process: p.key, Signal: int(unix.SIGTERM)})
	if err == nil {
		select {
		case <-p.done:
		case <-time.After(grace):
		}
		err = p.kill()
	}
	<-p.done
	if errors.Is(err, ErrClosed) {
		return nil // the lab's end was the process's
	}
	return err
}

// kill kills the process and all that it started. If that fails the lab is given up, because nothing would notice the
// end of the process.
func (p *labProcess) kill() error {
	_, err := p.host.lab.call(context.Background(), request{Op: opKill, Process: p.key})
	if err == nil {
		return nil
	}
	select {
	case <-p.host.lab.lost:
	default:
		p.host.lab.lose(p.host.lab.gone(err.Error(), nil))
	}
	return p.host.fail(p.argv, err)
}
