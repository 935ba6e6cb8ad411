package clean

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// TestEscapes has a character of each kind that is escaped.
func TestEscapes(t *testing.T) {
	for text, want := range map[string]string{
		"l2, größe 42 µs, 距離, ▁▃█ … ⠿ 😀": "l2, größe 42 µs, 距離, ▁▃█ … ⠿ 😀",
		"e\u0301":                     "e\u0301",
		"a\x00b\x07c\x08d":            `a\u0000b\u0007c\u0008d`,
		"\x1b]0;x\x07\x1b[2J":         `\u001b]0;x\u0007\u001b[2J`,
		"\x1b[32m":                    `\u001b[32m`,
		"a\rb":                        `a\u000db`,
		"\x7f":                        `\u007f`,
		"\u0085\u009b2J":              `\u0085\u009b2J`,
		"\x9b2J\xc3":                  `\x9b2J\xc3`,
		"\u202ea\u2066b\u061c\u200f":  `\u202ea\u2066b\u061c\u200f`,
		"\u2028\u2029":                `\u2028\u2029`,
		"a\u200bb\u200dc\u2060\ufeff": `a\u200bb\u200dc\u2060\ufeff`,
		"\u00ad\u00a0\u3000":          `\u00ad\u00a0\u3000`,
		"\u034f\u3164\u115f\ufe0f":    `\u034f\u3164\u115f\ufe0f`,
		"\U000e0041":                  `\udb40\udc41`,
		"\U000e0100":                  `\udb40\udd00`,
		"\ue000\U0010ffff\ufffd":      `\ue000\udbff\udfff\ufffd`,
	} {
		if got := Lines(text); got != want {
			t.Errorf("Lines(%q) = %q, want %q", text, got, want)
		}
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Lines("a\n\tb\r\n"); got != "a\n\tb\\u000d\n" {
		t.Errorf("Lines: %q", got)
	}
	if got := Line("a\n\tb\r\n"); got != "a  b\\u000d " {
		t.Errorf("Line: %q", got)
	}
	want := "\x1b[32mup\x1b[0m \\u001b[31mx\\u001b[2J\x1b[33;1m"
	if got := Text("\x1b[32mup\x1b[0m \x1b[31mx\x1b[2J\x1b[33;1m", true); got != want {
		t.Errorf("Text: %q, want %q", got, want)
	}
}

// TestQuote: a text cannot end its quotes, and long ones are cut.
func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"":                        `""`,
		"a\"b\n\x1b":              `"a\"b\n\x1b"`,
		"\u3164\u202e\xff":        `"\u3164\u202e\xff"`,
		strings.Repeat("é", 60):   `"` + strings.Repeat("é", 60) + `"`,
		strings.Repeat("é", 61):   `"` + strings.Repeat("é", 60) + `"…`,
		strings.Repeat("\xff", 9): `"` + strings.Repeat(`\xff`, 9) + `"`,
	} {
		if got := Quote(text); got != want {
			t.Errorf("Quote(%q) = %s, want %s", text, got, want)
		}
	}
}

// TestJSONStays: JSON that was escaped for a terminal is the same document.
func TestJSONStays(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) || Shown(r) {
			continue
		}
		data, err := json.Marshal(string(r))
		if err != nil {
			t.Fatal(err)
		}
		var again string
		if err := json.Unmarshal([]byte(Lines(string(data))), &again); err != nil || again != string(r) {
			t.Fatalf("%U: %s is read as %q, %v", r, Lines(string(data)), again, err)
		}
	}
}

// TestWriterPieces: the output is the same as of Lines, however a text is divided into writes.
func TestWriterPieces(t *testing.T) {
	text := "größe 距離 😀\n\xe8\xb7 \xf0\x9f\x98 \x9b\x1b[2J \u202e\xf0\x9f"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := NewWriter(&out, true)
		for rest := text; rest != ""; {
			n, err := io.WriteString(w, rest[:min(size, len(rest))])
			if err != nil || n != min(size, len(rest)) {
				t.Fatalf("wrote %d of %d: %v", n, min(size, len(rest)), err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != Lines(text) {
			t.Errorf("in pieces of %d: %q, want %q", size, got, Lines(text))
		}
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// TestWriterFails: Write returns the error of the terminal.
func TestWriterFails(t *testing.T) {
	gone := errors.New("gone")
	if n, err := NewWriter(broken{gone}, false).Write([]byte("x")); n != 0 || !errors.Is(err, gone) {
		t.Errorf("%d, %v", n, err)
	}
}

// TestWriterTogether: the lines of several goroutines stay whole.
func TestWriterTogether(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, false)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				fmt.Fprintln(w, "a line \x1b")
			}
		})
	}
	all.Wait()
	if want := strings.Repeat("a line \\u001b\n", 800); out.String() != want {
		t.Error("lines were mixed")
	}
}

// FuzzLines: no character that a terminal acts on is left, and a text without such characters stays unchanged.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\x1b[2J\u202e\xff"), 3)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		var out bytes.Buffer
		w := NewWriter(&out, false)
		at := max(0, min(cut, len(data)))
		for _, part := range [][]byte{data[:at], data[at:]} {
			if _, err := w.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if want := Lines(string(data)); got != want && utf8.Valid(data) {
			t.Fatalf("%q, and in one piece %q", got, want)
		}
		acted := func(r rune) bool { return r != '\n' && r != '\t' && !Shown(r) }
		if !utf8.ValidString(got) || strings.ContainsFunc(got, acted) {
			t.Fatalf("left: %q", got)
		}
		if Lines(got) != got {
			t.Fatalf("twice is not once: %q", got)
		}
	})
}
