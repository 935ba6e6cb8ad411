package report

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"nearfar/internal/clean"
)

// screen is what a terminal can show.
type screen struct {
	width          int
	unicode, color bool
}

// screen says for what the options ask to lay out.
func (o Options) screen() screen {
	width := o.Width
	if width <= 0 {
		width = defaultWidth
	}
	return screen{max(width, leastWidth), o.Unicode, o.Color}
}

// The sequences for what is shown in colour where the terminal has it. Words always say the same.
const (
	bold    = clean.Bold
	better  = clean.Green
	worse   = clean.Yellow // who cannot tell red from green can tell yellow from green
	noPaint = clean.Reset
)

// paint puts text into a colour.
func (s screen) paint(color, text string) string {
	if !s.color || color == "" || text == "" {
		return text
	}
	return color + text + noPaint
}

// title writes a text in bold, in lines of the width.
func (s screen) title(text string) string {
	var b strings.Builder
	for line := range strings.Lines(wrap(text, "", s.width)) {
		b.WriteString(s.paint(bold, strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// ellipsis stands for what was cut.
func (s screen) ellipsis() string {
	if s.unicode {
		return "…"
	}
	return "~"
}

// maxText is how many characters of one text are printed; the JSON has all of it.
const maxText = 2000

// wrap divides text into lines of the width, each after the indent, and those that go on two columns further in. The text is printable.
func wrap(text, indent string, width int) string {
	text = shorten(text, maxText)
	var b strings.Builder
	line, start := indent, indent
	flush := func() {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		start = indent + between
		line = start
	}
	for _, word := range strings.Fields(text) {
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
