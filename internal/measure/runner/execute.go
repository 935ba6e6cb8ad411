package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nearfar/internal/base/bounded"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

const (
	// outputLimit is how many bytes a stream of a tool may have. No tool that measures prints as much; one that prints
	// more floods, and its trial ends.
	outputLimit = 16 << 20
	// floodKept is how many bytes of each stream are kept of a trial that was flooded: enough to see with what.
	floodKept = 64 << 10
)

// Limits bound how long the runner waits.
type Limits struct {
	// Ready is how long a server may take until it is ready, if its plan does not say.
	Ready time.Duration
	// Grace is how long a server may take to end after SIGTERM.
	Grace time.Duration
	// Patience is how much longer than planned a client may take before it is killed. A slow start on a busy machine is
	// normal.
	Patience time.Duration
}

// ready is how long the server of a plan may take until it is ready.
func (l Limits) ready(p tool.Plan) time.Duration { return cmp.Or(p.ReadyWithin, l.Ready) }

// DefaultLimits suit slow and busy machines too.
func DefaultLimits() Limits {
	return Limits{Ready: 15 * time.Second, Grace: 2 * time.Second, Patience: 15 * time.Second}
}

// job is a plan with its CPUs and its output.
type job struct {
	plan                   tool.Plan
	clientCPUs, serverCPUs []int
	out                    *outputs
	// begun returns when both hosts were observed before the client, and when the client may start; nil for a
	// background. An error says that the trial is given up.
	begun func() error
	// after is a server on the same host that is being ended: this one's starts after it; nil for none.
	after host.Process
	// ending is told of the server, before it is ended after a good client, if it does not end by itself; nil for
	// nobody.
	ending func(server host.Process)
}

// execute runs a workload: it starts the server, waits until that is ready, runs the client and ends the server. With a
// background, the client runs while the background's data flows. Their output is in job.out when execute returns, after
// an error too.
func (l Limits) execute(ctx context.Context, work job, behind *background, hosts host.Hosts) (err error) {
	ctx, stop := untilFlooded(ctx, work, behind)
	defer stop()
	server, end, err := l.serve(ctx, work, hosts.Server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(err == nil)) }()
	if behind == nil {
		_, _, err := l.runClient(ctx, work, hosts.Client)
		if err == nil && server != nil && work.plan.ServerEnds == 0 && work.ending != nil {
			work.ending(server)
		}
		return err
	}
	return behind.beside(ctx, l, hosts, func(ctx context.Context) (started, ended time.Time, err error) {
		return l.runClient(ctx, work, hosts.Client)
	})
}

// untilFlooded is a context that ends when a program prints more than is kept. Its cause is then an errFlooded.
func untilFlooded(ctx context.Context, work job, behind *background) (until context.Context, stop func()) {
	until, end := context.WithCancelCause(ctx)
	outputs := []*outputs{work.out}
	if behind != nil {
		outputs = append(outputs, behind.out)
	}
	for _, o := range outputs {
		for _, b := range o.all() {
			go func() {
				select {
				case <-b.Full():
					end(errFlooded)
				case <-until.Done():
				}
			}()
		}
	}
	return until, func() { end(nil) }
}

// errFlooded says that a program printed more than any that measures.
var errFlooded = fmt.Errorf("it printed more than %d MiB, and was ended", outputLimit>>20)

// serve starts the server and waits until it is ready. end ends it; a server that ends by itself after a good client is
// given the time for that, because its output counts. server is nil if the plan has none. After an error no server
// runs.
func (l Limits) serve(ctx context.Context, j job, h host.Host) (
	server host.Process, end func(good bool) error, err error,
) {
	if j.plan.Server == nil {
		return nil, func(bool) error { return nil }, nil
	}
	cmd := command(*j.plan.Server, j.serverCPUs, j.out.serverStdout, j.out.serverStderr)
	if j.plan.ReadyCommand == nil {
		cmd.Serves = host.Socket{Protocol: j.plan.Ready.Protocol, Port: j.plan.Ready.Port}
	}
	cmd.After = j.after
	if server, err = h.Start(ctx, cmd); err != nil {
		return nil, nil, err
	}
	end = func(good bool) error {
		if good && j.plan.ServerEnds > 0 {
			awaitEnd(ctx, server, j.plan.ServerEnds)
		}
		return server.Stop(l.Grace)
	}
	if err := l.awaitReady(ctx, h, j.plan, server, j.out); err != nil {
		return nil, nil, errors.Join(err, end(false))
	}
	return server, end, nil
}

// awaitEnd waits until the process has ended, at most for the given time.
func awaitEnd(ctx context.Context, p host.Process, most time.Duration) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.Wait() // the parser judges what the process printed
	}()
	select {
	case <-ended:
	case <-time.After(most):
	case <-ctx.Done():
	}
}

// runClient runs the client to its end. started and ended are by the clock of its host.
func (l Limits) runClient(ctx context.Context, j job, h host.Host) (started, ended time.Time, err error) {
	if j.begun != nil {
		if err := j.begun(); err != nil {
			return started, ended, err
		}
	}
	limit := j.plan.Expected + l.Patience
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client, err := h.Start(limited, command(j.plan.Client, j.clientCPUs, j.out.stdout, j.out.stderr))
	if err != nil {
		return started, ended, err
	}
	err = client.Wait()
	started, ended = client.Times()
	j.out.ran = max(0, ended.Sub(started))
	if err == nil {
		return started, ended, nil
	}
	if errors.Is(context.Cause(limited), errFlooded) {
		err = errFlooded
	} else if errors.Is(limited.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("did not end within %v and was killed", limit)
	}
	return started, ended, &host.Error{
		Host: h.Endpoint().Name, Argv: j.plan.Client.Argv, Output: string(j.out.stderr.Tail()), Err: err,
	}
}

func command(c tool.Command, cpus []int, stdout, stderr *bounded.Buffer) host.Cmd {
	return host.Cmd{Argv: c.Words(), Env: c.Env, Stdin: c.Stdin, CPUs: cpus, Stdout: stdout, Stderr: stderr}
}

// awaitReady waits until the server has opened its socket, and fails if the server ends before that or another process
// holds the port.
func (l Limits) awaitReady(ctx context.Context, h host.Host, plan tool.Plan, server host.Process, out *outputs) error {
	limited, cancel := context.WithTimeout(ctx, l.ready(plan))
	defer cancel()
	what := fmt.Sprintf("serve %s port %d", plan.Ready.Protocol, plan.Ready.Port)
	err := error(nil)
	if plan.ReadyCommand == nil {
		err = server.Serves(limited, plan.Ready.Protocol, plan.Ready.Port)
	} else {
		what = "get ready (" + strings.Join(plan.ReadyCommand, " ") + ")"
		err = awaitCommand(limited, h, plan.ReadyCommand, server)
	}
	if err == nil || errors.Is(err, host.ErrLost) || ctx.Err() != nil {
		return err
	}
	failed := &host.Error{Host: h.Endpoint().Name, Argv: plan.Server.Argv}
	var taken *host.PortTakenError
	switch {
	case errors.As(err, &taken):
		failed.Err = fmt.Errorf("the server cannot serve: %w", err)
	case errors.Is(err, host.ErrEnded):
		failed.Err = errors.New("the server ended before it served")
		if err := server.Wait(); err != nil {
			failed.Err = fmt.Errorf("the server ended before it served: %w", err)
		}
	case limited.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		// Who waits on the host has the same limit, and can be a moment earlier.
		failed.Err = fmt.Errorf("the server did not %s within %v", what, l.ready(plan))
	default:
		failed.Err = err
	}
	failed.Output = string(out.serverStderr.Tail())
	if failed.Output == "" {
		failed.Output = string(out.serverStdout.Tail())
	}
	return failed
}

// askAgain is how long after a program said that a server is not ready it is asked again.
const askAgain = 100 * time.Millisecond

// awaitCommand runs a command on the server's host until it ends with 0. The error wraps host.ErrEnded if the server
// ended before.
func awaitCommand(ctx context.Context, h host.Host, argv []string, server host.Process) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		_ = server.Wait() // however it ended, it serves nobody
		cancel(host.ErrEnded)
	}()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		p, err := h.Start(ctx, host.Cmd{Argv: argv})
		if err == nil {
			err = p.Wait()
		}
		_, no := errors.AsType[*host.ExitError](err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !no:
			return err // it cannot be asked
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// outputs is what the client and the server of one trial print.
type outputs struct {
	stdout, stderr, serverStdout, serverStderr *bounded.Buffer
	// ran is how long the client ran, by the clock of its host.
	ran time.Duration
}

func newOutputs() *outputs {
	return &outputs{
		stdout: bounded.New(outputLimit), stderr: bounded.New(outputLimit),
		serverStdout: bounded.New(outputLimit), serverStderr: bounded.New(outputLimit),
	}
}

// last is the end of what the client printed: on standard error, or else on standard output.
func (o *outputs) last() string {
	if tail := string(o.stderr.Tail()); strings.TrimSpace(tail) != "" {
		return tail
	}
	return string(o.stdout.Tail())
}

// parsable is the input of a tool's parser.
func (o *outputs) parsable(w *experiment.Workload, runErr error) tool.Output {
	out := tool.Output{
		Workload: w, Stdout: o.stdout.Bytes(), Stderr: o.stderr.Bytes(),
		ServerStdout: o.serverStdout.Bytes(), ServerStderr: o.serverStderr.Bytes(), Ran: o.ran,
	}
	if exit, ok := errors.AsType[*host.ExitError](runErr); ok {
		out.ExitCode = exit.Code
	} else if runErr != nil {
		out.ExitCode = -1
	}
	return out
}

// all are the four streams.
func (o *outputs) all() []*bounded.Buffer {
	return []*bounded.Buffer{o.stdout, o.stderr, o.serverStdout, o.serverStderr}
}

type file struct {
	suffix string
	data   []byte
}

// files are the outputs with the end of their file's name, which follows the trial's. prefix is "" or ".background".
// Of a flood only the beginning is kept.
func (o *outputs) files(prefix string) []file {
	all := []file{
		{prefix + ".client.out", o.stdout.Bytes()}, {prefix + ".client.err", o.stderr.Bytes()},
		{prefix + ".server.out", o.serverStdout.Bytes()}, {prefix + ".server.err", o.serverStderr.Bytes()},
	}
	if o.cut() != "" {
		for i := range all {
			all[i].data = all[i].data[:min(len(all[i].data), floodKept)]
		}
	}
	return all
}

// cut says that an output was too long to be kept whole; "" if none was.
func (o *outputs) cut() string {
	for _, b := range o.all() {
		if cut := b.Cut(); cut != "" {
			return cut
		}
	}
	return ""
}
