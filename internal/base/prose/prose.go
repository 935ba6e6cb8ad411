// Package prose lays out text for people: in lines of a terminal's width, or as Markdown.
//
// It does not make text safe to print. Package clean does.
package prose

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Longest is how many characters of one text are printed for people. JSON has the whole text.
const Longest = 2000

// hanging is the further indent of all lines of a text but the first.
const hanging = "  "

// Wrap breaks text into lines of at most width columns of a terminal. Each begins with the indent; lines after the
// first are indented by two more columns. A word that is longer than a line is divided. Text beyond Longest characters
// is cut.
func Wrap(text, indent string, width int) string {
	text = Shorten(text, Longest)
	var b strings.Builder
	line, start := indent, indent
	flush := func() {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		start = indent + hanging
		line = start
	}
	for word := range strings.FieldsSeq(text) {
		if line != start && columns(line)+1+columns(word) > width {
			flush()
		}
		for columns(start)+columns(word) > width { // longer than a line
			room := max(width-columns(line), 1)
			head := ansi.Truncate(word, room, "")
			if head == "" {
				break
			}
			line += head
			word = word[len(head):]
			flush()
		}
		if line != start {
			line += " "
		}
		line += word
	}
	flush()
	return b.String()
}

// columns is how many columns of a terminal a text takes.
func columns(s string) int { return ansi.StringWidth(s) }

// Shorten cuts text after this many characters, and marks the cut with "...".
func Shorten(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "..."
	}
	return text
}

// Markdown escapes the characters that Markdown reads as markup.
func Markdown(text string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*", "_", "\\_",
		"`", "\\`", "[", "\\[", "]", "\\]").Replace(text)
}

// Plural writes a number of things: "1 trial", "3 trials".
func Plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// InBrackets writes a remark that follows a text: " (remark)"; nothing if there is none.
func InBrackets(remark string) string {
	if remark == "" {
		return ""
	}
	return " (" + remark + ")"
}
