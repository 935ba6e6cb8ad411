package engine

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// TestLoadIsPinned: somebody who knows the cookie of a session of load over UDP sends from another address. The server
// answers only if clients may move.
func TestLoadIsPinned(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8")
	}
	for _, moving := range []bool{false, true} {
		address, _ := serveHere(t, t.Context(), session.ServeOptions{Once: true, Moving: moving})
		control, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = control.Close() }()
		frames, err := wire.GreetServer(control, enginetest.Secret)
		if err != nil {
			t.Fatal(err)
		}
		// The greeting leaves a deadline of 5 s, which a busy machine exceeds.
		_ = control.SetDeadline(time.Now().Add(time.Minute))
		p := enginetest.Load(wire.UDP, 1)
		var r wire.Ready
		if err := frames.Write(wire.KindSetup, p); err != nil {
			t.Fatal(err)
		}
		if err := frames.Expect(wire.KindReady, &r); err != nil {
			t.Fatal(err)
		}
		datagram := make([]byte, p.Request)
		copy(datagram, r.Cookie)
		to := fmt.Sprintf("127.0.0.1:%d", r.Port)
		number := uint64(0)
		ask := func(from string, wait time.Duration) bool {
			wire.PutSequence(datagram, number)
			number++
			d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}
			c, err := d.Dial("udp", to)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if _, err := c.Write(datagram); err != nil {
				t.Fatal(err)
			}
			_ = c.SetReadDeadline(time.Now().Add(wait))
			n, _ := c.Read(make([]byte, 2000))
			return n > 0
		}
		const answered, silent = 10 * time.Second, 300 * time.Millisecond
		if !ask("127.0.0.2", answered) {
			t.Fatal("the session does not open")
		}
		if err := frames.Write(wire.KindStart, nil); err != nil {
			t.Fatal(err)
		}
		if err := frames.Expect(wire.KindBegin, nil); err != nil {
			t.Fatal(err)
		}
		wait := silent
		if moving {
			wait = answered
		}
		if !ask("127.0.0.2", answered) { // another port of the same address
			t.Errorf("moving %v: the client is not answered", moving)
		}
		if got := ask("127.0.0.3", wait); got != moving {
			t.Errorf("moving %v: another address is answered: %v", moving, got)
		}
		if !ask("127.0.0.2", answered) {
			t.Errorf("moving %v: the client is not answered any more", moving)
		}
		if err := frames.Write(wire.KindStop, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWithin: others than the addresses of Within get no answer to a greeting.
func TestWithin(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8")
	}
	within := []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32"), netip.MustParsePrefix("fd00::/8")}
	address, _ := serveHere(t, t.Context(), session.ServeOptions{Within: within})
	for from, want := range map[string]bool{"127.0.0.1": false, "127.0.0.2": true, "127.0.0.3": false} {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := wire.GreetServer(c, enginetest.Secret); (err == nil) != want {
			t.Errorf("%s: %v", from, err)
		}
		_ = c.Close()
	}
}
