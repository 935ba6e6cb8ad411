package report

import (
	"strings"

	"nearfar/internal/base/prose"
)

// intervalColumn is the name of the column of intervals. Each interval belongs to the number before it.
const intervalColumn = ">95 % interval"

// plotColumn stands for the plot in table.spare. The plot has no name of its own.
const plotColumn = "\x00plot"

// table has a head and rows. Columns whose name starts with ">" are aligned right. All other fields are for terminals,
// which are narrow and cannot scroll sideways.
type table struct {
	head []string
	rows [][]string
	// marks has one entry per row, nil for a row without a mark. It is empty for a table without a plot.
	marks []*mark
	// zero says that the plot shows differences, so that its scale includes zero.
	zero bool
	// scale writes the ends of the plot's scale.
	scale func(float64) string
	// spare lists the columns that a narrow terminal leaves out, the first to go first: names, or plotColumn.
	spare []string
	// named is how many columns after the first hold names. Names may be shortened to fit the width.
	named int
	// below holds texts that are too long for their column. Markdown writes them into the cell, a terminal below the
	// table.
	below []note
}

// note is a text that belongs to a cell.
type note struct {
	row, column int
	// link joins the row's name and the text below a table: "vxlan" + " in " + text.
	link, text string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// note adds a text to a cell of the row that was added last.
func (t *table) note(column int, link, text string) {
	if text != "" {
		t.below = append(t.below, note{len(t.rows) - 1, column, link, text})
	}
}

// columns gives the names without ">", and says which columns are aligned right.
func (t *table) columns() (names []string, right []bool) {
	for _, name := range t.head {
		right = append(right, strings.HasPrefix(name, ">"))
		names = append(names, strings.TrimPrefix(name, ">"))
	}
	return names, right
}

// whole gives the rows, with the notes in their cells.
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

// markdown writes the table as a markdown table.
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
