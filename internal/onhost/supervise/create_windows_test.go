package supervise

import (
	"slices"
	"testing"
	"unicode/utf16"
)

// TestEnvironment: later settings replace earlier ones, in whatever case, and the block is sorted.
func TestEnvironment(t *testing.T) {
	env := mergeEnv([]string{"Path=a", "=C:=C:\\x", "TEMP=t", ""}, []string{"PATH=b", "New=ä=1"})
	if !slices.Equal(env, []string{"PATH=b", "=C:=C:\\x", "TEMP=t", "New=ä=1"}) {
		t.Errorf("the environment is %q", env)
	}
	block, err := environmentBlock(env)
	want := "=C:=C:\\x\x00New=ä=1\x00PATH=b\x00TEMP=t\x00\x00"
	if got := string(utf16.Decode(block)); err != nil || got != want {
		t.Errorf("the block is %q, %v; want %q", got, err, want)
	}
	if block, err := environmentBlock(nil); err != nil || !slices.Equal(block, []uint16{0, 0}) {
		t.Errorf("the block of no settings is %v, %v", block, err)
	}
	if _, err := environmentBlock([]string{"A=b\x00C=d"}); err == nil {
		t.Error("a setting with a NUL is accepted")
	}
}
