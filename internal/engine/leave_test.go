package engine

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"
)

// soon is how quickly a server must notice that nobody will come; it would wait handshakeTime for the data otherwise.
const soon = handshakeTime / 2

// waitingParams are those of sessions that wait for data first.
func waitingParams() map[string]Params {
	return map[string]Params{"rr-tcp": rrParams(TCP), "rr-udp": rrParams(UDP), "stream": streamParams(2)}
}

// TestClientLeavesBeforeData: the server notices at once that the client has left, and takes the next session.
func TestClientLeavesBeforeData(t *testing.T) {
	for name, p := range waitingParams() {
		t.Run(name, func(t *testing.T) {
			address, _ := startServer(t, "127.0.0.1:0", 0)
			c, err := dial(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: p})
			if err != nil {
				t.Fatal(err)
			}
			if p.Protocol == TCP {
				// A connection that does not prove itself holds nobody up either.
				silent, err := net.Dial("tcp", c.server.String())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = silent.Close() }()
			}
			left := time.Now()
			c.close()
			for {
				next, err := dial(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: p})
				if err == nil {
					next.close()
					break
				}
				if time.Since(left) > 3*handshakeTime {
					t.Fatal(err)
				}
			}
			if took := time.Since(left); took > soon {
				t.Errorf("the server noticed after %v", took)
			}
		})
	}
}

// TestServerEndsBeforeData: a server that is told to end does so at once.
func TestServerEndsBeforeData(t *testing.T) {
	for name, p := range waitingParams() {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			listening, ended := make(chan netip.AddrPort, 1), make(chan error, 1)
			go func() {
				ended <- Serve(ctx, ServeOptions{Listen: "127.0.0.1:0", Secret: testSecret, Listening: func(at netip.AddrPort) { listening <- at }})
			}()
			c, err := dial(t.Context(), RunOptions{Server: (<-listening).String(), Secret: testSecret, Params: p})
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			told := time.Now()
			end()
			select {
			case err := <-ended:
				if took := time.Since(told); err != nil || took > soon {
					t.Errorf("the server ended after %v: %v", took, err)
				}
			case <-time.After(3 * handshakeTime):
				t.Fatal("the server does not end")
			}
		})
	}
}
