package file

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"nearfar/internal/base/clean"
)

// Mistake is one thing that is wrong in an experiment file.
type Mistake struct {
	File string
	// Line and Column count from 1; columns are characters, not bytes.
	Line, Column int
	// Message says what is wrong.
	Message string
	// Hint says what would be right. It may be empty.
	Hint string
	// Source is the line of the file.
	Source string
}

// Mistakes are all mistakes of one file, in the order of their positions. As an error it is never empty.
type Mistakes []Mistake

// maxRendered is how many mistakes are written out. A file with more is probably no experiment file.
const maxRendered = 100

// Error writes each mistake with its position, its line and a caret.
func (m *Mistakes) Error() string {
	var b strings.Builder
	for i, one := range *m {
		if i == maxRendered {
			fmt.Fprintf(&b, "\nand %d more mistakes", len(*m)-maxRendered)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.String())
	}
	return b.String()
}

// String writes the mistake as file:line:column: message: hint, and below it the line with a caret under the column.
func (m Mistake) String() string {
	head := fmt.Sprintf("%s:%d:%d: %s", clean.Line(m.File), m.Line, m.Column, clean.Line(m.Message))
	if m.Hint != "" {
		head += ": " + clean.Line(m.Hint)
	}
	if strings.TrimSpace(m.Source) == "" {
		return head
	}
	shown, caret := excerpt(m.Source, m.Column)
	gutter := strconv.Itoa(m.Line)
	return fmt.Sprintf("%s\n  %s | %s\n  %s | %s^",
		head, gutter, shown, strings.Repeat(" ", len(gutter)), strings.Repeat(" ", caret))
}

// The widths of an excerpt, in cells of a terminal.
const (
	excerptWhole  = 120 // a line of at most this is shown whole
	excerptBefore = 80  // kept before the caret of a longer one
	excerptAfter  = 40  // kept from the caret on
	tabWidth      = 4
)

// excerpt gives the line as a terminal can show it, cut around the column if it is long, and the cell of the caret.
func excerpt(line string, column int) (shown string, caret int) {
	runes := []rune(strings.TrimRightFunc(line, unicode.IsSpace))
	at := min(column-1, len(runes))
	start, end := 0, len(runes)
	if cells(runes) > excerptWhole {
		// The number of characters is limited as well, since combining marks take no cell.
		start, end = max(0, at-excerptBefore), min(len(runes), at+excerptAfter)
		for cells(runes[start:at]) > excerptBefore {
			start++
		}
		for cells(runes[at:end]) > excerptAfter {
			end--
		}
	}
	var b strings.Builder
	if start > 0 {
		b.WriteRune('…')
		caret = 1
	}
	for _, r := range runes[start:end] {
		text, _ := cell(r)
		b.WriteString(text)
	}
	if end < len(runes) {
		b.WriteRune('…')
	}
	return b.String(), caret + cells(runes[start:at])
}

// cells is how many cells the characters take.
func cells(runes []rune) int {
	width := 0
	for _, r := range runes {
		_, w := cell(r)
		width += w
	}
	return width
}

// cell gives what a terminal shows for a character, and the number of cells. Characters that would move the cursor or
// reorder the text are escaped.
func cell(r rune) (text string, width int) {
	switch {
	case r == '\t':
		return strings.Repeat(" ", tabWidth), tabWidth
	case !clean.Shown(r):
		text = clean.Rune(r)
		return text, len(text)
	case unicode.In(r, unicode.Mn, unicode.Me):
		return string(r), 0
	case isWide(r):
		return string(r), 2
	}
	return string(r), 1
}

// isWide reports whether a character takes two cells. The ranges approximate the wide and full-width blocks of Unicode
// UAX 11.
func isWide(r rune) bool {
	switch {
	case 0x1100 <= r && r <= 0x115F, // Hangul Jamo
		0x2E80 <= r && r <= 0x303E,   // CJK radicals, punctuation
		0x3041 <= r && r <= 0xA4CF,   // kana, CJK, Yi
		0xAC00 <= r && r <= 0xD7A3,   // Hangul
		0xF900 <= r && r <= 0xFAFF,   // CJK compatibility
		0xFE30 <= r && r <= 0xFE6F,   // CJK forms
		0xFF00 <= r && r <= 0xFF60,   // full-width forms
		0xFFE0 <= r && r <= 0xFFE6,   //
		0x1F300 <= r && r <= 0x1FAFF, // pictographs
		0x20000 <= r && r <= 0x3FFFD: // CJK extensions
		return true
	}
	return false
}

// quote quotes a text from the file for a message.
func quote(s string) string { return clean.Quote(s) }
