package report

import (
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/prose"
)

// screen is what a terminal can show. The width is in columns.
type screen struct {
	width          int
	unicode, color bool
}

// screen gives the terminal that the options describe.
func (o Options) screen() screen {
	width := o.Width
	if width <= 0 {
		width = defaultWidth
	}
	return screen{max(width, leastWidth), o.Unicode, o.Color}
}

// Escape sequences for colours. Colour never says more than the words do.
const (
	bold    = clean.Bold
	better  = clean.Green
	worse   = clean.Yellow // not red: many people cannot tell red from green
	noPaint = clean.Reset
)

// paint colours text, if the terminal has colours.
func (s screen) paint(color, text string) string {
	if !s.color || color == "" || text == "" {
		return text
	}
	return color + text + noPaint
}

// title writes text in bold, wrapped to the width.
func (s screen) title(text string) string { return s.strong(text, "") }

// strong writes text in bold, wrapped to the width, with an indent.
func (s screen) strong(text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(prose.Wrap(text, indent, s.width)) {
		b.WriteString(s.paint(bold, strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// ellipsis marks where a name was cut.
func (s screen) ellipsis() string {
	if s.unicode {
		return "…"
	}
	return "~"
}
