package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"nearfar/internal/base/prose"
)

// The widths of a terminal, in columns.
const (
	// defaultWidth is used if the terminal's width is not known.
	defaultWidth = 80
	// leastWidth is the smallest width that lines fit. On a narrower terminal they wrap. tablesWidth is the smallest one
	// that all tables fit; in between, some are lists.
	leastWidth  = 40
	tablesWidth = 60
	// shortName is the length to which names are cut to make room for a plot; leastName is the shortest that names
	// are ever cut to.
	shortName = 16
	leastName = 6
)

// between separates two columns.
const between = "  "

// columns is how many columns of a terminal a text takes. This is not its number of bytes or characters.
func columns(s string) int { return ansi.StringWidth(s) }

// layout is a table as it is printed on a terminal.
type layout struct {
	names []string
	right []bool
	rows  [][]string
	// plot is the width of the plot; 0 for none.
	plot int
	// tall allows column names in two lines.
	tall bool
	// left lists the columns that were left out.
	left []string
}

// text writes the table for a terminal, each line with the indent, and says which columns were left out. A table that
// does not fit becomes a list.
func (t *table) text(indent string, s screen) (text string, left []string) {
	l := t.fit(s.width-columns(indent), s)
	if l.width() > s.width-columns(indent) {
		return t.list(indent, s.width), nil
	}
	widths := l.widths()
	var b strings.Builder
	line := func(cells []string, plot string) {
		b.WriteString(strings.TrimRight(indent+strings.Join(cells, between)+between+plot, " ") + "\n")
	}
	heads := l.heads()
	for i, head := range heads {
		plot := ""
		if i == len(heads)-1 && l.plot > 0 {
			plot = t.axis(l.plot).head(t.scale)
		}
		line(l.padded(head, widths), plot)
	}
	for i, row := range l.rows {
		plot := ""
		if l.plot > 0 {
			plot = t.axis(l.plot).draw(t.marks[i], s)
		}
		cells := l.padded(row, widths)
		if verdict := slices.Index(l.names, "verdict"); verdict >= 0 && i < len(t.marks) && t.marks[i] != nil {
			cells[verdict] = s.paint(t.marks[i].color, cells[verdict])
		}
		line(cells, plot)
	}
	for _, remark := range t.remarks() {
		b.WriteString(prose.Wrap(remark, indent, s.width))
	}
	return b.String(), l.left
}

// list writes the rows one below the other, each column in a line of its own, without the plot.
func (t *table) list(indent string, width int) string {
	var b strings.Builder
	l := t.joined()
	for _, row := range l.rows {
		b.WriteString(prose.Wrap(row[0], indent, width))
		for i, cell := range row[1:] {
			if cell = strings.TrimSpace(cell); cell != "" {
				b.WriteString(prose.Wrap(strings.TrimPrefix(l.names[i+1]+": "+cell, ": "), indent+between, width))
			}
		}
	}
	for _, remark := range t.remarks() {
		b.WriteString(prose.Wrap(remark, indent, width))
	}
	return b.String()
}

// fit leaves out and shortens as little as possible until the table fits the width.
func (t *table) fit(width int, s screen) layout {
	l := t.joined()
	hasPlot := slices.ContainsFunc(t.marks, func(m *mark) bool { return m != nil })
	fits := func() bool {
		free := width - l.width()
		if !hasPlot {
			return free >= 0
		}
		l.plot = min(free-len(between), mostPlot)
		return l.plot >= leastPlot
	}
	if fits() {
		return l
	}
	if l.tall = true; fits() {
		return l
	}
	for _, name := range t.spare {
		if name == plotColumn {
			if l.shorten(0, shortName, s.ellipsis()); fits() {
				return l
			}
			hasPlot, l.plot = false, 0
		} else {
			l.leaveOut(name)
		}
		if fits() {
			return l
		}
	}
	hasPlot, l.plot = false, 0
	for column := t.named; column >= 0; column-- {
		l.shorten(column, max(leastName, width-(l.width()-l.widths()[column])), s.ellipsis())
	}
	return l
}

// joined puts each number and its interval into one column.
func (t *table) joined() layout {
	names, right := t.columns()
	l := layout{rows: make([][]string, len(t.rows))}
	for i := 0; i < len(names); i++ {
		cells := make([]string, len(t.rows))
		for r, row := range t.rows {
			cells[r] = printable(row[i])
		}
		if i+1 < len(names) && t.head[i+1] == intervalColumn {
			number := widest(cells)
			intervals := make([]string, len(t.rows))
			for r, row := range t.rows {
				intervals[r] = printable(row[i+1])
			}
			width := widest(intervals)
			for r := range cells {
				cells[r] = padLeft(cells[r], number) + " " + padLeft(intervals[r], width)
			}
			i++
			l.names = append(l.names, names[i-1]+", "+names[i])
			l.right = append(l.right, true)
		} else {
			l.names = append(l.names, names[i])
			l.right = append(l.right, right[i])
		}
		for r := range cells {
			l.rows[r] = append(l.rows[r], cells[r])
		}
	}
	// Drop columns whose texts were all moved below the table.
	for i := len(l.names) - 1; i > 0; i-- {
		if !slices.ContainsFunc(l.rows, func(row []string) bool { return row[i] != "" }) {
			l.cut(i)
		}
	}
	return l
}

// leaveOut removes the column of this name, and records that.
func (l *layout) leaveOut(name string) {
	if i := slices.Index(l.names, name); i > 0 {
		l.cut(i)
		l.left = append(l.left, name)
	}
}

func (l *layout) cut(column int) {
	l.names = slices.Delete(l.names, column, column+1)
	l.right = slices.Delete(l.right, column, column+1)
	for r := range l.rows {
		l.rows[r] = slices.Delete(l.rows[r], column, column+1)
	}
}

// shorten cuts the names in a column to at most this width.
func (l *layout) shorten(column, most int, ellipsis string) {
	var names []string
	for _, row := range l.rows {
		names = append(names, row[column])
	}
	for i, name := range Shorten(names, most, ellipsis) {
		l.rows[i][column] = name
	}
}

// Shorten cuts names in the middle, to at most this many columns of a terminal (at least 4). Names that would look
// alike get a number.
func Shorten(names []string, most int, ellipsis string) []string {
	most = max(most, 4)
	short := make([]string, len(names))
	taken := map[string]string{} // from what is shown to the name that it stands for
	for i, name := range names {
		short[i] = shortenOne(name, most, ellipsis)
		for n := 2; taken[short[i]] != "" && taken[short[i]] != name; n++ {
			mark := ellipsis + strconv.Itoa(n)
			short[i] = ansi.Truncate(name, max(most-columns(mark), 1), "") + mark
		}
		taken[short[i]] = name
	}
	return short
}

func shortenOne(name string, most int, ellipsis string) string {
	width := columns(name)
	if width <= most {
		return name
	}
	// Names often differ at their end only.
	room := most - columns(ellipsis)
	tail := room / 2
	return ansi.Truncate(name, room-tail, "") + ellipsis + ansi.TruncateLeft(name, width-tail, "")
}

// heads gives the lines of the head. If there are two, a name of one word is in the second.
func (l *layout) heads() [][]string {
	first, last := make([]string, len(l.names)), make([]string, len(l.names))
	two := false
	for i, name := range l.names {
		last[i] = name
		if l.tall && columns(name) > l.widestCell(i) {
			first[i], last[i] = halves(name)
			two = two || first[i] != ""
		}
	}
	if !two {
		return [][]string{last}
	}
	return [][]string{first, last}
}

// halves divides a name at the space that makes both parts shortest. "detectable" is divided too: without that, many
// tables with a plot do not fit into 80 columns.
func halves(name string) (first, last string) {
	if name == detectableColumn {
		return "detect-", "able"
	}
	last = name
	for i, r := range name {
		if r == ' ' && max(columns(name[:i]), columns(name[i+1:])) < max(columns(first), columns(last)) {
			first, last = name[:i], name[i+1:]
		}
	}
	return first, last
}

func (l *layout) widestCell(column int) int {
	most := 0
	for _, row := range l.rows {
		most = max(most, columns(row[column]))
	}
	return most
}

// widths gives the width of each column.
func (l *layout) widths() []int {
	widths := make([]int, len(l.names))
	for i := range l.names {
		widths[i] = l.widestCell(i)
		for _, head := range l.heads() {
			widths[i] = max(widths[i], columns(head[i]))
		}
	}
	return widths
}

// width is the width of the table without its plot.
func (l *layout) width() int {
	sum := len(between) * (len(l.names) - 1)
	for _, w := range l.widths() {
		sum += w
	}
	return sum
}

// padded pads the cells of a line to the widths of their columns.
func (l *layout) padded(cells []string, widths []int) []string {
	padded := make([]string, len(cells))
	for i, cell := range cells {
		if l.right[i] {
			padded[i] = padLeft(cell, widths[i])
		} else {
			padded[i] = cell + strings.Repeat(" ", widths[i]-columns(cell))
		}
	}
	return padded
}

func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-columns(s))) + s
}

func widest(cells []string) int {
	most := 0
	for _, cell := range cells {
		most = max(most, columns(cell))
	}
	return most
}

// remarks gives the notes as lines below the table. Rows with the same note share a line.
func (t *table) remarks() []string {
	var lines []string
	done := map[int]bool{}
	for i, n := range t.below {
		if done[i] {
			continue
		}
		names := []string{printable(t.rows[n.row][0])}
		for j := i + 1; j < len(t.below); j++ {
			if m := t.below[j]; m.link == n.link && m.text == n.text {
				names = append(names, printable(t.rows[m.row][0]))
				done[j] = true
			}
		}
		lines = append(lines, strings.Join(names, ", ")+n.link+printable(n.text))
	}
	return lines
}
