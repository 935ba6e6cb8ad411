//go:build linux

package daemon

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// pipes are a connection made of two pipes.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// TestAttached connects to an agent on standard input and output, and cuts the connection: what it started ends, and
// its folder goes. An owner that comes back is refused.
func TestAttached(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "agent")
	remove := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(remove, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	options := agent.Options{Name: "host", Session: agent.NewSession(), Silence: time.Minute}
	ended := make(chan struct{}, 10)
	var cut func()
	connections := 0
	dial := func(ctx context.Context) (io.ReadWriteCloser, error) {
		connections++
		stdin, in, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		out, stdout, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = stdin.Close() })
		cut = func() { _, _ = in.Close(), out.Close() }
		go func() {
			o := Options{Folder: folder, Remove: []string{remove}}
			// The second one refuses the owner.
			_ = Attached(context.Background(), o, stdin, stdout, io.Discard)
			// Standard input stays open: a session closes its own only when it ends.
			_ = stdout.Close()
			ended <- struct{}{}
		}()
		i := options.Introduction(ctx)
		i.Mark = "here it begins"
		if _, err := i.WriteTo(in); err != nil {
			return nil, err
		}
		mark := make([]byte, len(i.Mark)+1)
		if _, err := io.ReadFull(out, mark); err != nil || string(mark) != i.Mark+"\n" {
			t.Errorf("it begins with %q, %v", mark, err)
		}
		return pipes{out, in}, nil
	}
	c, err := agent.Connect(t.Context(), dial, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	var out strings.Builder
	p, err := c.Host().Start(t.Context(), host.Cmd{Argv: []string{"sh", "-c", "echo hello"}, Stdout: &out})
	if err == nil {
		err = p.Wait()
	}
	if err != nil || out.String() != "hello\n" {
		t.Fatalf("%q, %v", out.String(), err)
	}
	p, err = c.Host().Start(t.Context(), host.Cmd{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	cut()
	if err := p.Wait(); !errors.Is(err, host.ErrLost) {
		t.Errorf("a process of an agent whose connection is cut: %v", err)
	}
	for range 2 {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("the agent does not end")
		}
	}
	for _, path := range []string{folder, remove} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if connections != 2 {
		t.Errorf("%d connections, want 2", connections)
	}
}
