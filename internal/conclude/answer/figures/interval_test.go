package figures

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
)

// An end without a bound is null in JSON and a word in texts, and an interval is read as it was written.
func TestBounds(t *testing.T) {
	write := func(v float64) string { return fmt.Sprintf("%+g", v) }
	for _, c := range []struct {
		is                    Interval
		json, unbounded, text string
	}{
		{nil, "null", "", "none"},
		{&Bounds{-1, 2.5}, "[-1,2.5]", "", "[-1, +2.5]"},
		{&Bounds{1, math.Inf(1)}, "[1,null]", UnboundedAbove, "[+1, unbounded]"},
		{&Bounds{math.Inf(-1), 1}, "[null,1]", UnboundedBelow, "[unbounded, +1]"},
		{&Bounds{math.Inf(-1), math.Inf(1)}, "[null,null]", UnboundedBoth, "[unbounded, unbounded]"},
	} {
		text, err := json.Marshal(c.is)
		if err != nil || string(text) != c.json || c.is.Unbounded() != c.unbounded || c.is.Text(write) != c.text {
			t.Errorf("%v: %s, %q, %q, %v", c.is, text, c.is.Unbounded(), c.is.Text(write), err)
		}
		var again Interval
		if err := json.Unmarshal(text, &again); err != nil || (again == nil) != (c.is == nil) ||
			again != nil && *again != *c.is {
			t.Errorf("%s is read as %v, %v", text, again, err)
		}
	}
}
