//go:build linux

package agent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// TestSlowReader: a process is not blocked if nobody fetches its output, and the output beyond the bound is counted.
func TestSlowReader(t *testing.T) {
	const kept, printed = 1 << 20, 8 << 20
	a := newInProcess(t, ServerOptions{MaxOutput: kept})
	h := a.connect("host", time.Minute).Host()
	ended := filepath.Join(t.TempDir(), "ended")
	slow := &slowWriter{release: make(chan struct{})}
	p, err := h.Start(t.Context(), host.Cmd{
		Argv:   []string{"sh", "-c", fmt.Sprintf("head -c %d /dev/zero; : > %s", printed, ended)},
		Stdout: slow,
	})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(ended); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the process is blocked by the one who reads its output")
		}
	}
	close(slow.release)
	err = p.Wait()
	want := fmt.Sprintf("it has %d bytes, and only the first %d", printed, kept)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it gives %v", err)
	}
	if slow.n != kept {
		t.Errorf("%d bytes were kept, want %d", slow.n, kept)
	}
}

// slowWriter waits for its release before it takes anything.
type slowWriter struct {
	release chan struct{}
	n       int
}

func (w *slowWriter) Write(b []byte) (int, error) {
	<-w.release
	w.n += len(b)
	return len(b), nil
}

// TestStrangers: a client that does not know the secret gets nothing, and does not disturb the owner.
func TestStrangers(t *testing.T) {
	a := newInProcess(t, ServerOptions{})
	c := a.connect("host", time.Minute)
	p, err := c.Host().Start(t.Context(), self("wait"))
	if err != nil {
		t.Fatal(err)
	}
	frame := func(n uint32, body string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, n), body...)
	}
	for name, sent := range map[string][]byte{
		"nothing":          nil,
		"a huge length":    frame(1<<32-1, "x"),
		"too long":         frame(maxGreeting+1, "x"),
		"no JSON":          frame(4, "\x00\x01\x02\x03"),
		"HTTP":             []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"cut":              frame(100, `{"protocol":1`),
		"no secret":        frame(14, `{"protocol":1}`),
		"a short secret":   frame(28, `{"protocol":1,"session":"x"}`),
		"a nested message": frame(4000, strings.Repeat("[", 4000)),
	} {
		ours, theirs := net.Pipe()
		a.conns <- theirs
		go func() {
			_, _ = ours.Write(sent)
			if name == "nothing" || name == "cut" {
				_ = ours.Close()
			}
		}()
		got, _ := io.ReadAll(ours)
		if len(got) > 200 || bytes.Contains(got, []byte(c.instance)) {
			t.Errorf("%s: the agent says %q", name, got)
		}
	}
	if err := p.Stop(time.Second); err != nil {
		t.Error(err)
	}
}

// TestManyStrangers: connections that say nothing are bounded, and hold only little memory.
func TestManyStrangers(t *testing.T) {
	a := newInProcess(t, ServerOptions{})
	c := a.connect("host", time.Minute)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var open []net.Conn
	for range 10000 {
		ours, theirs := net.Pipe()
		a.conns <- theirs
		open = append(open, ours)
	}
	runtime.ReadMemStats(&after)
	if _, err := c.Facts(t.Context()); err != nil {
		t.Errorf("the owner is disturbed: %v", err)
	}
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("10000 connections: %d KB more", grown>>10)
	if grown > 64<<20 {
		t.Errorf("10000 connections hold %d MB", grown>>20)
	}
	for _, conn := range open {
		_ = conn.Close()
	}
}

// TestBodyBounds: a body of another length than announced is refused, and the connection stays.
func TestBodyBounds(t *testing.T) {
	a := newInProcess(t, ServerOptions{})
	c := a.connect("host", time.Minute)
	s, err := c.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]request{
		"longer":    {Call: callPut, Path: []byte("file"), Size: 3},
		"shorter":   {Call: callPut, Path: []byte("file"), Size: 1000},
		"negative":  {Call: callPut, Path: []byte("file"), Size: -1},
		"too large": {Call: callStart, Key: "k", Argv: [][]byte{[]byte("true")}, Size: maxStdin + 1},
		"other":     {Call: callStart, Key: "k", Argv: [][]byte{[]byte("true")}, Size: 1},
		"outside":   {Call: callPut, Path: []byte("../file"), Size: 7},
		"a key":     {Call: callStart, Key: strings.Repeat("k", 65), Argv: [][]byte{[]byte("true")}, Size: 7},
		"unknown":   {Call: "dance"},
	} {
		stream, err := s.OpenStream()
		if err != nil {
			t.Fatal(err)
		}
		r, err := call{request: q, body: []byte("content")}.on(stream)
		if err != nil || r.err() == nil {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
		_ = stream.Close()
	}
	if _, err := os.Stat(filepath.Join(a.folder, rootName, "file")); err == nil {
		t.Error("a file was put")
	}
}

// TestPutElsewhere: the agent replaces no file that it did not put, and removes what it put, with the directories.
func TestPutElsewhere(t *testing.T) {
	folder := t.TempDir()
	theirs := filepath.Join(folder, "theirs")
	if err := os.WriteFile(theirs, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := newInProcess(t, ServerOptions{})
	h := a.connect("host", time.Minute).Host()
	if err := h.Put(t.Context(), theirs, 0o600, strings.NewReader("ours")); err == nil {
		t.Error("a file of somebody else was replaced")
	}
	ours := filepath.Join(folder, "deep", "deeper", "ours")
	for _, content := range []string{"first", "second"} {
		if err := h.Put(t.Context(), ours, 0o640, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(ours); err != nil || string(b) != content {
			t.Errorf("%q (%v)", b, err)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 || left[0].Name() != "theirs" {
		t.Errorf("left are %v (%v)", left, err)
	}
	if left, err := os.ReadDir(a.folder); err != nil || len(left) > 0 {
		t.Errorf("left in the agent's folder are %v (%v)", left, err)
	}
}

// TestManyOwners: twenty owners with an agent each, at once.
func TestManyOwners(t *testing.T) {
	var all sync.WaitGroup
	for range 20 {
		a := newInProcess(t, ServerOptions{})
		h := a.connect("host", time.Minute).Host()
		all.Go(func() {
			for i := range 10 {
				var stdout bytes.Buffer
				p, err := h.Start(t.Context(), host.Cmd{Argv: []string{"echo", fmt.Sprint(i)}, Stdout: &stdout})
				if err == nil {
					err = p.Wait()
				}
				if err != nil || stdout.String() != fmt.Sprintln(i) {
					t.Errorf("%q, %v", &stdout, err)
				}
			}
		})
	}
	all.Wait()
}

// TestWatch: the time of a busy process counts for its own side, and not for other programs.
func TestWatch(t *testing.T) {
	a := newInProcess(t, ServerOptions{})
	c := a.connect("host", time.Minute)
	_, end := c.Watch(t.Context(), nil, netip.Addr{})
	p, err := c.Host().Start(t.Context(), host.Cmd{
		Argv: []string{"sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	s := end()
	if s.Contention.Ran <= 0 || s.Contention.Lived < s.Contention.Ran/2 || s.Window < s.Contention.Lived ||
		s.MachineCPUs == 0 {
		t.Errorf("%+v", s)
	}
	_, end = c.Watch(t.Context(), []int{c.facts.Allowed[0]}, netip.Addr{})
	again := end()
	if again.Contention.Ran != 0 || !again.Contention.Pinned {
		t.Errorf("nothing ran: %+v", again)
	}
}

// TestWatchCounters: an observation has the counters of the device to the other side, read before and after the
// observed time.
func TestWatchCounters(t *testing.T) {
	c := newInProcess(t, ServerOptions{}).connect("host", time.Minute)
	_, end := c.Watch(t.Context(), nil, netip.MustParseAddr("127.0.0.1"))
	p, err := c.Host().Start(t.Context(), host.Cmd{Argv: []string{"true"}})
	if err == nil {
		err = p.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	started, ended := p.Times()
	counted := end().Counters
	if d := counted.Device("lo"); d == nil || !d.Known || len(counted.Devices) != 1 {
		t.Fatalf("%+v", counted)
	}
	if counted.At.After(started) || counted.Until.Before(ended) || counted.Seconds <= 0 {
		t.Errorf("counted from %v to %v in %v s, and the process ran from %v to %v", counted.At, counted.Until,
			counted.Seconds, started, ended)
	}
	t.Logf("both readings took %.2f ms", 1000*counted.Seconds)
	_, end = c.Watch(t.Context(), nil, netip.Addr{})
	if without := end(); without.Counters != nil {
		t.Errorf("there is no other side: %+v", without.Counters)
	}
}

// TestClockAndLoad: the clock of an agent on this machine is this machine's.
func TestClockAndLoad(t *testing.T) {
	c := newInProcess(t, ServerOptions{}).connect("host", 0)
	clock, err := c.Clock(t.Context())
	if err != nil || clock.Uncertainty <= 0 || clock.Offset.Abs() > clock.Uncertainty+time.Millisecond {
		t.Errorf("the same clock: %+v, %v", clock, err)
	}
	if load, err := c.Load(t.Context()); err != nil || load == nil || load.CPUs == 0 {
		t.Errorf("%+v, %v", load, err)
	}
}

// TestFacts: the facts that every Linux has are there.
func TestFacts(t *testing.T) {
	f, err := newInProcess(t, ServerOptions{}).connect("host", 0).Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f.System.OS != runtime.GOOS || f.Kernel == "" || f.BootID == "" || len(f.Allowed) == 0 || len(f.CPUs) == 0 ||
		f.Memory <= 0 || f.Free <= 0 || len(f.Addresses) == 0 || f.Release["ID"] == "" {
		t.Errorf("%+v", f)
	}
}

// FuzzMessages: no bytes make the decoder fail in another way than with an error, or take memory beyond its limit.
func FuzzMessages(f *testing.F) {
	var b bytes.Buffer
	if err := writeMessage(&b, request{Call: callStart, Argv: [][]byte{[]byte("true")}}); err != nil {
		f.Fatal(err)
	}
	w := chunkWriter{w: &b}
	if _, err := w.Write([]byte("body")); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0})
	f.Add([]byte{0, 0, 0, 2, '{', '}', 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, sent []byte) {
		r := bytes.NewReader(sent)
		var q request
		err := readMessage(r, maxGreeting, &q)
		if err == nil {
			_ = q.check()
			var n int64
			if n, err = io.Copy(io.Discard, &chunkReader{r: r}); n > int64(len(sent)) {
				t.Errorf("%d bytes of %d", n, len(sent))
			}
		}
		if errors.Is(err, io.EOF) {
			t.Errorf("the end of the stream is no error of its own: %v", err)
		}
		_, _ = ReadIntroduction(bytes.NewReader(sent))
	})
}
