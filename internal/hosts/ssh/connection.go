package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/onhost/host"
)

// A connection is a running ssh. As an io.ReadWriteCloser it is the session's standard input and output.
type connection struct {
	host   string
	cmd    *exec.Cmd
	in     *os.File
	out    *bufio.Reader
	outEnd *os.File
	stderr *host.Tail
	// ended is closed when ssh has ended; err is valid then.
	ended chan struct{}
	err   error
	once  sync.Once
}

// Times for the end of ssh.
const (
	// goodbye is how long ssh may take to end after its standard input has been closed, and after SIGTERM.
	goodbye = time.Second
	// drain is how long the end of ssh's messages is waited for after ssh has ended: a process that it left may hold
	// its standard error open.
	drain = 500 * time.Millisecond
)

// open starts ssh, at the terminal if there is one.
func open(arguments []string, t *tty) (*connection, error) {
	// It lives longer than the call that starts it.
	cmd := exec.CommandContext(context.Background(), sshProgram, arguments...)
	c := &connection{cmd: cmd, stderr: host.NewTail(maxTail), ended: make(chan struct{})}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		_, _ = stdin.Close(), in.Close()
		return nil, err
	}
	c.in, c.outEnd, c.out = in, out, bufio.NewReaderSize(out, maxLine)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = stdin, stdout, c.stderr
	c.cmd.WaitDelay = drain
	if t == nil {
		detach(c.cmd)
	} else {
		c.cmd.Stderr = io.MultiWriter(c.stderr, t)
		t.attach(c.cmd)
	}
	err = c.cmd.Start()
	_, _ = stdin.Close(), stdout.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		if errors.Is(err, exec.ErrNotFound) {
			err = errors.New("ssh is not installed on this machine, or not on the PATH")
		}
		return nil, err
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// Read reads from the session. At its end, the error says why ssh ended.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.out.Read(p)
	if err != nil {
		err = c.lost(err)
	}
	return n, err
}

// Write writes to the session. If ssh has ended, the error says why.
func (c *connection) Write(p []byte) (int, error) {
	n, err := c.in.Write(p)
	if err != nil {
		err = c.lost(err)
	}
	return n, err
}

// lost is the error of a session that has ended. It wraps err.
func (c *connection) lost(err error) error {
	if !c.wait(goodbye) {
		return err
	}
	why := ""
	if said := lastLines(c.stderr.String()); len(said) > 0 {
		why = "; ssh says: " + strings.Join(said, " / ")
	}
	return fmt.Errorf("%s: the ssh session ended (%s)%s: %w", c.host, c.how(), why, err)
}

// how says how ssh ended.
func (c *connection) how() string {
	var exit *exec.ExitError
	switch {
	case errors.As(c.err, &exit):
		return clean.Line(exit.String())
	case c.err != nil && !errors.Is(c.err, exec.ErrWaitDelay):
		return clean.Line(c.err.Error())
	}
	return "exit status 0"
}

// code is the exit status of ssh after its end; -1 if a signal ended it.
func (c *connection) code() int {
	if c.cmd.ProcessState == nil {
		return -1
	}
	return c.cmd.ProcessState.ExitCode()
}

// wait waits for the end of ssh, but no longer than the limit.
func (c *connection) wait(limit time.Duration) (ended bool) {
	select {
	case <-c.ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// signalled says that a signal ended ssh.
func (c *connection) signalled() bool { return c.code() < 0 }

// Close ends the session, and ssh. It may be called twice.
func (c *connection) Close() error {
	c.once.Do(func() {
		_ = c.in.Close()
		if !c.wait(goodbye) {
			c.kill()
			<-c.ended
		}
		_ = c.outEnd.Close()
	})
	return nil
}

// kill ends ssh and what it started. SIGTERM comes first, so that ssh leaves the terminal as it was.
func (c *connection) kill() {
	terminate(c.cmd)
	go func() {
		if !c.wait(goodbye) {
			destroy(c.cmd)
		}
	}()
}

// maxTail is how many bytes of messages are kept.
const maxTail = 16 << 10
