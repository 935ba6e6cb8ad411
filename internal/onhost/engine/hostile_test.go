package engine

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

func TestWrongSecret(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	_, err := Run(t.Context(), session.RunOptions{Server: address, Secret: []byte("the wrong one"),
		Params: enginetest.RR(wire.TCP)}, &collector{})
	if !errors.Is(err, wire.ErrRefused) {
		t.Errorf("a wrong secret: %v", err)
	}
	if _, _, err := run(t, address, enginetest.RR(wire.TCP)); err != nil {
		t.Errorf("the right secret after it: %v", err)
	}
}

// TestStrangerHearsNothing: a stranger gets no byte, whatever it sends, and a recorded hello gets none either.
func TestStrangerHearsNothing(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	hello := helloFrom(enginetest.Secret)
	talk := func(say []byte, want int) {
		t.Helper()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if err := conn.SetDeadline(time.Now().Add(2 * wire.HandshakeTime)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(say); err != nil {
			t.Fatal(err)
		}
		// It fails where the server has closed the connection already.
		_ = conn.(*net.TCPConn).CloseWrite()
		heard, err := io.ReadAll(conn)
		if wire.IsTimeout(err) {
			t.Errorf("%d bytes from a stranger: the connection stays open", len(say))
		}
		if len(heard) != want {
			t.Errorf("%d bytes from a stranger were answered with %d, not %d", len(say), len(heard), want)
		}
	}
	talk(nil, 0)
	talk([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"+strings.Repeat("x", len(hello))), 0)
	talk(helloFrom([]byte("guess")), 0)
	talk(hello, len(hello)) // one who knows the secret is challenged
	talk(hello, 0)          // and who recorded that hears nothing
	if _, _, err := run(t, address, enginetest.RR(wire.TCP)); err != nil {
		t.Errorf("a session after the strangers: %v", err)
	}
}

// helloFrom makes a hello with a secret, in the format of docs/wire-protocol.md.
func helloFrom(secret []byte) []byte {
	b := append([]byte("NFAR"), 0, wire.ProtocolVersion, 0, 0)
	b = append(b, make([]byte, 32)...)
	_, _ = rand.Read(b[8:]) // never fails
	h := hmac.New(sha256.New, secret)
	h.Write(append([]byte("nearfar hello\x00"), b...))
	return h.Sum(b)
}

// TestSilentConnectionsKeepNobodyOut: a client is served at once although any number of silent connections come from
// its own address. The server keeps only a few of these, and tells the others that it is busy.
func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	var strangers []net.Conn
	for range 24 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		strangers = append(strangers, conn)
	}
	began := time.Now()
	if _, _, err := run(t, address, enginetest.RR(wire.TCP)); err != nil {
		t.Errorf("a client beside %d strangers: %v", len(strangers), err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("a client beside %d strangers took %v", len(strangers), took)
	}
	first := strangers[0]
	if err := first.SetDeadline(time.Now().Add(wire.HandshakeTime)); err != nil {
		t.Fatal(err)
	}
	if heard, err := io.ReadAll(first); err != nil || string(heard) != "nearfar engine: busy, try again\n" {
		t.Errorf("the first stranger hears %q, %v", heard, err)
	}
}

func TestOneSessionAtATime(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	long := enginetest.RR(wire.TCP)
	long.Duration = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	var busy error
	_, err := Run(ctx, session.RunOptions{Server: address, Secret: enginetest.Secret, Params: long},
		&collector{OnStart: func() {
			_, _, busy = run(t, address, enginetest.RR(wire.TCP))
			cancel()
		}})
	if busy == nil || !strings.Contains(busy.Error(), "busy") {
		t.Errorf("a second session: %v", busy)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		_, _, err := run(t, address, enginetest.RR(wire.TCP))
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a session after one that was given up: %v", err)
		}
	}
}

// TestServerKilled: the server dies in the middle, in every mode.
func TestServerKilled(t *testing.T) {
	crr := enginetest.RR(wire.TCP)
	crr.Mode = wire.ModeCRR
	for name, p := range map[string]wire.Params{"tcp": enginetest.RR(wire.TCP), "udp": enginetest.RR(wire.UDP),
		"crr": crr, "stream": enginetest.Stream(2)} {
		t.Run(name, func(t *testing.T) {
			address, kill := enginetest.Start(t, "127.0.0.1:0", 0)
			p.Duration = time.Minute
			started := time.Now()
			_, err := Run(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret, Params: p},
				&collector{OnStart: func() {
					time.AfterFunc(300*time.Millisecond, kill)
				}})
			if err == nil {
				t.Fatal("no error")
			}
			if took := time.Since(started); took > 30*time.Second {
				t.Errorf("it took %v to see: %v", took, err)
			}
			t.Log(err)
		})
	}
}

// TestNoEngine: a run fails in time if the program at the server's address is not an engine: it is silent, closes the
// connection, or sends something else.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(net.Conn){
		"closing": func(c net.Conn) { _ = c.Close() },
		"silent":  func(net.Conn) {},
		"garbage": func(c net.Conn) { _, _ = io.WriteString(c, strings.Repeat("SSH-2.0-x\r\n", 50)) },
		"short":   func(c net.Conn) { _, _ = io.WriteString(c, "NFAR"); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			go func() {
				c, err := l.Accept()
				if err == nil {
					answer(c)
				}
			}()
			started := time.Now()
			_, _, err = run(t, l.Addr().String(), enginetest.RR(wire.TCP))
			if err == nil || time.Since(started) > 2*wire.HandshakeTime {
				t.Errorf("after %v: %v", time.Since(started), err)
			}
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	if _, _, err := run(t, closed, enginetest.RR(wire.TCP)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nothing listens: %v", err)
	}
}
