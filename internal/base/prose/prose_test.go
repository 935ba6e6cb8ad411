package prose

import "testing"

func TestWrap(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"one two three", "  one two\n    three\n"},
		{"", "\n"},
		{"abcdefghijklmnop", "  abcdefgh\n    ijklmn\n    op\n"},
		{"a bcdefghijklmnop", "  a\n    bcdefg\n    hijklm\n    nop\n"},
	} {
		if got := Wrap(c.text, "  ", 10); got != c.want {
			t.Errorf("Wrap(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	if got, want := Markdown("a|b <c> *d* `e`"), "a\\|b &lt;c&gt; \\*d\\* \\`e\\`"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
