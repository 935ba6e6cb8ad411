//go:build linux

package e2e

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// waitUntil waits until get returns something.
func waitUntil[T any](t *testing.T, what string, get func() []T) []T {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		looked := time.Now()
		if got := get(); len(got) > 0 {
			return got
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		rest(looked)
	}
}

// rest sleeps between two looks at something that a test waits for. The last look began at the given time.
func rest(looked time.Time) { time.Sleep(restAfter(looked)) }

// restAfter is how long to sleep after a look: nine times as long as the look took. A look at all processes of the
// machine takes milliseconds, and other tests need the CPU.
func restAfter(looked time.Time) time.Duration {
	const least, most = time.Millisecond, 50 * time.Millisecond
	return min(max(9*time.Since(looked), least), most)
}

// together runs subtests at the same time, at most width of them. They do not call t.Parallel: such subtests wait until
// all top-level tests have started, and meanwhile the cluster that they share uses CPU time.
func together(t *testing.T, width int, subtests map[string]func(t *testing.T)) {
	t.Helper()
	places := make(chan struct{}, width)
	var all sync.WaitGroup
	for name, test := range subtests {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(strings.NewReplacer(" ", "-", ",", "").Replace(name), test)
		})
	}
	all.Wait()
}
