package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestWrongSecret(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	_, err := Run(t.Context(), RunOptions{Server: address, Secret: []byte("wrong"), Params: rrParams(TCP)}, &collector{})
	if !errors.Is(err, ErrRefused) {
		t.Errorf("a wrong secret: %v", err)
	}
	if _, _, err := run(t, address, rrParams(TCP)); err != nil {
		t.Errorf("the right secret after it: %v", err)
	}
}

// TestStrangerHearsNothing: whatever a stranger says, and a recorded hello, get no byte.
func TestStrangerHearsNothing(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	hello := greeting{version: ProtocolVersion, nonce: newNonce()}.encode(testSecret, labelHello, nil)
	talk := func(say []byte, want int) {
		t.Helper()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if err := conn.SetDeadline(time.Now().Add(2 * handshakeTime)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(say); err != nil {
			t.Fatal(err)
		}
		// It fails where the server has closed the connection already.
		_ = conn.(*net.TCPConn).CloseWrite()
		heard, err := io.ReadAll(conn)
		if isTimeout(err) {
			t.Errorf("%d bytes from a stranger: the connection stays open", len(say))
		}
		if len(heard) != want {
			t.Errorf("%d bytes from a stranger were answered with %d, not %d", len(say), len(heard), want)
		}
	}
	talk(nil, 0)
	talk([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"+strings.Repeat("x", helloSize)), 0)
	talk(greeting{version: ProtocolVersion}.encode([]byte("guess"), labelHello, nil), 0)
	talk(hello, challengeSize) // one who knows the secret is challenged
	talk(hello, 0)             // and who recorded that hears nothing
	if _, _, err := run(t, address, rrParams(TCP)); err != nil {
		t.Errorf("a session after the strangers: %v", err)
	}
}

// TestPendingIsBounded: silent strangers do not pile up, and do not keep a client out for longer than the handshake.
func TestPendingIsBounded(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	var strangers []net.Conn
	for range maxPending {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		strangers = append(strangers, conn)
	}
	// All places are taken: the next is closed at once, which is a reset or the end.
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(handshakeTime / 2)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || isTimeout(err) {
		t.Errorf("one stranger too many: %d bytes, %v", n, err)
	}
	for _, s := range strangers {
		_ = s.Close()
	}
	deadline := time.Now().Add(2 * handshakeTime)
	for {
		_, _, err := run(t, address, rrParams(TCP))
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a client after the strangers: %v", err)
		}
	}
}

func TestOneSessionAtATime(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	long := rrParams(TCP)
	long.Duration = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	var busy error
	_, err := Run(ctx, RunOptions{Server: address, Secret: testSecret, Params: long}, &collector{onStart: func() {
		_, _, busy = run(t, address, rrParams(TCP))
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
		_, _, err := run(t, address, rrParams(TCP))
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
	crr := rrParams(TCP)
	crr.Mode = ModeCRR
	for name, p := range map[string]Params{"tcp": rrParams(TCP), "udp": rrParams(UDP), "crr": crr, "stream": streamParams(2)} {
		t.Run(name, func(t *testing.T) {
			address, kill := startServer(t, "127.0.0.1:0", 0)
			p.Duration = time.Minute
			started := time.Now()
			_, err := Run(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: p}, &collector{onStart: func() {
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

// TestNoEngine: what listens is silent, closes, or says something else.
func TestNoEngine(t *testing.T) {
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
			_, _, err = run(t, l.Addr().String(), rrParams(TCP))
			if err == nil || time.Since(started) > 2*handshakeTime {
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
	if _, _, err := run(t, closed, rrParams(TCP)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nothing listens: %v", err)
	}
}
