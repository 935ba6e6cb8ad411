// Package bounded keeps the output of programs, up to a number of bytes.
package bounded

import (
	"fmt"
	"sync"
)

// A Buffer keeps the first bytes that are written to it, so that a program that prints without end does not use up the
// memory. It is safe for concurrent use.
type Buffer struct {
	mu    sync.Mutex
	buf   []byte
	limit int
	lost  int
	full  chan struct{}
}

// New returns a buffer that keeps limit bytes.
func New(limit int) *Buffer { return &Buffer{limit: limit, full: make(chan struct{})} }

// Full is closed when bytes are discarded.
func (b *Buffer) Full() <-chan struct{} { return b.full }

// Write never fails: a full buffer must neither block nor end the process that prints.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	take := min(len(p), b.limit-len(b.buf))
	b.buf = append(b.buf, p[:take]...)
	if b.lost == 0 && take < len(p) {
		close(b.full)
	}
	b.lost += len(p) - take
	return len(p), nil
}

// Bytes are the kept bytes. They are not copied: the buffer only appends to them, and the caller does not change them.
func (b *Buffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf[:len(b.buf):len(b.buf)]
}

// Tail is the end of the kept bytes, for a message.
func (b *Buffer) Tail() []byte {
	const last = 400
	kept := b.Bytes()
	return kept[max(0, len(kept)-last):]
}

// Cut says how much was discarded; "" if nothing was.
func (b *Buffer) Cut() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost == 0 {
		return ""
	}
	return fmt.Sprintf("printed %d bytes more than the %d that are kept", b.lost, b.limit)
}
