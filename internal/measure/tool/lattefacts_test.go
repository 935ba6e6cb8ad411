package tool

import (
	"os"
	"testing"
)

// What latte prints of the CPU is kept: it is the article's evidence of what accelerated networking saves. The output
// is the article's (labs/proximity/published).
func TestLatteFacts(t *testing.T) {
	text, err := os.ReadFile("../../../labs/proximity/published/proximity-accelerated.txt")
	if err != nil {
		t.Fatal(err)
	}
	m, err := parseLatte(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"context_switches_per_second": "22930", "system_calls_per_second": "23549", "interrupts_per_second": "46473",
	} {
		if got := m.Facts[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
