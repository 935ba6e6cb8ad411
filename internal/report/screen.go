package report

import (
	"strings"

	"nearfar/internal/clean"
	"nearfar/internal/prose"
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
	for line := range strings.Lines(prose.Wrap(text, "", s.width)) {
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
