package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/host"
)

// An inProcess is an agent in this process, with connections of net.Pipe.
type inProcess struct {
	t       *testing.T
	session string
	folder  string
	conns   chan io.ReadWriteCloser
	served  chan struct{} // closed when Serve has returned
	err     error         // of Serve
	stop    func()
	// wrap changes the owner's end of new connections; it may be nil.
	wrap func(net.Conn) io.ReadWriteCloser

	mu   sync.Mutex
	logs []string
	open []net.Conn
}

var errStopped = errors.New("the test is over")

// newInProcess starts an agent. It ends with the test.
func newInProcess(t *testing.T, o ServerOptions) *inProcess {
	t.Helper()
	if o.Session == "" {
		o.Session = NewSession()
	}
	a := &inProcess{
		t: t, session: o.Session, folder: t.TempDir(), conns: make(chan io.ReadWriteCloser),
		served: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.stop = cancel
	o.Folder = a.folder
	o.Log = func(message string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.logs = append(a.logs, message)
	}
	accept := func() (io.ReadWriteCloser, error) {
		select {
		case c := <-a.conns:
			return c, nil
		case <-a.served:
			return nil, errStopped
		}
	}
	go func() {
		defer close(a.served)
		a.err = Serve(ctx, accept, o)
	}()
	t.Cleanup(func() {
		cancel()
		a.await()
		if a.err != nil {
			t.Errorf("the agent ended with %v", a.err)
		}
		if t.Failed() {
			a.mu.Lock()
			defer a.mu.Unlock()
			t.Logf("the agent said: %q", a.logs)
		}
	})
	return a
}

// await waits for the end of the agent.
func (a *inProcess) await() {
	a.t.Helper()
	select {
	case <-a.served:
	case <-time.After(30 * time.Second):
		a.t.Fatal("the agent does not end")
	}
}

// dial is the Dialer.
func (a *inProcess) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	ours, theirs := net.Pipe()
	select {
	case a.conns <- theirs:
	case <-a.served:
		return nil, ErrGone
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a.mu.Lock()
	a.open = append(a.open, ours)
	a.mu.Unlock()
	if a.wrap != nil {
		return a.wrap(ours), nil
	}
	return ours, nil
}

// cut closes all connections.
func (a *inProcess) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.open {
		_ = c.Close()
	}
	a.open = nil
}

// connect makes a client. It is closed with the test.
func (a *inProcess) connect(name string, silence time.Duration) *Client {
	a.t.Helper()
	c, err := Connect(a.t.Context(), a.dial, Options{
		Name: name, Session: a.session, Silence: silence, Endpoint: hosttest.Loopback(a.t, name),
	})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = c.Close() })
	return c
}

func self(words ...string) host.Cmd {
	return host.Cmd{Argv: append([]string{host.Self, "hosttest"}, words...)}
}
