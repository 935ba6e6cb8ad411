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

// watched is a buffer that tells when something is found in what was printed.
type watched struct {
	*bounded
	looking sync.Mutex
	sees    func(printed []byte) bool
	seen    chan struct{}
}

// when returns a channel that is closed once sees returns true for what was printed. It replaces the previous one.
func (w *watched) when(sees func(printed []byte) bool) <-chan struct{} {
	w.looking.Lock()
	defer w.looking.Unlock()
	seen := make(chan struct{})
	w.sees, w.seen = sees, seen
	w.look()
	return seen
}

// Write keeps the bytes and looks at all of them.
func (w *watched) Write(p []byte) (int, error) {
	n, err := w.bounded.Write(p)
	w.looking.Lock()
	defer w.looking.Unlock()
	w.look()
	return n, err
}

func (w *watched) look() {
	if w.seen != nil && w.sees(w.Bytes()) {
		close(w.seen)
		w.seen = nil
	}
}
