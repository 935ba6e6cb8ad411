package tls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/agent"
)

// TestRefusedIsEnded: an agent that was there and whose address refuses all connections is given up long before the time
// of silence. One that listens again in time is not, and neither is one with an address that does not answer.
func TestRefusedIsEnded(t *testing.T) {
	t.Parallel()
	closed := func() error {
		return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	for err, want := range map[error]bool{
		closed(): true, errors.Join(closed(), fmt.Errorf("the agent at x: %w", closed())): true,
		errors.Join(closed(), context.DeadlineExceeded): false, errProtocol: false, syscall.EHOSTUNREACH: false,
		fmt.Errorf("nothing listens there, so %w (%w)", errEnded, closed()): true,
	} {
		if refused(err) != want {
			t.Errorf("%v is a refusal: %t", err, !want)
		}
	}
	a := agentOf(t, OwnerDials, nil)
	conns := make(chan io.ReadWriteCloser, 1)
	served := make(chan error, 1)
	folder := t.TempDir()
	go func() {
		served <- agent.Serve(t.Context(), func() (io.ReadWriteCloser, error) { return a.Accept(t.Context()) },
			agent.ServerOptions{Session: a.Join().Session(), Folder: folder})
	}()
	owner, dial := ownerOf(t, a.Join().Encode())
	owner.mostRefused = 500 * time.Millisecond
	c, err := agent.Connect(t.Context(), func(ctx context.Context) (io.ReadWriteCloser, error) {
		conn, err := dial(ctx)
		if err == nil {
			conns <- conn
		}
		return conn, err
	}, agent.Options{Name: "vm-b", Session: a.Join().Session(), Silence: 2 * patience,
		Endpoint: hosttest.Loopback(t, "vm-b")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	begun := time.Now()
	if err := errors.Join(a.Close(), (<-conns).Close()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the loss of the agent", func() bool { return c.Lost() != nil })
	took := time.Since(begun)
	t.Logf("%v after %v", c.Lost(), took.Round(time.Millisecond))
	if took < owner.mostRefused || !strings.Contains(c.Lost().Error(), "nothing listens there, so the agent has ended") {
		t.Errorf("%v after %v", c.Lost(), took)
	}
}
