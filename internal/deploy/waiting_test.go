package deploy

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWaiting: what takes long is named, without what is done.
func TestWaiting(t *testing.T) {
	told := make(chan string, 10)
	w := await(func(format string, args ...any) { told <- fmt.Sprintf(format, args...) }, "connecting to",
		200*time.Millisecond, "vm-a", "vm-b")
	w.done("vm-a")
	for range 2 {
		if text := <-told; !strings.HasPrefix(text, "still connecting to vm-b (") {
			t.Errorf("told %q", text)
		}
	}
	w.done("vm-b")
	w.end()
	w = await(func(format string, args ...any) { told <- fmt.Sprintf(format, args...) }, "connecting to", time.Hour, "a")
	w.end()
	select {
	case text := <-told:
		t.Errorf("told %q after the end", text)
	default:
	}
}
