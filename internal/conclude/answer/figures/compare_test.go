package figures

import "testing"

// A number of further blocks is stated only if it means something.
func TestHowMuchMoreIsStated(t *testing.T) {
	for _, c := range []struct {
		more, measured int
		stated         bool
	}{{-1, 12, false}, {0, 12, true}, {120, 12, true}, {121, 12, false}, {9727, 5, false}, {60, 2, true}} {
		if got := within(c.more, c.measured); (got != nil) != c.stated || got != nil && *got != c.more {
			t.Errorf("%d more after %d: %v", c.more, c.measured, got)
		}
	}
}
