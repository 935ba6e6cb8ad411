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

// TestAbandon: work that does not look at its context is not waited for.
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
		t.Errorf("work that hangs: %v", err)
	}
	if err := abandon(ctx, time.Hour, func() error { return own }); !errors.Is(err, errInterrupted) {
		t.Errorf("work that fails for an interrupt: %v", err)
	}
	if err := abandon(ctx, time.Hour, func() error { return nil }); err != nil {
		t.Errorf("work that ends in time: %v", err)
	}
}

// TestInterruptibleReads: it reads as what it reads from, until the interrupt.
func TestInterruptibleReads(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 30_000)
	for name, r := range map[string]io.Reader{
		"all at once": bytes.NewReader(content), "bytewise": iotest.OneByteReader(bytes.NewReader(content)), "with its end": iotest.DataErrReader(bytes.NewReader(content)),
	} {
		got, err := io.ReadAll(&interruptible{ctx: t.Context(), r: r})
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	broken := errors.New("broken")
	got, err := io.ReadAll(&interruptible{ctx: t.Context(), r: io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken))})
	if string(got) != "abc" || !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	waits := &interruptible{ctx: ctx, r: r}
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := waits.Read(make([]byte, 10)); !errors.Is(err, context.Canceled) {
		t.Errorf("a read that waits: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
