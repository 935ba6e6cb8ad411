package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

// TestAbandon: after an interrupt, abandon does not wait for work that ignores its context.
func TestAbandon(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	ctx, cancel := context.WithCancel(t.Context())
	own := errors.New("its own")
	if err := abandon(ctx, 0, func() error { return own }); !errors.Is(err, own) {
		t.Errorf("before an interrupt: %v", err)
	}
	cancel()
	if err := abandon(ctx, 0, func() error { <-never; return nil }); !errors.Is(err, errInterrupted) {
		t.Errorf("work that never ends: %v", err)
	}
	if err := abandon(ctx, time.Hour, func() error { return own }); !errors.Is(err, errInterrupted) {
		t.Errorf("work that fails after an interrupt: %v", err)
	}
	if err := abandon(ctx, time.Hour, func() error { return nil }); err != nil {
		t.Errorf("work that ends in time: %v", err)
	}
}

// TestSignals: a second Ctrl-C is "at once". SIGTERM and SIGHUP are polite however often they come, also right after
// another signal, as `timeout` sends them.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		name   string
		sent   []os.Signal
		polite int
		atOnce bool
	}{
		{"TERM often", []os.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM}, 3, false},
		{"TERM after INT", []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGTERM}, 3, false},
		{"INT after TERM", []os.Signal{syscall.SIGTERM, os.Interrupt}, 2, false},
		{"HUP and TERM", []os.Signal{syscall.SIGHUP, syscall.SIGTERM}, 2, false},
		{"INT twice", []os.Signal{os.Interrupt, os.Interrupt, syscall.SIGTERM}, 2, true},
		{"INT twice with TERM between", []os.Signal{os.Interrupt, syscall.SIGTERM, os.Interrupt}, 3, true},
	} {
		signals, over := make(chan os.Signal), make(chan struct{})
		polite, atOnce := 0, false
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			untilTwice(signals, over, func() { polite++ }, func() { atOnce = true })
		}()
		for _, s := range c.sent {
			select {
			case signals <- s:
			case <-ended:
			}
		}
		if !c.atOnce {
			close(over)
		}
		<-ended
		if polite != c.polite || atOnce != c.atOnce {
			t.Errorf("%s: %d polite, at once %v", c.name, polite, atOnce)
		}
	}
}

// TestLastWords: they are said once, and not beside the same in order.
func TestLastWords(t *testing.T) {
	said := 0
	var l lastWords
	l.speak()
	l.set(func() { said++ })
	l.speak()
	l.speak()
	if said != 1 {
		t.Errorf("said %d times", said)
	}
	l.set(func() { said++ })
	l.take()()
	l.speak()
	if said != 1 {
		t.Errorf("said %d times, also in order", said)
	}
}

// TestInterruptibleReads: an interruptible reader returns the data and the error of its source until the interrupt.
func TestInterruptibleReads(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 30_000)
	few := content[:3000] // each byte wakes two goroutines
	for _, c := range []struct {
		name string
		want []byte
		r    io.Reader
	}{
		{"all at once", content, bytes.NewReader(content)},
		{"bytewise", few, iotest.OneByteReader(bytes.NewReader(few))},
		{"with its end", content, iotest.DataErrReader(bytes.NewReader(content))},
	} {
		got, err := io.ReadAll(&interruptible{ctx: t.Context(), r: c.r})
		if err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
		}
	}
	broken := errors.New("broken")
	source := io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken))
	got, err := io.ReadAll(&interruptible{ctx: t.Context(), r: source})
	if string(got) != "abc" || !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	waits := &interruptible{ctx: ctx, r: r}
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := waits.Read(make([]byte, 10)); !errors.Is(err, context.Canceled) {
		t.Errorf("a blocked read: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
