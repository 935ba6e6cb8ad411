package stats

import (
	"runtime/debug"
	"testing"
)

// TestMain runs the tests with fewer garbage collections: simulations allocate much, and keep little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}
