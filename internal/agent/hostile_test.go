package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/yamux"

	"nearfar/internal/host"
	"nearfar/internal/host/hosttest"
)

// hostile is an agent that answers what answer says: a call that it does not answer gets a stream that stays open.
type hostile struct {
	// connected is called for each connection after the greeting; nil for an agent that speaks yamux.
	connected func(net.Conn)
	// answer answers a call; false leaves it open.
	answer func(q request, stream io.ReadWriter) bool
}

// dial is a Dialer of a hostile agent.
func (h hostile) dial(t *testing.T) Dialer {
	return func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		go func() {
			var hi hello
			if readMessage(theirs, maxGreeting, &hi) != nil ||
				writeMessage(theirs, welcome{Protocol: protocolVersion, Instance: "x"}) != nil {
				return
			}
			if h.connected != nil {
				h.connected(theirs)
				return
			}
			s, err := yamux.Server(theirs, yamuxConfig(DefaultSilence))
			if err != nil {
				return
			}
			for {
				stream, err := s.AcceptStream()
				if err != nil {
					return
				}
				go func() {
					var q request
					if readMessage(stream, maxMessage, &q) == nil && h.answer(q, stream) {
						_ = stream.Close()
					}
				}()
			}
		}()
		return ours, nil
	}
}

// polite answers as an agent does whose processes never end.
func polite(q request, stream io.ReadWriter) bool {
	if q.hasBody() {
		_, _ = io.Copy(io.Discard, &chunkReader{r: stream})
	}
	switch q.Call {
	case callFacts:
		return writeMessage(stream, reply{Facts: &Facts{}}) == nil
	case callWait, callRead, callServes:
		return false
	}
	return writeMessage(stream, reply{Started: time.Now()}) == nil
}

// but answers one call in its own way, and all others politely.
func but(name string, answer func(stream io.ReadWriter) bool) func(request, io.ReadWriter) bool {
	return func(q request, stream io.ReadWriter) bool {
		if q.Call == name {
			if q.hasBody() {
				_, _ = io.Copy(io.Discard, &chunkReader{r: stream})
			}
			return answer(stream)
		}
		return polite(q, stream)
	}
}

// ends answers that the process has ended.
func ends(q request, stream io.ReadWriter) bool {
	if q.Call == callWait {
		return writeMessage(stream, reply{Ended: time.Now()}) == nil
	}
	return polite(q, stream)
}

// TestHostileAgent: whatever an agent does not answer, or answers without end, its owner ends within its limits, with an
// error that names the host, and without memory for what it was sent.
func TestHostileAgent(t *testing.T) {
	never := func(io.ReadWriter) bool { return false }
	for name, c := range map[string]struct {
		agent hostile
		// within bounds the whole exchange; wants is in the error, in addition to the host's name.
		wants string
	}{
		"no facts":          {hostile{answer: but(callFacts, never)}, "the agent did not answer within"},
		"no kill":           {hostile{answer: but(callKill, never)}, "did not say within"},
		"kill, but no wait": {hostile{answer: polite}, "did not say within"},
		"end, but no output": {hostile{answer: func(q request, stream io.ReadWriter) bool {
			return ends(q, stream)
		}}, "the rest of the output"},
		"output byte by byte": {hostile{answer: func(q request, stream io.ReadWriter) bool {
			if q.Call != callRead {
				return ends(q, stream)
			}
			w := chunkWriter{w: stream}
			for writeMessage(stream, reply{}) == nil {
				for {
					if _, err := w.Write([]byte("x")); err != nil {
						return true
					}
					time.Sleep(50 * time.Millisecond) // the drip is the attack
				}
			}
			return true
		}}, ""},
		"output without end": {hostile{answer: func(q request, stream io.ReadWriter) bool {
			if q.Call != callRead {
				return polite(q, stream)
			}
			w, block := chunkWriter{w: stream}, make([]byte, maxChunk)
			for err := writeMessage(stream, reply{}); err == nil; {
				_, err = w.Write(block)
			}
			return true
		}}, ""},
		"a reply of noise": {hostile{answer: but(callStart, func(stream io.ReadWriter) bool {
			_, _ = stream.Write(bytes.Repeat([]byte{0xff}, 64))
			return true
		})}, "does not follow the agent's protocol"},
		"no pings": {hostile{connected: func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }},
			"has answered nothing for"},
		"noise for yamux": {hostile{connected: func(conn net.Conn) {
			_, _ = conn.Write(bytes.Repeat([]byte("x"), 4096))
			_, _ = io.Copy(io.Discard, conn)
		}}, "vm-b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			err := useHostile(t, c.agent)
			took := time.Since(begun)
			if !errors.Is(err, host.ErrLost) || !strings.Contains(err.Error(), "vm-b") || !strings.Contains(err.Error(), c.wants) {
				t.Errorf("error %v, want one that vm-b is lost, with %q", err, c.wants)
			}
			if took > 40*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// useHostile starts a process on the agent, gives it up after a moment, and closes the client.
func useHostile(t *testing.T, agent hostile) error {
	c, err := Connect(t.Context(), agent.dial(t), Options{
		Name: "vm-b", Session: NewSession(), Silence: 4 * time.Second, Endpoint: hosttest.Loopback(t, "vm-b"),
		limits: limits{call: 3 * time.Second, killed: 2 * time.Second, canceled: 2 * time.Second},
	})
	if err != nil {
		return err
	}
	defer func() {
		begun := time.Now()
		_ = c.Close()
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("Close took %v", took)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	p, err := c.Host().Start(ctx, host.Cmd{Argv: []string{"iperf3"}, Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		if lost := waitLost(c); lost != nil {
			return lost
		}
		return err
	}
	return p.Wait()
}

// waitLost waits until the client has given its agent up; nil if it does not within the limits.
func waitLost(c *Client) error {
	select {
	case <-c.lost:
		return c.Lost()
	case <-time.After(20 * time.Second):
		return nil
	}
}

// TestCanceledStartKeepsTheAgent: an agent that is slow to start a process, which was given up and killed meanwhile, is
// not lost for that.
func TestCanceledStartKeepsTheAgent(t *testing.T) {
	t.Parallel()
	killed := make(chan struct{}, 1)
	agent := hostile{answer: func(q request, stream io.ReadWriter) bool {
		switch q.Call {
		case callStart:
			_, _ = io.Copy(io.Discard, &chunkReader{r: stream})
			return false
		case callKill:
			defer func() { killed <- struct{}{} }()
		}
		return polite(q, stream)
	}}
	c, err := Connect(t.Context(), agent.dial(t), Options{
		Name: "vm-b", Session: NewSession(), Endpoint: hosttest.Loopback(t, "vm-b"),
		limits: limits{call: time.Minute, killed: 10 * time.Millisecond, canceled: 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Host().Start(ctx, host.Cmd{Argv: []string{"iperf3"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v", err)
	}
	<-killed
	select {
	case <-c.lost:
		t.Errorf("lost: %v", c.Lost())
	case <-time.After(300 * time.Millisecond): // much longer than the limits
	}
}

// TestQuietCountsFromTheLastAnswer: an answer ends the quiet.
func TestQuietCountsFromTheLastAnswer(t *testing.T) {
	c := &Client{begun: time.Now().Add(-time.Minute)}
	if q := c.quiet(); q < time.Minute {
		t.Errorf("quiet for %v before any answer, want a minute", q)
	}
	c.hear()
	if q := c.quiet(); q > 10*time.Second {
		t.Errorf("quiet for %v after an answer", q)
	}
}
