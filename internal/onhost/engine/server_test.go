package engine

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// serveHere serves in this process, which is enough where no data flows, and returns the address and how it ended.
func serveHere(t *testing.T, ctx context.Context, o session.ServeOptions) (string, <-chan error) {
	t.Helper()
	listening := make(chan netip.AddrPort, 1)
	o.Listen, o.Secret = "127.0.0.1:0", enginetest.Secret
	o.Listening = func(at netip.AddrPort) { listening <- at }
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, o) }()
	select {
	case at := <-listening:
		return at.String(), ended
	case err := <-ended:
		t.Fatalf("serving ended with %v", err)
	}
	return "", nil
}

func awaitEnd(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("serving does not end")
	}
}

func TestServeEndsWhenIdle(t *testing.T) {
	_, ended := serveHere(t, t.Context(), session.ServeOptions{IdleTimeout: time.Millisecond})
	awaitEnd(t, ended)
}

func TestServeEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address, ended := serveHere(t, ctx, session.ServeOptions{})
	// In the middle of a session.
	c, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret,
		Params: enginetest.RR(wire.TCP)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	awaitEnd(t, ended)
}

// TestServeOnce: a stranger does not count as the one session; a client that disconnects does.
func TestServeOnce(t *testing.T) {
	address, ended := serveHere(t, t.Context(), session.ServeOptions{Once: true})
	if _, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: []byte("guess"),
		Params: enginetest.RR(wire.TCP)}); err == nil {
		t.Fatal("a stranger has a session")
	}
	c, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret,
		Params: enginetest.RR(wire.UDP)})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	awaitEnd(t, ended)
}

func TestServeNeedsASecret(t *testing.T) {
	if err := Serve(t.Context(), session.ServeOptions{Listen: "127.0.0.1:0"}); err == nil {
		t.Error("it serves without a secret")
	}
}
