package report

import (
	"strings"

	"nearfar/internal/prose"
)

// intervalColumn is the name of the column that holds intervals, which belong to the numbers before them.
const intervalColumn = ">95 % interval"

// plotColumn stands in table.spare for the plots, which have no name.
const plotColumn = "\x00plot"

// table is rows under a head; the columns whose name starts with ">" are written to the right. What is not in head and rows
// is for terminals, which are narrow and cannot scroll sideways.
type table struct {
	head []string
	rows [][]string
	// marks are what the plot shows, one for each row, nil for a row without; empty for a table without a plot.
	marks []*mark
	// zero says that the plot shows differences, so that zero is on its scale.
	zero bool
	// scale writes the ends of the plot's scale.
	scale func(float64) string
	// spare lists what a terminal that is too narrow leaves out, in this order: names of columns, or plotColumn.
	spare []string
	// named is how many columns after the first hold names, which are cut too where the width is not enough.
	named int
	// below holds what a row has to say that is too long for its column: markdown writes it there, a terminal below the table.
	below []note
}

// note is a text that belongs to a cell.
type note struct {
	row, column int
	// link joins the row's name and the text below a table: "vxlan" + " in " + ...
	link, text string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// note adds text to a cell of the row added last.
func (t *table) note(column int, link, text string) {
	if text != "" {
		t.below = append(t.below, note{len(t.rows) - 1, column, link, text})
	}
}

// columns gives the names without their marks, and which columns are written to the right.
func (t *table) columns() (names []string, right []bool) {
	for _, name := range t.head {
		right = append(right, strings.HasPrefix(name, ">"))
		names = append(names, strings.TrimPrefix(name, ">"))
	}
	return names, right
}

// whole gives the rows with their notes in the cells.
func (t *table) whole() [][]string {
	rows := make([][]string, len(t.rows))
	for i, row := range t.rows {
		rows[i] = append([]string(nil), row...)
	}
	for _, n := range t.below {
		cell := &rows[n.row][n.column]
		*cell = strings.TrimPrefix(*cell+": "+n.text, ": ")
	}
	return rows
}

// markdown writes the table in the pipe form.
func (t *table) markdown() string {
	names, right := t.columns()
	var b strings.Builder
	row := func(cells []string) {
		b.WriteString("|")
		for _, cell := range cells {
			b.WriteString(" " + prose.Markdown(printable(cell)) + " |")
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
	for _, cells := range t.whole() {
		row(cells)
	}
	return b.String()
}
