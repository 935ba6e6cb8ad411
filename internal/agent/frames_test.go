package agent

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"nearfar/internal/host"
	"nearfar/internal/host/hosttest"
)

// frame makes the header of a frame of yamux.
func frame(kind byte, flags uint16, stream, length uint32) []byte {
	b := make([]byte, frameHeader)
	b[1] = kind
	binary.BigEndian.PutUint16(b[2:], flags)
	binary.BigEndian.PutUint32(b[4:], stream)
	binary.BigEndian.PutUint32(b[8:], length)
	return b
}

// floods are what a hostile side sends without end. It reads nothing.
func floods() map[string][]byte {
	var streams []byte
	for i := range uint32(4096) {
		streams = append(streams, frame(frameWindow, flagSYN, 2*i+2, 0)...)
	}
	return map[string][]byte{
		"pings":   bytes.Repeat(frame(framePing, flagSYN, 0, 7), 4096),
		"streams": streams,
	}
}

// flooder sends a block again and again, up to 100 MB, as long as it is taken. It says how much was taken.
func flood(conn io.Writer, block []byte) (sent int) {
	for sent < 100<<20 {
		n, err := conn.Write(block)
		sent += n
		if err != nil {
			return sent
		}
	}
	return sent
}

// heap is the memory in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// TestFloodingAgent: an agent that floods its owner is lost at once, with the reason, and takes no memory.
func TestFloodingAgent(t *testing.T) {
	for name, block := range floods() {
		t.Run(name, func(t *testing.T) {
			before := heap()
			dial := func(context.Context) (io.ReadWriteCloser, error) {
				ours, theirs := net.Pipe()
				go func() {
					var h hello
					if readMessage(theirs, maxGreeting, &h) != nil ||
						writeMessage(theirs, welcome{Protocol: protocolVersion, Instance: "x"}) != nil {
						return
					}
					if sent := flood(theirs, block); sent > 1<<20 {
						t.Errorf("%d bytes of the flood were taken", sent)
					}
				}()
				return ours, nil
			}
			begun := time.Now()
			_, err := Connect(t.Context(), dial, Options{
				Name: "vm-b", Session: NewSession(), Endpoint: hosttest.Loopback(t, "vm-b"),
			})
			if !errors.Is(err, host.ErrLost) || !strings.Contains(err.Error(), "vm-b") ||
				!strings.Contains(err.Error(), "it floods this program with "+name) &&
					!strings.Contains(err.Error(), "streams at a time") {
				t.Errorf("error %v", err)
			}
			if took := time.Since(begun); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			if grown := heap() - before; grown > 50<<20 {
				t.Errorf("the flood took %d bytes", grown)
			}
		})
	}
}

// TestFloodingOwner: an agent ends the connection of an owner that floods it, and takes no memory.
func TestFloodingOwner(t *testing.T) {
	for name, block := range floods() {
		t.Run(name, func(t *testing.T) {
			before := heap()
			a := newInProcess(t, ServerOptions{})
			conn, err := a.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var answer welcome
			if err := errors.Join(writeMessage(conn, hello{
				Protocol: protocolVersion, Session: a.session, Owner: "ann", Silence: time.Minute,
			}), readMessage(conn, maxGreeting, &answer)); err != nil || answer.Error != "" {
				t.Fatal(err, answer.Error)
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			if sent := flood(conn, block); sent > 1<<20 {
				t.Errorf("%d bytes of the flood were taken", sent)
			}
			if grown := heap() - before; grown > 50<<20 {
				t.Errorf("the flood took %d bytes", grown)
			}
		})
	}
}

// FuzzGuard: whatever arrives, in whatever pieces, the guard gives the same bytes as long as it refuses none, and never
// more streams or pings than it takes.
func FuzzGuard(f *testing.F) {
	f.Add(append(frame(frameData, flagSYN, 2, 3), 'a', 'b', 'c'), 5)
	f.Add(bytes.Repeat(frame(framePing, flagSYN, 0, 1), 300), 7)
	f.Add(frame(frameWindow, flagSYN|flagFIN, 4, 1<<31), 1)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		g := newGuard(struct {
			io.Reader
			io.WriteCloser
		}{Reader: bytes.NewReader(data)}, 4)
		var got []byte
		b := make([]byte, max(piece, 1)%4096+1)
		for {
			n, err := g.Read(b)
			got = append(got, b[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.HasPrefix(data, got) {
			t.Fatalf("read %x of %x", got, data)
		}
		if g.broken == nil && (len(got) != len(data) || len(g.streams) > 4) {
			t.Errorf("%d of %d bytes, %d streams", len(got), len(data), len(g.streams))
		}
	})
}
