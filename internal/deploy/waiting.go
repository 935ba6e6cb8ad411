package deploy

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// firstWait is how long a person waits without a word. What is awaited is told then, and again after twice the time.
const firstWait = 5 * time.Second

// waiting says what is still awaited, as long as something is: "still connecting to vm-b, vm-c (5s)".
type waiting struct {
	what string
	step func(format string, args ...any)
	stop chan struct{}

	mu    sync.Mutex
	names []string
}

// await begins to wait for names. end must be called.
func await(step func(format string, args ...any), what string, first time.Duration, names ...string) *waiting {
	w := &waiting{what: what, step: step, stop: make(chan struct{}), names: slices.Clone(names)}
	go w.tell(first)
	return w
}

// done says that a name is not awaited any more.
func (w *waiting) done(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = slices.DeleteFunc(w.names, func(n string) bool { return n == name })
}

func (w *waiting) end() { close(w.stop) }

func (w *waiting) tell(pause time.Duration) {
	begun := time.Now()
	for {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-w.stop:
			timer.Stop()
			return
		}
		w.mu.Lock()
		left := strings.Join(w.names, ", ")
		w.mu.Unlock()
		if left == "" {
			return
		}
		took := time.Since(begun).Round(100 * time.Millisecond)
		w.step("%s", fmt.Sprintf("still %s %s (%v)", w.what, left, took))
		pause *= 2
	}
}
