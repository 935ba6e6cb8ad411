package supervise

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

func newSupervisor(t *testing.T, maxOutput int64) *Supervisor {
	t.Helper()
	s, err := New(Options{Folder: t.TempDir(), MaxOutput: maxOutput})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// outputOf reads a stream until its end.
func outputOf(t *testing.T, s *Supervisor, key string, stream int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var all strings.Builder
	for b := make([]byte, 1000); ; {
		n, err := s.Read(ctx, key, stream, int64(all.Len()), b)
		all.Write(b[:n])
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestOnce: a process is started once, however often it is asked for.
func TestOnce(t *testing.T) {
	s := newSupervisor(t, 0)
	file := filepath.Join(t.TempDir(), "started")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			c := Command{Argv: []string{"sh", "-c", `echo started | tee -a "$0"; exit 3`, file}}
			if err := s.Start("key", c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for range 2 {
		if end, err := s.Wait(t.Context(), "key"); err != nil || end.Code != 3 || end.Signal != "" {
			t.Errorf("%+v, %v", end, err)
		}
	}
	for range 2 {
		if got := outputOf(t, s, "key", 0); got != "started\n" {
			t.Errorf("it printed %q", got)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "started\n" {
		t.Errorf("%q, %v", b, err)
	}
	for range 2 {
		if err := s.Forget("key"); err != nil {
			t.Error(err)
		}
	}
	if err := s.Start("key", Command{Argv: []string{"true"}}); !errors.Is(err, ErrForgotten) {
		t.Errorf("a start with a key that was used gives %v", err)
	}
	if _, err := s.Wait(t.Context(), "other"); !errors.Is(err, ErrUnknown) {
		t.Errorf("waiting for nothing gives %v", err)
	}
}

// TestKilledBefore: a process that was killed before its start arrived is never started.
func TestKilledBefore(t *testing.T) {
	s := newSupervisor(t, 0)
	if err := s.Kill("key"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "started")
	if err := s.Start("key", Command{Argv: []string{"touch", file}}); err == nil {
		t.Error("it was started")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it ran")
	}
}

func TestMissing(t *testing.T) {
	s := newSupervisor(t, 0)
	for range 2 {
		if err := s.Start("key", Command{Argv: []string{"no-such-program"}}); !errors.Is(err, host.ErrNotFound) {
			t.Errorf("it gives %v", err)
		}
	}
	if err := s.Kill("key"); err != nil {
		t.Error(err)
	}
}

// TestBound: output beyond the bound is counted.
func TestBound(t *testing.T) {
	s := newSupervisor(t, 10)
	c := Command{Argv: []string{"sh", "-c", "printf 0123456789abcdef; printf xyz >&2"}}
	if err := s.Start("key", c); err != nil {
		t.Fatal(err)
	}
	if got := outputOf(t, s, "key", 0); got != "0123456789" {
		t.Errorf("kept is %q", got)
	}
	if got := outputOf(t, s, "key", 1); got != "xyz" {
		t.Errorf("kept is %q", got)
	}
	if o, err := s.Output("key", 0); err != nil || o != (Output{Kept: 10, Lost: 6}) {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestFullDisk: a process whose output cannot be written keeps running, and the reason is known.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	s := &spool{limit: 100, file: full}
	for range 2 {
		if n, err := s.Write([]byte("lost")); n != 4 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if o := s.output(); o.Kept != 0 || o.Lost != 8 || !strings.Contains(o.Failure, "no space") {
		t.Errorf("%+v", o)
	}
	_ = full.Close()
}

func TestParseStat(t *testing.T) {
	tail := " S 7 8 9 0 -1 4194560 0 0 0 0 1 2 3 4 20 0 1 0 12345 0 0"
	for _, name := range []string{"(sh)", "(a b)", "(x) S 1 1 (y)", "())"} {
		p, ok := parseStat(42, []byte("42 "+name+tail))
		if !ok || p != (processStat{pid: 42, parent: 7, group: 8, started: 12345}) {
			t.Errorf("%s: %+v, %v", name, p, ok)
		}
	}
	for _, text := range []string{"", "42 (sh", "42 (sh) S 7", "42 (sh)" + strings.Replace(tail, "12345", "x", 1)} {
		if _, ok := parseStat(42, []byte(text)); ok {
			t.Errorf("%q was understood", text)
		}
	}
}
