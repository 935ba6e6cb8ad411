package experiment

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"bridge", "router", "vtep", "dlr", "firewall", "wire"}
	for word, want := range map[string]string{
		"brigde": "bridge", "Router": "router", "vteps": "vtep", "fire-wall": "firewall", "DLR": "dlr", "wir": "wire",
		"switch": "", "": "", "xyz": "", strings.Repeat("bridge", 1000): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 2}, {"", "ab", 4}, {"abc", "abc", 0}, {"abc", "abd", 2}, {"abc", "ABC", 3},
		{"ab", "ba", 2},
		{"brigde", "bridge", 2}, {"kitten", "sitting", 6}, {"größe", "grösse", 4},
	} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
