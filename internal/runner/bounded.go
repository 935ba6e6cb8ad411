package runner

import (
	"fmt"
	"sync"
)

// bounded is a buffer that several goroutines may write to. It keeps at most limit bytes: a host that prints without
// end costs no memory.
type bounded struct {
	mu    sync.Mutex
	buf   []byte
	limit int
	lost  int
}

func newBounded(limit int) *bounded { return &bounded{limit: limit} }

// Write never fails: the process that prints must not be held up or ended by a full buffer.
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	take := min(len(p), b.limit-len(b.buf))
	b.buf = append(b.buf, p[:take]...)
	b.lost += len(p) - take
	return len(p), nil
}

// Bytes gives what was kept.
func (b *bounded) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]byte(nil), b.buf...)
}

// Len is how many bytes were kept so far.
func (b *bounded) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.buf)
}

// tail gives the end of what was kept, for a message.
func (b *bounded) tail() []byte {
	const last = 400
	kept := b.Bytes()
	return kept[max(0, len(kept)-last):]
}

// cut says how much was thrown away, or "".
func (b *bounded) cut() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost == 0 {
		return ""
	}
	return fmt.Sprintf("printed %d bytes more than the %d that are kept", b.lost, b.limit)
}

// watched passes on what is printed, until something in it has been seen.
type watched struct {
	*bounded
	sees func(printed []byte) bool
	// seen is closed then.
	seen chan struct{}
	done bool
}

func newWatched(b *bounded, sees func([]byte) bool) *watched {
	return &watched{bounded: b, sees: sees, seen: make(chan struct{})}
}

// Write keeps and looks. A process has one writer for each of its streams, so calls do not overlap.
func (w *watched) Write(p []byte) (int, error) {
	n, err := w.bounded.Write(p)
	if !w.done && w.sees(w.Bytes()) {
		w.done = true
		close(w.seen)
	}
	return n, err
}
