package rr

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// rrPeer connects a socket of the engine with a connection whose other side is played by the function.
func rrPeer(t *testing.T, play func(*net.TCPConn)) *sys.Socket {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if c, err := l.Accept(); err == nil {
			play(c.(*net.TCPConn))
			_ = c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := sys.New(c.(sys.Raw))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Interrupt()
		s.Close()
		_ = l.Close()
		<-ended
	})
	return s
}

// answerAll answers requests until the connection ends, and counts them.
func answerAll(request, response int, count *int64) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		in, out := make([]byte, request), make([]byte, response)
		for {
			if _, err := io.ReadFull(c, in); err != nil {
				return
			}
			if _, err := c.Write(out); err != nil {
				return
			}
			*count++
		}
	}
}

// inEachLoop tests with both loops. Where there is none in assembly, both are the one in Go.
func inEachLoop(t *testing.T, test func(t *testing.T, loop string)) {
	for _, loop := range []string{wire.LoopGo, wire.LoopAssembly} {
		t.Run(loop, func(t *testing.T) { test(t, loop) })
	}
}

// Messages that come in one piece, and such that are larger than what the kernel holds and come in many, are exchanged
// alike, and each transaction is recorded once, also where there are more than wait to be recorded at a time.
func TestRRClient(t *testing.T) { inEachLoop(t, testRRClient) }

func testRRClient(t *testing.T, loop string) {
	for name, c := range map[string]struct {
		request, response int
		transactions      int64
	}{
		"small":          {1, 1, 3 * observe.MomentsLen},
		"large response": {64, 1 << 20, 20},
		"large request":  {1 << 20, 64, 20},
	} {
		t.Run(name, func(t *testing.T) {
			var answered int64
			s := rrPeer(t, answerAll(c.request, c.response, &answered))
			r, h := newTCPClient(s, c.request, c.response, loop), observe.NewHistogram()
			for h.Count() < c.transactions {
				before, from := h.Count(), timing.Now()
				end, ok := r.run(h, from+int64(1e6))
				if !ok {
					t.Fatal(r.err())
				}
				if h.Count() == before || end <= from {
					t.Fatalf("%d transactions in %d ns", h.Count()-before, end-from)
				}
			}
			before := h.Count()
			if _, ok := r.run(h, 0); !ok || h.Count() != before+1 {
				t.Errorf("%d transactions where the time is up after one: %v", h.Count()-before, r.err())
			}
			s.Interrupt()
			if _, ok := r.run(h, 0); ok || r.err() == nil {
				t.Error("a transaction over an ended connection")
			}
		})
	}
}

func TestRRClientFails(t *testing.T) { inEachLoop(t, testRRClientFails) }

func testRRClientFails(t *testing.T, loop string) {
	request := func(c *net.TCPConn) { _, _ = io.ReadFull(c, make([]byte, 64)) }
	for name, c := range map[string]struct {
		play  func(*net.TCPConn)
		right func(error) bool
	}{
		"end at once": {func(c *net.TCPConn) { request(c) }, closedByServer},
		"end amid a response": {func(c *net.TCPConn) { request(c); _, _ = c.Write(make([]byte, 63)) },
			closedByServer},
		"reset": {func(c *net.TCPConn) { request(c); _ = c.SetLinger(0) }, isReset},
		"reset amid the response": {func(c *net.TCPConn) {
			request(c)
			_, _ = c.Write(make([]byte,
				63))
			_ = c.SetLinger(0)
		}, isReset},
	} {
		t.Run(name, func(t *testing.T) {
			r, h := newTCPClient(rrPeer(t, c.play), 64, 64, loop), observe.NewHistogram()
			if _, ok := r.run(h, timing.Now()+int64(1e9)); ok || h.Count() != 0 || !c.right(r.err()) {
				t.Errorf("%d transactions, %v", h.Count(), r.err())
			}
		})
	}
}

func closedByServer(err error) bool {
	return err != nil && strings.Contains(err.Error(), "closed the data connection")
}

func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

func TestRRServer(t *testing.T) { inEachLoop(t, testRRServer) }

func testRRServer(t *testing.T, loop string) {
	for name, c := range map[string]struct{ request, response int }{"small": {1, 1}, "large request": {1 << 20, 64},
		"large response": {64, 1 << 20}} {
		t.Run(name, func(t *testing.T) {
			const asked = 20
			complete := 0
			served := make(chan struct{})
			s := rrPeer(t, func(conn *net.TCPConn) {
				in := make([]byte, c.response)
				for range asked {
					if _, err := conn.Write(make([]byte, c.request)); err != nil {
						return
					}
					if _, err := io.ReadFull(conn, in); err != nil {
						return
					}
					complete++
				}
				_, _ = conn.Write(make([]byte, c.request-1)) // and never the rest
				_ = conn.CloseWrite()
				<-served
			})
			r := newTCPServer(s, c.request, c.response, loop)
			r.run()
			close(served)
			if complete != asked || r.transactions.Load() != asked {
				t.Errorf("%d of %d requests were answered, %d counted", complete, asked, r.transactions.Load())
			}
		})
	}
}
