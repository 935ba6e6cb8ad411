package engine

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// soon is how quickly a server must notice that nobody will come; it would wait handshakeTime for the data otherwise.
const soon = wire.HandshakeTime / 2

// waitingParams has the parameters of sessions that wait for data first.
func waitingParams() map[string]wire.Params {
	return map[string]wire.Params{"rr-tcp": enginetest.RR(wire.TCP), "rr-udp": enginetest.RR(wire.UDP),
		"stream": enginetest.Stream(2)}
}

// TestClientLeavesBeforeData: the server notices at once that the client has left, and takes the next session.
func TestClientLeavesBeforeData(t *testing.T) {
	for name, p := range waitingParams() {
		t.Run(name, func(t *testing.T) {
			address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
			c, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret,
				Params: p})
			if err != nil {
				t.Fatal(err)
			}
			if p.Protocol == wire.TCP {
				// A connection that does not prove itself holds nobody up either.
				silent, err := net.Dial("tcp", c.Server.String())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = silent.Close() }()
			}
			left := time.Now()
			c.Close()
			for {
				next, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret,
					Params: p})
				if err == nil {
					next.Close()
					break
				}
				if time.Since(left) > 3*wire.HandshakeTime {
					t.Fatal(err)
				}
			}
			if took := time.Since(left); took > soon {
				t.Errorf("the server noticed after %v", took)
			}
		})
	}
}

// TestServerEndsBeforeData: a server that must end does so at once.
func TestServerEndsBeforeData(t *testing.T) {
	for name, p := range waitingParams() {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			listening, ended := make(chan netip.AddrPort, 1), make(chan error, 1)
			go func() {
				ended <- Serve(ctx, session.ServeOptions{Listen: "127.0.0.1:0", Secret: enginetest.Secret,
					Listening: func(at netip.AddrPort) { listening <- at }})
			}()
			c, err := session.Dial(t.Context(), session.RunOptions{Server: (<-listening).String(),
				Secret: enginetest.Secret, Params: p})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			told := time.Now()
			end()
			select {
			case err := <-ended:
				if took := time.Since(told); err != nil || took > soon {
					t.Errorf("the server ended after %v: %v", took, err)
				}
			case <-time.After(3 * wire.HandshakeTime):
				t.Fatal("the server does not end")
			}
		})
	}
}
