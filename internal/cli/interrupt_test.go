package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
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
