// Package local is this machine itself as a host, without namespaces. Its agent is a child process of nearfar, so that
// nothing is left when nearfar is killed.
package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/agent/daemon"
)

// Verb is the hidden verb with which this program is the agent.
const Verb = "agent-serve"

// Open starts the agent of this machine and connects to it. o.Session is drawn if it is empty. folder is where the
// agent makes its own folder; empty for the system's folder for temporary files. Close of the client ends the agent; it
// also ends with this process.
func Open(ctx context.Context, o agent.Options, folder string) (*agent.Client, error) {
	if o.Session == "" {
		o.Session = agent.NewSession()
	}
	a, err := start(ctx, o, folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	c, err := agent.Connect(ctx, a.dial, o)
	if err != nil {
		return nil, errors.Join(err, a.end())
	}
	return c, nil
}

// process is the agent.
type process struct {
	folder string
	cmd    *exec.Cmd
	in     io.WriteCloser // the agent ends when it is closed, also by the end of this process
	ended  chan struct{}
	said   tail
}

// endLimit is how long the agent may take to end with all that it started.
const endLimit = 30 * time.Second

func start(ctx context.Context, o agent.Options, folder string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if folder == "" {
		folder = os.TempDir()
	}
	var name [8]byte
	_, _ = rand.Read(name[:]) // never fails
	// The agent makes the folder, so that it is not left if this process is killed in between.
	a := &process{folder: filepath.Join(folder, "nearfar-"+hex.EncodeToString(name[:])), ended: make(chan struct{})}
	a.cmd = exec.CommandContext(context.WithoutCancel(ctx), self, Verb, "--attached", "--folder", a.folder)
	a.cmd.Stderr = &a.said
	// Ctrl-C in a terminal is for this process alone, which ends the agent in order.
	a.cmd.SysProcAttr = ownGroup()
	if err := daemon.Launch(ctx, a.cmd, o.Introduction(ctx), &a.in); err != nil {
		return nil, errors.Join(err, a.said.err())
	}
	go func() {
		_ = a.cmd.Wait() // why it ended is of no use to anybody: its connection breaks
		close(a.ended)
	}()
	return a, nil
}

func (a *process) end() error {
	_ = a.in.Close()
	select {
	case <-a.ended:
		return nil
	case <-time.After(endLimit):
		return fmt.Errorf("the agent of this machine does not end (process %d)", a.cmd.Process.Pid)
	}
}

// dial connects to the agent.
func (a *process) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", daemon.Socket(a.folder))
	if err == nil {
		return conn, nil
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		err = agent.ErrGone
	}
	return nil, errors.Join(err, a.said.err())
}

// tail keeps the end of what the agent says on standard error.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const kept = 2 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - kept; over > 0 {
		t.b = bytes.Clone(t.b[over:])
	}
	return len(p), nil
}

func (t *tail) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.b) == 0 {
		return nil
	}
	return errors.New(strings.TrimSpace(string(t.b)))
}
