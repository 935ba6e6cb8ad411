package runner

import (
	"fmt"
	"sync"
)

// bounded is a buffer that several goroutines may write to. It keeps at most limit bytes, so that a program that prints
// without end does not use up the memory.
type bounded struct {
	mu    sync.Mutex
	buf   []byte
	limit int
	lost  int
}

func newBounded(limit int) *bounded { return &bounded{limit: limit} }

// Write never fails: a full buffer must neither block nor end the process that prints.
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	take := min(len(p), b.limit-len(b.buf))
	b.buf = append(b.buf, p[:take]...)
	b.lost += len(p) - take
	return len(p), nil
}

// Bytes copies what was kept.
func (b *bounded) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]byte(nil), b.buf...)
}

// Len is the number of bytes kept so far.
func (b *bounded) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.buf)
}

// tail is the end of what was kept, for a message.
func (b *bounded) tail() []byte {
	const last = 400
	kept := b.Bytes()
	return kept[max(0, len(kept)-last):]
}

// cut says how much was discarded; "" for nothing.
func (b *bounded) cut() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost == 0 {
		return ""
	}
	return fmt.Sprintf("printed %d bytes more than the %d that are kept", b.lost, b.limit)
}

// watched is a buffer that tells when sees finds something in what was printed.
type watched struct {
	*bounded
	sees func(printed []byte) bool
	// seen is closed when sees has returned true.
	seen chan struct{}
	done bool
}

func newWatched(b *bounded, sees func([]byte) bool) *watched {
	return &watched{bounded: b, sees: sees, seen: make(chan struct{})}
}

// Write keeps the bytes and looks at all of them. A process has one writer for each of its streams, so calls do not
// overlap.
func (w *watched) Write(p []byte) (int, error) {
	n, err := w.bounded.Write(p)
	if !w.done && w.sees(w.Bytes()) {
		w.done = true
		close(w.seen)
	}
	return n, err
}
