//go:build linux

package tree

import (
	"slices"
	"testing"
)

// TestEnvironment: a program's own variables replace the inherited ones, such as the TMPDIR of the test, which is no
// folder of the node.
func TestEnvironment(t *testing.T) {
	inherited := []string{"PATH=/bin", "TMPDIR=/elsewhere", "TMPDIRS=x", "EMPTY="}
	got := environment(inherited, []string{"TMPDIR=/tmp", "HOME=/root"})
	if want := []string{"PATH=/bin", "TMPDIRS=x", "EMPTY=", "TMPDIR=/tmp", "HOME=/root"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if inherited[1] != "TMPDIR=/elsewhere" {
		t.Errorf("the inherited environment was changed: %q", inherited)
	}
}
