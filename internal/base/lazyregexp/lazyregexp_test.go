package lazyregexp

import (
	"slices"
	"sync"
	"testing"
)

// TestUsedByMany: goroutines that use an expression at the same time get the same results.
func TestUsedByMany(t *testing.T) {
	r := New(`^(\w+)=(\d+)$`)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if got := r.FindStringSubmatch("a=1"); !slices.Equal(got, []string{"a=1", "a", "1"}) ||
				r.MatchString("a=b") {
				t.Errorf("%q", got)
			}
		})
	}
	all.Wait()
}

// TestWrong: a wrong expression does no harm before it is used.
func TestWrong(t *testing.T) {
	r := New("(")
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression matched")
		}
	}()
	r.MatchString("")
}
