//go:build linux

package engine

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// A hostileServer knows the secret, agrees on the session, and then does not do what it agreed on.
type hostileServer struct {
	// data is what it does with a data connection, and datagram with a datagram.
	data     func(net.Conn)
	datagram func(c *net.UDPConn, from netip.AddrPort, b []byte)
	// begins says that it also says that the window has begun; after that it is silent.
	begins bool
	// session is what it does once the data port is open; nil for what begins says.
	session func(c net.Conn, frames *wire.Conn, p wire.Params)
}

// hostileServers lists what a server can do to keep its client.
func hostileServers() map[string]hostileServer {
	echo := func(c *net.UDPConn, from netip.AddrPort, b []byte) { _, _ = c.WriteToUDPAddrPort(b, from) }
	ignore := func(*net.UDPConn, netip.AddrPort, []byte) {}
	all := map[string]hostileServer{
		"silent": {data: func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, datagram: ignore},
		// For rr this is right; a transaction of crr never ends this way.
		"answering without an end": {data: func(c net.Conn) { _, _ = io.Copy(c, c) }, datagram: echo},
		"deaf":                     {data: func(net.Conn) {}, datagram: ignore},
		"trickling": {data: func(c net.Conn) {
			for {
				if _, err := c.Write([]byte{1}); err != nil {
					return
				}
				<-time.After(20 * time.Millisecond)
			}
		}, datagram: ignore},
		"flooding": {data: func(c net.Conn) {
			for b := make([]byte, 64<<10); ; {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		}, datagram: func(c *net.UDPConn, from netip.AddrPort, b []byte) {
			for range 100 {
				echo(c, from, b)
			}
		}},
	}
	return all
}

// serve serves one session and returns its address. Everything that it opens is closed at the end of the test.
func (s hostileServer) serve(t *testing.T, protocol string) string {
	t.Helper()
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closing(t, control)
	port := 0
	if protocol == wire.UDP {
		data, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		closing(t, data)
		port = data.LocalAddr().(*net.UDPAddr).Port
		go func() {
			for b := make([]byte, wire.MaxDatagram); ; {
				n, from, err := data.ReadFromUDPAddrPort(b)
				if err != nil {
					return
				}
				s.datagram(data, from, b[:n])
			}
		}()
	} else {
		data, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		closing(t, data)
		port = data.Addr().(*net.TCPAddr).Port
		go func() {
			for {
				c, err := data.Accept()
				if err != nil {
					return
				}
				closing(t, c)
				go s.data(c)
			}
		}()
	}
	go func() {
		c, err := control.Accept()
		if err != nil {
			return
		}
		closing(t, c)
		frames, err := wire.GreetClient(c, enginetest.Secret, wire.NewNonces())
		if err != nil {
			return
		}
		var p wire.Params
		if frames.Expect(wire.KindSetup, &p) != nil || c.SetDeadline(time.Time{}) != nil {
			return
		}
		cookie := wire.NewCookie()
		if frames.Write(wire.KindReady, wire.Ready{Port: port, Cookie: cookie[:]}) != nil {
			return
		}
		if p.Mode == wire.ModeMessages {
			_ = frames.Write(wire.KindStart, nil)
		}
		if s.session != nil {
			s.session(c, frames, p)
			return
		}
		if s.begins {
			_ = frames.Write(wire.KindBegin, nil)
		}
	}()
	return control.Addr().String()
}

func closing(t *testing.T, c io.Closer) { t.Cleanup(func() { _ = c.Close() }) }

// TestNoServerKeepsItsClient: a measurement ends when it should with every server, in every mode: with a result or an
// error, within warm-up, window, the patience and the time for connecting.
func TestNoServerKeepsItsClient(t *testing.T) {
	t.Parallel()
	var cases sync.WaitGroup
	places := make(chan struct{}, 48)
	for mode, o := range everyMode() {
		for kind, s := range hostileServers() {
			for _, begins := range []bool{false, true} {
				s := s
				if s.begins = begins; begins && (o.Params.Mode == wire.ModeRR || o.Params.Mode == wire.ModeCRR) {
					continue // it says nothing there
				}
				cases.Go(func() {
					places <- struct{}{}
					endsInTime(t, fmt.Sprintf("%s, %s, begins %v", mode, kind, begins), o, s)
					<-places
				})
			}
		}
	}
	cases.Wait()
}

// endsInTime measures against the server, in a process of its own: hot loops keep other goroutines of theirs waiting.
func endsInTime(t *testing.T, name string, o session.RunOptions, s hostileServer) {
	ask := asked{Server: s.serve(t, o.Params.Protocol), Params: o.Params, Load: o.Load,
		Patience: 500 * time.Millisecond}
	ask.Params.Duration = 200 * time.Millisecond
	if ask.Params.Mode == wire.ModeLoad {
		ask.Load.Schedule.Steps = []timing.Step{{Rate: 1000, Length: ask.Params.Duration}}
	}
	// Longer than it should take, for other cases share the machine.
	limit := ask.Params.Length() + ask.Patience + 4*wire.HandshakeTime
	said, err := measureApart(t, ask, limit)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	t.Logf("%s: %s", name, cmp.Or(said.Failure, "a result"))
}

// TestNoServerKeepsFirstTransactions: the transactions that open a session with timestamps wait in the kernel, and must
// not keep the runtime's timers waiting, which end them (process.OnThread). When they did, about one client of a
// hundred went on.
func TestNoServerKeepsFirstTransactions(t *testing.T) {
	t.Parallel()
	mode := "rr with timestamps tcp"
	o, ok := everyMode()[mode]
	if !ok {
		t.Fatalf("there is no mode %q", mode)
	}
	var cases sync.WaitGroup
	for range 96 {
		cases.Go(func() { endsInTime(t, mode, o, hostileServers()["silent"]) })
	}
	cases.Wait()
}
