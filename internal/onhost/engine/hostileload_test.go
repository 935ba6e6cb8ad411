package engine

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/wire"
)

// misbehave serves one session of load over TCP whose data connection does as it likes, and returns the address. The
// control connection is a true server's.
func misbehave(t *testing.T, p wire.Params, data func(*net.TCPConn)) string {
	t.Helper()
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = control.Close(); _ = port.Close() })
	serve := func() error {
		conn, err := control.Accept()
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		frames, err := wire.GreetClient(conn, enginetest.Secret, wire.NewNonces())
		if err != nil {
			return err
		}
		var asked wire.Params
		if err := frames.Expect(wire.KindSetup, &asked); err != nil {
			return err
		}
		if asked != p {
			t.Errorf("asked for %+v", asked)
		}
		cookie := wire.NewCookie()
		if err := frames.Write(wire.KindReady, wire.Ready{Port: port.Addr().(*net.TCPAddr).Port,
			Cookie: cookie[:]}); err != nil {
			return err
		}
		c, err := port.Accept()
		if err != nil {
			return err
		}
		if err := frames.Expect(wire.KindStart, nil); err != nil {
			return err
		}
		if err := frames.Write(wire.KindBegin, nil); err != nil {
			return err
		}
		go func() {
			if _, err := io.CopyN(io.Discard, c, wire.CookieSize); err == nil {
				data(c.(*net.TCPConn))
			}
		}()
		defer func() { _ = c.Close() }()
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			return err
		}
		if err := frames.Expect(wire.KindStop, nil); err != nil {
			return err
		}
		return frames.Write(wire.KindReport, wire.Report{Version: "x"})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = serve() // what became of it, the client says
	}()
	t.Cleanup(func() { _ = control.Close(); _ = port.Close(); <-ended })
	return control.Addr().String()
}

// TestLoadOfBadServers: a data connection closes, is silent, sends unrequested data, or is slow. Each time the run ends
// in bounded time, with a clear error or a true record.
func TestLoadOfBadServers(t *testing.T) {
	p := enginetest.Load(wire.TCP, 1)
	echo := func(c *net.TCPConn, pause time.Duration) {
		request, response := make([]byte, p.Request), make([]byte, p.Response)
		for {
			if _, err := io.ReadFull(c, request); err != nil {
				return
			}
			time.Sleep(pause) // the slowness that is measured
			if _, err := c.Write(response); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		data func(*net.TCPConn)
		want string
	}{
		"closing":   {func(c *net.TCPConn) { _ = c.Close() }, "data connection"},
		"resetting": {func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() }, "data connection"},
		"silent":    {func(*net.TCPConn) {}, "none was answered"},
		"garbage": {func(c *net.TCPConn) { _, _ = io.WriteString(c, strings.Repeat("x", 100_000)) },
			"more than the responses"},
		"part":       {func(c *net.TCPConn) { _, _ = c.Write(make([]byte, p.Response-1)) }, "none was answered"},
		"true, slow": {func(c *net.TCPConn) { echo(c, 20*time.Millisecond) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := enginetest.LoadOptions(misbehave(t, p, c.data), p, 100)
			said, err := measureApart(t, asked{Server: o.Server, Params: p, Load: o.Load},
				p.Length()+mostDrain+5*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if c.want != "" {
				if !strings.Contains(said.Failure, c.want) {
					t.Errorf("not %q but %q", c.want, said.Failure)
				}
				return
			}
			if said.Failure != "" {
				t.Fatal(said.Failure)
			}
			r := said.Result
			// 100/s for 550 ms are offered and 50/s are done: the last waits for about as long again.
			if achieved, most := value(t, r, result.TransactionRate, "", ""), value(t, r, result.ResponseTime, "max",
				""); achieved > 60 || most < 0.3 {
				t.Errorf("achieved %v/s, the longest response time is %v s", achieved, most)
			}
		})
	}
}

func TestLoadServerKilled(t *testing.T) {
	for _, protocol := range []string{wire.TCP, wire.UDP} {
		address, kill := enginetest.Start(t, "127.0.0.1:0", 0)
		p := enginetest.Load(protocol, 10)
		p.Duration = time.Minute
		started := time.Now()
		_, err := Run(t.Context(), enginetest.LoadOptions(address, p, 1000),
			&collector{OnStart: func() { time.AfterFunc(300*time.Millisecond, kill) }})
		if err == nil || time.Since(started) > 20*time.Second {
			t.Errorf("%s: after %v: %v", protocol, time.Since(started), err)
		}
		t.Log(err)
	}
}

// TestLoadAllLost: a path that passes no datagram.
func TestLoadAllLost(t *testing.T) {
	t.Parallel()
	address := relay(t, func(int64, bool) int { return 0 })
	started := time.Now()
	_, err := Run(t.Context(), enginetest.LoadOptions(address, enginetest.Load(wire.UDP, 1), 100),
		&collector{})
	if err == nil || time.Since(started) > 3*wire.HandshakeTime {
		t.Errorf("after %v: %v", time.Since(started), err)
	}
}
