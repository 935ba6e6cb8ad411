package engine

import (
	"context"
	"net/netip"
	"testing"
	"time"
)

// serveHere serves in this process, which is enough where no data flows, and returns the address and how it ended.
func serveHere(t *testing.T, ctx context.Context, o ServeOptions) (string, <-chan error) {
	t.Helper()
	listening := make(chan netip.AddrPort, 1)
	o.Listen, o.Secret = "127.0.0.1:0", testSecret
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
	_, ended := serveHere(t, t.Context(), ServeOptions{IdleTimeout: time.Millisecond})
	awaitEnd(t, ended)
}

func TestServeEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address, ended := serveHere(t, ctx, ServeOptions{})
	// In the middle of a session.
	c, err := dial(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: rrParams(TCP)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	cancel()
	awaitEnd(t, ended)
}

// TestServeOnce: a stranger does not count as the one session; a client that goes away does.
func TestServeOnce(t *testing.T) {
	address, ended := serveHere(t, t.Context(), ServeOptions{Once: true})
	if _, err := dial(t.Context(), RunOptions{Server: address, Secret: []byte("guess"), Params: rrParams(TCP)}); err == nil {
		t.Fatal("a stranger has a session")
	}
	c, err := dial(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: rrParams(UDP)})
	if err != nil {
		t.Fatal(err)
	}
	c.close()
	awaitEnd(t, ended)
}

func TestServeNeedsASecret(t *testing.T) {
	if err := Serve(t.Context(), ServeOptions{Listen: "127.0.0.1:0"}); err == nil {
		t.Error("it serves without a secret")
	}
}
