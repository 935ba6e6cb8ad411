package host

import (
	"fmt"
	"testing"
)

// TestTail: the last bytes are kept, however the writes divide them.
func TestTail(t *testing.T) {
	tail := NewTail(5)
	for _, text := range []string{"a", "bcd", "efghijk", "", "l"} {
		if n, err := fmt.Fprint(tail, text); n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if got := tail.String(); got != "hijkl" {
		t.Errorf("kept %q", got)
	}
}
