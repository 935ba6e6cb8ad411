package tls

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// hostOver starts an agent in this process that serves over TLS, and connects to it. wrap changes the owner's
// connections; it may be nil.
func hostOver(t *testing.T, d Dials, name string, silence time.Duration,
	wrap func(io.ReadWriteCloser) io.ReadWriteCloser) *agent.Client {
	t.Helper()
	a := agentOf(t, d, func(o *AgentOptions) { o.Log = nil })
	ctx, cancel := context.WithCancel(context.Background())
	served, folder := make(chan error, 1), t.TempDir()
	go func() {
		served <- agent.Serve(ctx, func() (io.ReadWriteCloser, error) { return a.Accept(ctx) }, agent.ServerOptions{
			Session: a.Join().Session(), Folder: folder,
			Allow: func(*host.Cmd) error { return nil }, // the suite runs the test program; files are refused
		})
		_ = a.Close() // it returns nil
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("the agent ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("the agent does not end")
		}
	})
	_, dialer := ownerOf(t, a.Join().Encode())
	dial := dialer
	if wrap != nil {
		dial = func(ctx context.Context) (io.ReadWriteCloser, error) {
			c, err := dialer(ctx)
			if err != nil {
				return nil, err
			}
			return wrap(c), nil
		}
	}
	c, err := agent.Connect(t.Context(), dial, agent.Options{
		Name: name, Session: a.Join().Session(), Silence: silence, Endpoint: hosttest.Loopback(t, name),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestConformance runs the suite over TLS, in both directions of dialling.
func TestConformance(t *testing.T) {
	for _, d := range directions() {
		t.Run(d.name(), func(t *testing.T) {
			hosts := func(t *testing.T) (client, server host.Host) {
				return hostOver(t, d, "client", 0, nil).Host(), hostOver(t, d, "server", 0, nil).Host()
			}
			hosttest.Run(t, hosttest.Kind{Hosts: hosts, Processes: true, Signals: true, Pinning: true, IPv6: true})
		})
	}
}

// TestLost runs the suite on hosts whose connections no longer carry anything.
func TestLost(t *testing.T) {
	t.Parallel()
	for _, d := range directions() {
		t.Run(d.name(), func(t *testing.T) {
			hosttest.RunLost(t, func(t *testing.T) hosttest.Losable {
				frozen := &atomic.Bool{}
				freeze := func(c io.ReadWriteCloser) io.ReadWriteCloser { return &frozenConn{c, frozen} }
				return hosttest.Losable{
					Client: hostOver(t, d, "client", 2*time.Second, freeze).Host(),
					Server: hostOver(t, d, "server", 2*time.Second, freeze).Host(),
					Lose:   func() { frozen.Store(true) }, Within: 20 * time.Second,
				}
			})
		})
	}
}

// frozenConn drops all bytes in both directions once frozen is set.
type frozenConn struct {
	io.ReadWriteCloser
	frozen *atomic.Bool
}

func (c *frozenConn) Write(b []byte) (int, error) {
	if c.frozen.Load() {
		return len(b), nil
	}
	return c.ReadWriteCloser.Write(b)
}

func (c *frozenConn) Read(b []byte) (int, error) {
	for {
		n, err := c.ReadWriteCloser.Read(b)
		if err != nil || !c.frozen.Load() {
			return n, err
		}
	}
}

// TestProcessOutlivesConnection cuts the connection while a process runs: the owner comes back to the same agent, and
// the output is whole.
func TestProcessOutlivesConnection(t *testing.T) {
	for _, d := range directions() {
		t.Run(d.name(), func(t *testing.T) {
			var last atomic.Pointer[channel]
			c := hostOver(t, d, "host", time.Minute, func(c io.ReadWriteCloser) io.ReadWriteCloser {
				last.Store(c.(*channel))
				return c
			})
			r, w := io.Pipe()
			p, err := c.Host().Start(t.Context(), host.Cmd{Argv: []string{host.Self, hosttest.Verb, "tree"}, Stdout: w})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Read(make([]byte, 64)); err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, r) }()
			for range 3 {
				cut := last.Load()
				reset(cut.below.Conn)
				if _, err := c.Facts(t.Context()); err != nil { // it waits for the next connection
					t.Fatal(err)
				}
				if last.Load() == cut {
					t.Fatal("the connection was not made anew")
				}
			}
			if err := p.Stop(0); err != nil {
				t.Error(err)
			}
		})
	}
}
