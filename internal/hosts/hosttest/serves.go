package hosttest

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// holds is the command of a process that holds a port until it is ended.
func holds(protocol string, port int) host.Cmd { return self("listen", protocol, strconv.Itoa(port)) }

// serves waits for a process that holds a port, of each protocol.
func (s suite) serves(t *testing.T) {
	h := s.client(t)
	port := h.Endpoint().Ports().Data
	for _, protocol := range []string{"tcp", "udp"} {
		for range 2 { // the second one holds what the first one has left
			p, err := h.Start(t.Context(), holds(protocol, port))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if err := p.Serves(ctx, protocol, port); err != nil {
				t.Errorf("%s port %d: %v", protocol, port, err)
			}
			cancel()
			if err := p.Stop(s.grace()); err != nil {
				t.Error(err)
			}
		}
	}
}

// servesEnded waits for processes that never hold the port: one that ends, and one that does something else.
func (s suite) servesEnded(t *testing.T) {
	h := s.client(t)
	port := h.Endpoint().Ports().Data
	ended, err := h.Start(t.Context(), self("exit", "3"))
	if err != nil {
		t.Fatal(err)
	}
	within(t, "waiting for the port of a process that has ended", func() {
		if err := ended.Serves(t.Context(), "tcp", port); !errors.Is(err, host.ErrEnded) {
			t.Errorf("a process that ended: %v, want an error that wraps host.ErrEnded", err)
		}
	})
	within(t, "waiting for the port of a process whose end is known", func() {
		_ = ended.Wait() // exit code 3
		if err := ended.Serves(t.Context(), "tcp", port); !errors.Is(err, host.ErrEnded) {
			t.Errorf("a process whose end is known: %v, want an error that wraps host.ErrEnded", err)
		}
	})
	other, _ := start(t.Context(), t, h, self("wait"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	within(t, "waiting for a port for 50 ms", func() {
		if err := other.Serves(ctx, "tcp", port); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a process that never serves: %v, want the end of the context", err)
		}
	})
}

// stranger waits for a port that another process holds.
func (s suite) stranger(t *testing.T) {
	h := s.client(t)
	port := h.Endpoint().Ports().Data
	for _, protocol := range []string{"tcp", "udp"} {
		if protocol == "tcp" && s.NoTCPOwner {
			t.Log("not tested over TCP: this system does not tell which process holds a port")
			continue
		}
		stranger, err := h.Start(t.Context(), holds(protocol, port))
		if err != nil {
			t.Fatal(err)
		}
		if err := stranger.Serves(t.Context(), protocol, port); err != nil {
			t.Fatal(err)
		}
		ours, _ := start(t.Context(), t, h, self("wait"))
		within(t, "finding that another process holds the port", func() {
			var taken *host.PortTakenError
			if err := ours.Serves(t.Context(), protocol, port); !errors.As(err, &taken) {
				t.Errorf("a port that another process holds: %v, want a *host.PortTakenError", err)
			} else if taken.Protocol != protocol || taken.Port != port || taken.Program == "" || taken.PID == 0 {
				t.Errorf("the error does not name the process: %+v", taken)
			}
		})
		if err := errors.Join(ours.Stop(s.grace()), stranger.Stop(s.grace())); err != nil {
			t.Error(err)
		}
	}
}
