package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/supervise"
)

// Host is the machine of the agent as a host. Its Close ends the agent.
func (c *Client) Host() host.Host { return &remoteHost{client: c} }

type remoteHost struct {
	client *Client
	last   atomic.Uint64
}

// Endpoint has the name of the options, and what the agent filled in.
func (h *remoteHost) Endpoint() host.Endpoint { return h.client.endpoint }

// Close ends the agent with all that it started and put.
func (h *remoteHost) Close() error { return h.client.Close() }

// Start starts a process. A context that ends before the agent has answered ends the call; the agent then kills the
// process, or never starts it.
func (h *remoteHost) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	if len(c.Argv) == 0 {
		return nil, h.client.fail(errors.New("an empty command line"))
	}
	if len(c.Stdin) > maxStdin {
		return nil, h.client.fail(fmt.Errorf("%d bytes of standard input: at most %d are possible", len(c.Stdin),
			maxStdin), c.Argv...)
	}
	if err := ctx.Err(); err != nil {
		return nil, h.client.fail(err, c.Argv...)
	}
	ended, takes, err := h.startsAfter(c.After)
	if err != nil {
		return nil, h.client.fail(err, c.Argv...)
	}
	p := &process{
		host: h, argv: c.Argv, answered: make(chan struct{}), done: make(chan struct{}),
		key: strconv.FormatUint(h.last.Add(1), 10) + "-" + randomHex(8),
	}
	// All that is asked about the process is asked at once: a far host answers it in one round trip.
	p.calls, p.giveUp = context.WithCancelCause(context.Background())
	p.wanted, p.part = context.WithCancel(context.Background())
	after := h.client.watchesStart(p)
	if c.Serves.Port != 0 {
		p.askServes(c.Serves)
	}
	go p.run(ctx, c)
	defer close(p.answered)
	r, err := h.client.exchange(ctx, call{
		request: request{
			Call: callStart, Key: p.key, Argv: convert[[]byte](c.Argv), Env: convert[[]byte](c.Env), CPUs: c.CPUs,
			Discard: [2]bool{c.Stdout == nil, c.Stderr == nil}, After: after, Ended: ended,
		},
		body: c.Stdin, takes: takes,
	})
	if err != nil {
		p.giveUp(errNotStarted)
		if _, remote := errors.AsType[*remoteError](err); !remote && h.client.Lost() == nil {
			h.client.cleanUp(func() { _ = p.kill() }) // Close kills what this one does not
		}
		return nil, h.client.fail(err, c.Argv...)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started, p.runs = r.Started, true
	return p, nil
}

// startsAfter is the key of a process of the same agent after whose end another one is to start, and how long that end
// may take; nothing for no process.
func (h *remoteHost) startsAfter(before host.Process) (key string, takes time.Duration, err error) {
	if before == nil {
		return "", 0, nil
	}
	p, ok := before.(*process)
	if !ok {
		return "", 0, fmt.Errorf("it is to start after a process of another kind of host (%T)", before)
	}
	if p.host.client != h.client {
		return "", 0, nil // nothing on this host is waited for
	}
	return p.key, endedFirst, nil
}

// errNotStarted ends what was asked about a process that was not started.
var errNotStarted = errors.New("it was not started")

// convert makes bytes of strings, or strings of bytes.
func convert[To, From string | []byte](all []From) []To {
	var converted []To
	for _, one := range all {
		converted = append(converted, To(one))
	}
	return converted
}

// Put writes a file, whole or not at all. A relative path is below the agent's folder, in the directory in which
// processes are started. The agent removes the file when it ends. It refuses to replace a file that it did not put.
func (h *remoteHost) Put(ctx context.Context, path string, mode fs.FileMode, r io.Reader) error {
	fail := func(err error) error { return h.client.fail(err, "put", path) }
	// It is read whole first, so that the call can be repeated.
	content, err := io.ReadAll(io.LimitReader(r, maxPut+1))
	switch {
	case err != nil:
		return fail(err)
	case len(content) > maxPut:
		return fail(fmt.Errorf("the file is larger than %d bytes", maxPut))
	}
	_, err = h.client.exchange(ctx, call{
		request: request{Call: callPut, Path: []byte(path), Mode: uint32(mode.Perm())}, body: content,
	})
	return fail(err)
}

// process is the owner's view of a process.
type process struct {
	host *remoteHost
	argv []string
	key  string
	// answered is closed when the agent has answered the start, or is lost.
	answered chan struct{}
	done     chan struct{} // closed when it has ended and its output is written
	err      error         // valid once done is closed
	// wanted ends when the end is not waited for any more, because the caller was interrupted; part does that.
	wanted context.Context //nolint:containedctx // it is the process's own
	part   context.CancelFunc
	// calls ends the calls that wait for the process; giveUp does that: the process was not started, the agent is given
	// up, or the caller was interrupted.
	calls  context.Context //nolint:containedctx // it is the process's own
	giveUp context.CancelCauseFunc
	// serves is what was asked together with the start; nil for nothing.
	serves *servesCall

	// started and ended are by the agent's clock; ended is set when the agent has reported the end.
	started time.Time
	mu      sync.Mutex
	ended   time.Time
	// runs says that the process was started. hasEnded says that the agent has reported the end, or is lost. killing
	// says that boundEnd runs.
	runs, hasEnded, killing bool
}

// Times are by the clock of the agent's machine.
func (p *process) Times() (started, ended time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started, p.ended
}

const (
	// partTime is how long the end of a process is waited for whose caller was interrupted: nobody waits any longer.
	partTime = time.Second
	// outputRate is how fast output must come after the end of its process, in bytes a second, once the limit of a call
	// has passed: a slow line does that, and a host that sends a byte now and then does not.
	outputRate = 64 << 10
)

// errParted says that the caller was interrupted, and that the agent did not say in time that the process was killed.
var errParted = fmt.Errorf("its host is %w: the agent has not said yet that it was killed", host.ErrLost)

// run copies the output of the process and waits for its end. It kills the process when ctx ends.
func (p *process) run(ctx context.Context, c host.Cmd) {
	defer close(p.done)
	calls, giveUp := p.calls, p.giveUp
	defer giveUp(nil)
	ended := context.AfterFunc(ctx, func() { p.killFor(ctx, giveUp) })
	var copying sync.WaitGroup
	var outputErrs [2]error
	var received atomic.Int64
	for i, w := range []io.Writer{c.Stdout, c.Stderr} {
		if w != nil {
			copying.Go(func() { outputErrs[i] = p.copyOutput(calls, i, w, &received) })
		}
	}
	r, err := p.host.client.exchange(calls, call{
		request: request{Call: callWait, Key: p.key, Early: true}, waits: true,
	})
	p.mu.Lock()
	p.ended = r.Ended
	p.hasEnded = true
	p.mu.Unlock()
	if err == nil {
		stop := p.boundOutput(&received, giveUp)
		copying.Wait()
		stop()
	} else {
		giveUp(err)
		copying.Wait()
	}
	var why error
	if !ended() {
		why = ctx.Err()
	}
	if errors.Is(context.Cause(calls), errNotStarted) {
		return
	}
	if lost := p.host.client.Lost(); errors.Is(lost, host.ErrLost) && !errors.Is(err, host.ErrLost) {
		err = lost // it also cut the output
	}
	if cause := context.Cause(calls); errors.Is(cause, errParted) && !errors.Is(err, host.ErrLost) {
		err = fmt.Errorf("%w: %w", why, cause)
	}
	switch {
	case err != nil:
		p.err = p.host.client.fail(err, p.argv...)
	case r.Code != 0 || r.Signal != "":
		p.err = &host.ExitError{Code: r.Code, Signal: r.Signal, OutOfMemory: r.OOM}
		if why != nil {
			p.err = p.host.client.fail(fmt.Errorf("%w: %w", why, p.err), p.argv...)
		}
	default:
		if err := errors.Join(outputErrs[:]...); err != nil {
			p.err = p.host.client.fail(fmt.Errorf("its output: %w", err), p.argv...)
		}
	}
	p.host.client.cleanUp(p.forget)
}

// killFor kills the process because ctx has ended. If the caller was interrupted, nobody waits for an agent that does
// not answer. Otherwise such an agent is lost.
func (p *process) killFor(ctx context.Context, giveUp context.CancelCauseFunc) {
	if context.Cause(ctx) == context.Canceled { //nolint:errorlint // a cause that wraps it is no interruption
		defer time.AfterFunc(partTime, func() {
			p.part()
			p.host.client.unanswered.Store(true)
			giveUp(errParted)
		}).Stop()
		go func() { _ = p.kill() }() // Close ends what this one does not
		<-p.done
		return
	}
	_ = p.kill() // it fails only if the agent is lost, and Wait says so
}

// boundOutput gives the agent up if the output of a process that has ended does not come. stop ends that.
func (p *process) boundOutput(received *atomic.Int64, giveUp context.CancelCauseFunc) (stop func()) {
	over := make(chan struct{})
	began, before := time.Now(), received.Load()
	go func() {
		every := time.NewTicker(p.host.client.o.limit() / 10)
		defer every.Stop()
		for {
			select {
			case <-over:
				return
			case <-every.C:
			}
			allowed := time.Duration(float64(received.Load()-before) / outputRate * float64(time.Second))
			if time.Since(began) > p.host.client.o.limit()+allowed {
				p.host.client.lose(host.Lost(p.host.client.o.Name,
					"the agent did not send the output of a process that has ended"))
				giveUp(p.host.client.Lost())
				return
			}
		}
	}()
	return func() { close(over) }
}

// boundEnd gives the agent up if it does not report the end of a process that it says it killed.
func (p *process) boundEnd() {
	select {
	case <-p.done:
		return
	case <-time.After(p.host.client.o.limit()):
	}
	p.mu.Lock()
	ended := p.hasEnded
	p.mu.Unlock()
	if !ended { // otherwise boundOutput watches
		p.host.client.lose(host.Lost(p.host.client.o.Name,
			"the agent says that it killed a process, and does not report its end"))
	}
}

// forget frees what the agent keeps of the process. If that fails, the agent frees it when it ends. It waits for the
// answer to the start: the agent would not find a process any more that it has just started.
func (p *process) forget() {
	<-p.answered
	_, _ = p.host.client.exchange(context.Background(), call{request: request{Call: callForget, Key: p.key}})
}

// maxReceived is more than an agent keeps of a stream, in bytes.
const maxReceived = 2 * supervise.DefaultMaxOutput

// copyOutput writes a stream to w. If w fails, the rest of the stream is not fetched.
// received counts the bytes.
func (p *process) copyOutput(ctx context.Context, stream int, w io.Writer, received *atomic.Int64) error {
	var offset int64
	var failed error
	var out reply
	_, err := p.host.client.exchange(ctx, call{
		request: request{Call: callRead, Key: p.key, Stream: stream, Early: true},
		waits:   true,
		again:   func(q *request) { q.Offset = offset },
		receive: func(r io.Reader) error {
			b := make([]byte, maxChunk)
			for chunks := (&chunkReader{r: r}); ; {
				n, err := chunks.Read(b)
				if n > 0 {
					offset += int64(n)
					received.Add(int64(n))
					if offset > maxReceived {
						return fmt.Errorf("%w: more output than an agent keeps", errProtocol)
					}
					if _, failed = w.Write(b[:n]); failed != nil {
						return nil
					}
				}
				if errors.Is(err, io.EOF) {
					return readMessage(r, maxMessage, &out)
				}
				if err != nil {
					return err
				}
			}
		},
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return err
	case out.err() != nil:
		return out.err()
	case out.Output != nil && out.Output.Failure != "":
		return fmt.Errorf("it could not be kept on the host, and the last %d bytes are lost: %s", out.Output.Lost,
			out.Output.Failure)
	case out.Output != nil && out.Output.Lost > 0:
		return fmt.Errorf("it has %d bytes, and only the first %d were kept", out.Output.Kept+out.Output.Lost,
			out.Output.Kept)
	}
	return nil
}

// Wait waits for the end of the process and of its output.
func (p *process) Wait() error {
	<-p.done
	return p.err
}

// Stop asks the process to end, and after the grace time kills it and what is left of its children.
func (p *process) Stop(grace time.Duration) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	// Once the process was given up, nobody waits for an answer. What it left behind is killed too.
	_, err := p.host.client.exchange(p.wanted, call{
		request: request{Call: callStop, Key: p.key, Grace: grace}, takes: grace,
	})
	p.killed(err)
	<-p.done
	if p.isGone(err) || errors.Is(err, context.Canceled) {
		return nil
	}
	return p.host.client.fail(err, p.argv...)
}

// killed gives the agent up if it says that it killed the process and then does not report its end, or if it could not
// kill it: nothing would notice the end.
func (p *process) killed(err error) {
	switch {
	case err == nil:
		p.mu.Lock()
		first := p.runs && !p.killing
		p.killing = true
		p.mu.Unlock()
		if first {
			go p.boundEnd()
		}
	case p.isGone(err), errors.Is(err, context.Canceled):
	default:
		p.host.client.lose(host.Lost(p.host.client.o.Name, err.Error()))
	}
}

// isGone says that a call failed because the process has ended, or its host is closed.
func (p *process) isGone(err error) bool {
	return errors.Is(err, errClosed) || errors.Is(err, errEnding) || errors.Is(err, supervise.ErrForgotten)
}

// kill kills the process and all that it started. If that fails, the agent is given up.
func (p *process) kill() error {
	_, err := p.host.client.exchange(context.Background(), call{request: request{Call: callKill, Key: p.key}})
	p.killed(err)
	if p.isGone(err) {
		return nil
	}
	return err
}

// A servesCall is a question that was asked together with the start.
type servesCall struct {
	socket   host.Socket
	answered chan struct{} // closed when err is valid
	err      error
}

// askServes asks when the process serves.
func (p *process) askServes(on host.Socket) {
	asked := &servesCall{socket: on, answered: make(chan struct{})}
	p.serves = asked
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(p.calls, func() {
		if context.Cause(p.calls) != context.Canceled { //nolint:errorlint // that is the end of the process
			cancel()
		}
	})
	go func() {
		defer close(asked.answered)
		defer cancel()
		asked.err = p.waitServes(ctx, on, true)
	}()
}

func (p *process) waitServes(ctx context.Context, on host.Socket, early bool) error {
	_, err := p.host.client.exchange(ctx, call{
		request: request{Call: callServes, Key: p.key, Protocol: on.Protocol, Port: on.Port, Early: early}, waits: true,
	})
	if errors.Is(err, supervise.ErrForgotten) { // this side had it forgotten, because it has ended
		return fmt.Errorf("%w: %w", host.ErrEnded, err)
	}
	return err
}

// Serves waits until the process, or one that it started, serves on the port.
func (p *process) Serves(ctx context.Context, protocol string, port int) error {
	on := host.Socket{Protocol: protocol, Port: port}
	asked := p.serves
	var err error
	switch {
	case asked == nil || asked.socket != on:
		err = p.waitServes(ctx, on, false)
	default:
		select {
		case <-asked.answered:
			err = asked.err
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return p.host.client.fail(err, p.argv...)
}

// Facts asks the agent what it knows of its machine.
func (c *Client) Facts(ctx context.Context) (Facts, error) {
	r, err := c.exchange(ctx, call{request: request{Call: callFacts}})
	if err == nil && r.Facts == nil {
		err = errProtocol
	}
	if err == nil {
		err = r.Facts.bound()
	}
	if err != nil {
		return Facts{}, c.fail(err, "facts")
	}
	return *r.Facts, nil
}

// fail says of an error whose it is; nil for none.
func (c *Client) fail(err error, argv ...string) error {
	if err == nil {
		return nil
	}
	return &host.Error{Host: c.endpoint.Name, Argv: argv, Err: err}
}
