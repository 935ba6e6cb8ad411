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
