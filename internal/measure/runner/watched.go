package runner

import (
	"sync"

	"nearfar/internal/base/bounded"
)

// watched is a buffer that signals when its content satisfies a condition.
type watched struct {
	*bounded.Buffer
	looking sync.Mutex
	sees    func(printed []byte) bool
	seen    chan struct{}
}

// when returns a channel that is closed once sees returns true for the output so far. It replaces the previous
// condition.
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
	n, err := w.Buffer.Write(p)
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
