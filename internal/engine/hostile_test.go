package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestWrongSecret(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	_, err := Run(t.Context(), RunOptions{Server: address, Secret: []byte("the wrong one"), Params: rrParams(TCP)}, &collector{})
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

// TestSilentConnectionsKeepNobodyOut: a client is served at once beside any number of silent connections from its own
// address, of which only a few are kept; the others hear that the server is busy.
func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	var strangers []net.Conn
	for range 3 * maxPendingAddress {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		strangers = append(strangers, conn)
	}
	began := time.Now()
	if _, _, err := run(t, address, rrParams(TCP)); err != nil {
		t.Errorf("a client beside %d strangers: %v", len(strangers), err)
	}
	if took := time.Since(began); took > helloTime {
		t.Errorf("a client beside %d strangers took %v", len(strangers), took)
	}
	first := strangers[0]
	if err := first.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		t.Fatal(err)
	}
	if heard, err := io.ReadAll(first); err != nil || string(heard) != busyNotice {
		t.Errorf("the first stranger hears %q, %v", heard, err)
	}
}

// TestPendingMakesRoom: too many connections of one address make room for those of others.
func TestPendingMakesRoom(t *testing.T) {
	var p greeted
	at := func(address string) *greetedConn {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
		return p.add(addressedConn{ours, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))})
	}
	gone := func(c *greetedConn) bool {
		select {
		case <-c.gone:
			return true
		default:
			return false
		}
	}
	var many []*greetedConn
	for i := range maxPendingAddress + 2 {
		many = append(many, at(fmt.Sprintf("192.0.2.1:%d", 1000+i)))
	}
	for i, c := range many {
		if gone(c) != (i < 2) {
			t.Errorf("connection %d of one address: gone %v", i, gone(c))
		}
	}
	for i := range 4 * maxPending { // each from an address of its own
		c := at(fmt.Sprintf("198.51.%d.%d:1000", i/200, i%200))
		if len(p.all) > maxPending || gone(c) {
			t.Fatalf("connection %d: %d are kept, gone %v", i, len(p.all), gone(c))
		}
	}
	if last := many[len(many)-1]; !gone(last) || p.remove(last) {
		t.Error("the address with most connections did not make room")
	}
}

// addressedConn has another address.
type addressedConn struct {
	net.Conn
	from net.Addr
}

func (c addressedConn) RemoteAddr() net.Addr { return c.from }

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
