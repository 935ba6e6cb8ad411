// Package clean makes text from hosts, files and arguments safe to show on a terminal.
//
// A terminal acts on some characters instead of showing them: they move the cursor, clear the screen, set the
// window's title, make the terminal send input as if the user had typed it, or reorder the rest of a line. Other
// characters are invisible, so that two different names look the same. Each such character is written as an escape,
// \u and four hexadecimal digits, which a JSON reader turns back into the same character. These characters are escaped:
//
//   - the control characters of ASCII and ISO 6429: C0 (U+0000 to U+001F), DEL (U+007F) and C1 (U+0080 to U+009F);
//   - format characters (general category Cf): the marks, embeddings, overrides and isolates of the bidirectional
//     algorithm, zero-width space, joiners and word joiner, soft hyphen, byte order mark, and tags (U+E0000 to
//     U+E007F);
//   - line and paragraph separator (U+2028, U+2029), and all spaces except U+0020;
//   - letters and marks that Unicode lists as ignorable by default: Hangul fillers, combining grapheme joiner,
//     variation selectors;
//   - code points without an agreed meaning: surrogates, private use, unassigned;
//   - the replacement character (U+FFFD). A byte that is not valid UTF-8 is written as \x and two digits.
//
// Emoji that are joined or coloured by such characters fall apart into their parts, and Persian words lose their
// non-joiners. In return, no name can be mistaken for another.
//
// Use Line and Quote for a text that becomes part of a line. A Writer in front of the terminal catches the texts for
// which this was forgotten.
package clean

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Shown reports whether a terminal only shows the character: see the package's documentation.
func Shown(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r < 0x7f
	}
	return r != utf8.RuneError && unicode.IsPrint(r) &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Rune returns a character that is Shown unchanged, and any other as an escape.
func Rune(r rune) string {
	switch {
	case Shown(r):
		return string(r)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Line returns the text as one line: each newline and each tab becomes a space, other characters that are not Shown
// become escapes.
func Line(s string) string {
	if isClean(s, "") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Lines(s))
}

// Lines keeps newlines and tabs. Other characters that are not Shown become escapes.
func Lines(s string) string { return Text(s, false) }

// Text does the same as Lines. If colours is true, it also keeps the Colours.
func Text(s string, colours bool) string { return string(escape([]byte(s), colours)) }

// longestQuote is how many characters of a text Quote shows.
const longestQuote = 60

// Quote quotes the text for a message, in Go's syntax. A text of more than 60 characters is cut.
func Quote(s string) string {
	cut := Cut(s, longestQuote)
	quoted := Line(strconv.Quote(cut))
	if len(cut) < len(s) {
		quoted += "…"
	}
	return quoted
}

// Cut returns at most the first most characters of the text. A byte that is not valid UTF-8 counts as a character.
func Cut(s string, most int) string {
	for i := range s {
		if most == 0 {
			return s[:i]
		}
		most--
	}
	return s
}

// isClean reports whether the text consists of printable ASCII and the characters of also.
func isClean[T string | []byte](s T, also string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c >= 0x7f) && strings.IndexByte(also, c) < 0 {
			return false
		}
	}
	return true
}

// escape implements Text.
func escape(p []byte, colours bool) []byte {
	if isClean(p, "\n\t") {
		return p
	}
	out := make([]byte, 0, len(p)+len(p)/8)
	for len(p) > 0 {
		if colour := colourAt(p); colours && colour != "" {
			out, p = append(out, colour...), p[len(colour):]
			continue
		}
		r, size := utf8.DecodeRune(p)
		switch {
		case r == '\n' || r == '\t' || Shown(r):
			out = append(out, p[:size]...)
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, p[0])
		default:
			out = append(out, Rune(r)...)
		}
		p = p[size:]
	}
	return out
}
