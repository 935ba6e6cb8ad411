package engine

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"nearfar/internal/result"
)

// misbehave serves one session of load over TCP whose data connection does as it likes, and returns the address. The
// control connection is a true server's.
func misbehave(t *testing.T, p Params, data func(*net.TCPConn)) string {
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
		frames, err := greetClient(conn, testSecret, newNonceMemory())
		if err != nil {
			return err
		}
		var asked Params
		if err := frames.expect(frameSetup, &asked); err != nil {
			return err
		}
		if asked != p {
			t.Errorf("asked for %+v", asked)
		}
		cookie := newCookie()
		if err := frames.write(frameReady, ready{Port: port.Addr().(*net.TCPAddr).Port, Cookie: cookie[:]}); err != nil {
			return err
		}
		c, err := port.Accept()
		if err != nil {
			return err
		}
		if err := frames.expect(frameStart, nil); err != nil {
			return err
		}
		if err := frames.write(frameBegin, nil); err != nil {
			return err
		}
		go func() {
			if _, err := io.CopyN(io.Discard, c, cookieSize); err == nil {
				data(c.(*net.TCPConn))
			}
		}()
		defer func() { _ = c.Close() }()
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			return err
		}
		if err := frames.expect(frameStop, nil); err != nil {
			return err
		}
		return frames.write(frameReport, report{Version: "x"})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = serve() // what became of it, the client says
	}()
	t.Cleanup(func() { _ = control.Close(); _ = port.Close(); <-ended })
	return control.Addr().String()
}

// TestLoadOfBadServers: a data connection that closes, is silent, sends what nobody asked for, or is slow. A clear error or
// a true record each time, in bounded time.
func TestLoadOfBadServers(t *testing.T) {
	p := loadParams(TCP, 1)
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
		"closing":    {func(c *net.TCPConn) { _ = c.Close() }, "data connection"},
		"resetting":  {func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() }, "data connection"},
		"silent":     {func(*net.TCPConn) {}, "none was answered"},
		"garbage":    {func(c *net.TCPConn) { _, _ = io.WriteString(c, strings.Repeat("x", 100_000)) }, "more than the responses"},
		"part":       {func(c *net.TCPConn) { _, _ = c.Write(make([]byte, p.Response-1)) }, "none was answered"},
		"true, slow": {func(c *net.TCPConn) { echo(c, 20*time.Millisecond) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			r, err := Run(t.Context(), loadOptions(misbehave(t, p, c.data), p, 100), &collector{})
			if took := time.Since(started); took > p.length()+loadDrain+5*time.Second {
				t.Errorf("it took %v", took)
			}
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("not %q but %v", c.want, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			// 100/s for 550 ms are offered and 50/s are done: the last waits for about as long again.
			if achieved, most := value(t, r, result.TransactionRate, "", ""), value(t, r, result.ResponseTime, "max", ""); achieved > 60 || most < 0.3 {
				t.Errorf("achieved %v/s, the longest response time is %v s", achieved, most)
			}
		})
	}
}

func TestLoadServerKilled(t *testing.T) {
	for _, protocol := range []string{TCP, UDP} {
		address, kill := startServer(t, "127.0.0.1:0", 0)
		p := loadParams(protocol, 10)
		p.Duration = time.Minute
		started := time.Now()
		_, err := Run(t.Context(), loadOptions(address, p, 1000), &collector{onStart: func() { time.AfterFunc(300*time.Millisecond, kill) }})
		if err == nil || time.Since(started) > 20*time.Second {
			t.Errorf("%s: after %v: %v", protocol, time.Since(started), err)
		}
		t.Log(err)
	}
}

// TestLoadAllLost: a path that passes no datagram.
func TestLoadAllLost(t *testing.T) {
	address := relay(t, func(int64, bool) int { return 0 })
	started := time.Now()
	_, err := Run(t.Context(), loadOptions(address, loadParams(UDP, 1), 100), &collector{})
	if err == nil || time.Since(started) > 3*handshakeTime {
		t.Errorf("after %v: %v", time.Since(started), err)
	}
}

// TestLoadForeignDatagrams: the data port of a load answers nothing but the session's datagrams, each once.
func TestLoadForeignDatagrams(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	p := loadParams(UDP, 2)
	c, err := dial(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: p})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	sockets, err := c.openAll(2, func() (*socket, error) { return c.dialDatagrams(t.Context()) })
	if err != nil {
		t.Fatal(err)
	}
	if err := c.openLoad(t.Context(), sockets[0]); err != nil {
		t.Fatal(err)
	}
	if err := c.frames.write(frameStart, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.frames.expect(frameBegin, nil); err != nil {
		t.Fatal(err)
	}
	datagram := func(size int, with cookie, sequence uint64) []byte {
		b := make([]byte, size)
		copy(b, with[:])
		if size >= datagramHeader {
			putSequence(b, sequence)
		}
		return b
	}
	almost := c.cookie
	almost[3] ^= 1
	say := func(s *socket, b []byte) {
		t.Helper()
		if n := s.write(b); n != len(b) {
			t.Fatal(s.err())
		}
	}
	if err := sockets[1].setReceiveTimeout(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 2000)
	for sequence := uint64(2); sequence < 8; sequence += 2 {
		say(sockets[1], datagram(p.Request, almost, sequence))
		say(sockets[1], datagram(p.Request+1, c.cookie, sequence))
		say(sockets[1], datagram(p.Request-1, c.cookie, sequence))
		say(sockets[1], datagram(20, c.cookie, sequence))
		say(sockets[1], datagram(p.Request, c.cookie, sequence))
		say(sockets[1], datagram(p.Request, c.cookie, sequence)) // again
		if n := sockets[1].read(reply); n != p.Response || sequenceOf(reply) != sequence {
			t.Errorf("a reply of %d bytes to %d, not to %d", n, sequenceOf(reply), sequence)
		}
	}
}

// FuzzLoadReply: whatever comes as a reply, what is counted stays possible.
func FuzzLoadReply(f *testing.F) {
	f.Add([]byte("some bytes"), uint64(1), uint8(1), 40)
	f.Add(make([]byte, 100), uint64(1<<63), uint8(0), 40)
	f.Fuzz(func(t *testing.T, content []byte, sequence uint64, flags uint8, size int) {
		u := &udpLoad{tally: &tally{start: 10, end: 1 << 62, response: newRecorder(time.Second), service: &Histogram{}, lateness: &Histogram{}},
			slots: make([]slot, 8), newest: make([]uint64, 1), request: make([]byte, 64), response: make([]byte, 41)}
		for n := uint64(1); n <= 12; n++ { // the first four are forgotten
			u.slots[n&7] = slot{sequence: n, intended: int64(n) + 5, actual: nanotime()}
		}
		u.sequence, u.open = 12, 8
		copy(u.response[cookieSize:], content)
		binary.BigEndian.PutUint64(u.response[cookieSize:], sequence)
		u.response[flagsOffset] = flags
		for range 2 {
			u.receive(0, u.response, min(max(size, 0), len(u.response)), nanotime())
		}
		if u.open < 7 || u.tally.answered > 1 || u.tally.answered != u.tally.response.current.Count() {
			t.Fatalf("%d open, %d answered", u.open, u.tally.answered)
		}
		if c := u.counts; c.late+c.duplicates+c.foreign > 2 || c.late < 0 || c.duplicates < 0 {
			t.Fatalf("%+v", c)
		}
	})
}
