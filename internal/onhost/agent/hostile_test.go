package agent

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/host"
)

// visitHostile connects to a hostile agent in this process.
func visitHostile(ctx context.Context, t *testing.T, name, mode string) (host.Host, error) {
	dial := func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		go func() { _ = hosttest.ServeHostile(theirs, mode) }()
		return ours, nil
	}
	c, err := Connect(ctx, dial, Options{
		Name: name, Session: NewSession(), Limit: hosttest.BesiegeLimit, Silence: hosttest.BesiegeLimit,
		Endpoint: hosttest.Loopback(t, name),
	})
	if err != nil {
		return nil, err
	}
	return c.Host(), nil
}

// TestHostileAgents: whatever an agent answers, or does not, its owner is held up for a bounded time, in little memory.
func TestHostileAgents(t *testing.T) { hosttest.Besiege(t, hosttest.HostileModes(), visitHostile) }

// TestHostileAgentsInterrupted: no answer that does not come delays the end of an interrupted owner.
func TestHostileAgentsInterrupted(t *testing.T) {
	hosttest.BesiegeInterrupted(t, hosttest.HostileModes(), visitHostile)
}

// TestHostileOwner: somebody who knows an agent's secret cannot use up its memory, and the agent serves on.
func TestHostileOwner(t *testing.T) {
	for name, flood := range map[string]func(conn io.Writer, n uint32) error{
		"pings": func(conn io.Writer, _ uint32) error {
			_, err := conn.Write(bytes.Repeat([]byte{0, framePing, 0, flagSYN, 0, 0, 0, 0, 0, 0, 0, 7}, 1000))
			return err
		},
		"streams": func(conn io.Writer, n uint32) error {
			_, err := conn.Write(header(frameWindow, flagSYN, 2*n+1, 0))
			return err
		},
		"streams that are reset": func(conn io.Writer, n uint32) error {
			_, err := conn.Write(append(header(frameWindow, flagSYN, 2*n+1, 0), header(frameWindow, flagRST, 2*n+1, 0)...))
			return err
		},
		"streams with data": func(conn io.Writer, n uint32) error {
			_, err := conn.Write(append(header(frameData, flagSYN, 2*n+1, 200<<10), make([]byte, 200<<10)...))
			return err
		},
		"large requests": func(conn io.Writer, n uint32) error { // which never end
			request := append(header(frameData, flagSYN, 2*n+1, 100<<10), 0, 15, 255, 255)
			_, err := conn.Write(append(request, make([]byte, 100<<10-4)...))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newInProcess(t, ServerOptions{})
			conn, err := a.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			const owner = "owner"
			if err := writeMessage(conn, hello{Protocol: protocolVersion, Session: a.session, Owner: owner,
				Silence: time.Minute}); err != nil {
				t.Fatal(err)
			}
			if err := readMessage(conn, maxGreeting, &welcome{}); err != nil {
				t.Fatal(err)
			}
			stop := hosttest.BoundMemory(t)
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			ended := time.After(5 * time.Second)
			for n := uint32(0); ; n++ {
				if err := flood(conn, n); err != nil {
					break
				}
				select {
				case <-ended:
					t.Error("the flood was borne for 5 s")
				default:
					continue
				}
				break
			}
			stop()
			_ = conn.Close()
			again, err := Connect(t.Context(), a.dial, Options{Name: "host", Session: a.session})
			if err == nil || !strings.Contains(err.Error(), "another owner") {
				t.Errorf("the agent does not answer any more: %v, %v", again, err)
			}
		})
	}
}

func header(kind byte, flags uint16, stream, length uint32) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0, kind}, flags)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, stream), length)
}

// TestPingsOfFriends: the pings of a yamux whose other side is slow are no flood.
func TestPingsOfFriends(t *testing.T) {
	now := time.Now()
	f := newFrames(nil, 0, func(error) {})
	f.now = func() time.Time { return now }
	for range 1000 {
		now = now.Add(50 * time.Millisecond) // the shortest interval of yamuxConfig
		if err := f.arrived(frame{kind: framePing, flags: flagSYN}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFactsOfHosts: facts that no machine has are refused, and the largest that are accepted stay.
func TestFactsOfHosts(t *testing.T) {
	long := strings.Repeat("é", maxText+1)
	f := Facts{Hostname: long, User: "a\x1bb"}
	f.Release = map[string]string{long: long}
	f.CPUs = make([]check.CPU, maxCPUs)
	f.Allowed = make([]int, maxCPUs)
	f.Addresses = []Interface{{Name: long}}
	if err := f.bound(); err != nil {
		t.Fatal(err)
	}
	kept := strings.Repeat("é", maxText)
	if f.Hostname != kept || f.User != "a?b" || f.Addresses[0].Name != kept || f.Release[kept] != kept ||
		len(f.CPUs) != maxCPUs {
		t.Errorf("%.100v", f)
	}
	f.Allowed = make([]int, maxCPUs+1)
	if err := f.bound(); err == nil || !strings.Contains(err.Error(), "8193 numbers of CPUs") {
		t.Errorf("says %v", err)
	}
}
