package report

import (
	"strings"
	"unicode/utf8"
)

// table is rows under a head; the columns whose name starts with ">" are written to the right.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// columns gives the names without their marks, and which columns are written to the right.
func (t *table) columns() (names []string, right []bool) {
	for _, name := range t.head {
		right = append(right, strings.HasPrefix(name, ">"))
		names = append(names, strings.TrimPrefix(name, ">"))
	}
	return names, right
}

// text writes the table for a terminal, each line after the indent.
func (t *table) text(indent string) string {
	names, right := t.columns()
	widths := make([]int, len(names))
	for _, row := range append([][]string{names}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(cells []string) string {
		var l strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right[i] {
				cell = pad + cell
			} else {
				cell += pad
			}
			if i > 0 {
				l.WriteString("  ")
			}
			l.WriteString(cell)
		}
		return strings.TrimRight(l.String(), " ")
	}
	b.WriteString(indent + line(names) + "\n")
	for _, row := range t.rows {
		b.WriteString(indent + line(row) + "\n")
	}
	return b.String()
}

// markdown writes the table in the pipe form.
func (t *table) markdown() string {
	names, right := t.columns()
	var b strings.Builder
	row := func(cells []string) {
		b.WriteString("|")
		for _, cell := range cells {
			b.WriteString(" " + markdownText(cell) + " |")
		}
		b.WriteString("\n")
	}
	row(names)
	b.WriteString("|")
	for i := range names {
		if right[i] {
			b.WriteString("---:|")
		} else {
			b.WriteString("---|")
		}
	}
	b.WriteString("\n")
	for _, cells := range t.rows {
		row(cells)
	}
	return b.String()
}

// markdownText keeps text from being read as markup.
func markdownText(s string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*", "_", "\\_",
		"`", "\\`", "[", "\\[", "]", "\\]").Replace(s)
}
