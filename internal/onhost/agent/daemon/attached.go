package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"nearfar/internal/onhost/agent"
)

// flushLimit is how long the last bytes may take to leave through standard output.
const flushLimit = 2 * time.Second

// Attached runs an agent whose only connection is standard input and output. The agent ends with the connection, and so
// do all processes that it started: its owner cannot reconnect. Without a folder in the options, it makes one below the
// folder for temporary files.
func Attached(ctx context.Context, o Options, stdin io.Reader, stdout, log io.Writer) error {
	introduction, err := agent.ReadIntroduction(stdin)
	if err != nil {
		return err
	}
	if introduction.Again {
		return errors.Join(introduction.WriteMark(stdout), agent.RefuseGone(stdout),
			errors.New("the agent of this session has ended"))
	}
	if o.Folder == "" {
		o.Folder, err = os.MkdirTemp("", "nearfar-agent-")
	} else {
		err = os.MkdirAll(o.Folder, 0o700)
	}
	if err != nil {
		return err
	}
	defer func() { _ = clear(o.Folder, o.Remove) }() // the agent says what it cannot remove
	if err := introduction.WriteMark(stdout); err != nil {
		return err
	}
	c := newStdio(stdin, stdout)
	accepted := false
	accept := func() (io.ReadWriteCloser, error) {
		if accepted {
			return nil, errors.New("standard input has ended")
		}
		accepted = true
		return c, nil
	}
	err = agent.Serve(ctx, accept, agent.ServerOptions{
		Session: introduction.Session, Silence: introduction.Silence, MaxOutput: introduction.MaxOutput,
		Folder: o.Folder, Alone: true, Log: func(message string) { fmt.Fprintln(log, message) },
	})
	_ = c.Close() // it returns nil
	select {
	case <-c.flushed:
	case <-time.After(flushLimit):
	}
	return err
}

// stdio is standard input and output as a connection. Close ends Read and Write also while they run, which the files
// themselves cannot do on every system.
type stdio struct {
	in  *io.PipeReader
	out *io.PipeWriter
	// flushed is closed when nothing more is written to standard output.
	flushed chan struct{}
}

func newStdio(stdin io.Reader, stdout io.Writer) *stdio {
	in, fill := io.Pipe()
	drain, out := io.Pipe()
	c := &stdio{in: in, out: out, flushed: make(chan struct{})}
	go func() {
		_, err := io.Copy(fill, stdin)
		_ = fill.CloseWithError(err) // nil is io.EOF
	}()
	go func() {
		_, err := io.Copy(stdout, drain)
		_ = drain.CloseWithError(err)
		close(c.flushed)
	}()
	return c
}

// Read reads from standard input.
func (c *stdio) Read(b []byte) (int, error) { return c.in.Read(b) }

// Write writes to standard output.
func (c *stdio) Write(b []byte) (int, error) { return c.out.Write(b) }

// Close ends the connection. It may be called twice.
func (c *stdio) Close() error {
	_ = c.in.Close()
	return c.out.Close()
}
