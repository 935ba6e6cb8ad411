package hosttest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// Losable is a pair of hosts that a test can lose, as if their machine had died or hung.
type Losable struct {
	Client, Server host.Host
	// Lose ends or stops what the hosts depend on. It returns at once, and does not tell the hosts.
	Lose func()
	// Within is how long a call may take after Lose.
	Within time.Duration
}

// RunLost tests what a kind of host promises for lost hosts: every call returns in time with host.ErrLost. hosts makes
// a new pair for each test. The tests run in parallel, because they only wait.
func RunLost(t *testing.T, hosts func(t *testing.T) Losable) {
	t.Helper()
	t.Run("calls", func(t *testing.T) {
		t.Parallel()
		l := hosts(t)
		l.Lose()
		l.wantLost(t, "start", func() error {
			_, err := l.Client.Start(t.Context(), self("kind"))
			return err
		})
		l.wantLost(t, "put", func() error {
			return l.Server.Put(t.Context(), "lost", 0o644, strings.NewReader("content"))
		})
		l.close(t)
	})
	for name, end := range map[string]func(p host.Process, cancel func()) error{
		"stop":   func(p host.Process, _ func()) error { return errors.Join(p.Stop(time.Millisecond), p.Wait()) },
		"cancel": func(p host.Process, cancel func()) error { cancel(); return p.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := hosts(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p, _ := start(ctx, t, l.Server, self("wait"))
			l.Lose()
			l.wantLost(t, name, func() error { return end(p.Process, cancel) })
			l.close(t)
		})
	}
}

// wantLost checks that a call returns in time and says that the host is lost.
func (l Losable) wantLost(t *testing.T, name string, call func() error) {
	t.Helper()
	if err := l.inTime(t, name, call); !errors.Is(err, host.ErrLost) {
		t.Errorf("%s of a lost host: %v, want an error that wraps host.ErrLost", name, err)
	}
}

func (l Losable) inTime(t *testing.T, name string, call func() error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(l.Within):
		t.Fatalf("%s of a lost host did not return within %v", name, l.Within)
		return nil
	}
}

// close closes both hosts, twice.
func (l Losable) close(t *testing.T) {
	t.Helper()
	for range 2 {
		for _, h := range []host.Host{l.Client, l.Server} {
			if err := l.inTime(t, "close", h.Close); err != nil {
				t.Errorf("closing %s, which is lost: %v", h.Endpoint().Name, err)
			}
		}
	}
}
