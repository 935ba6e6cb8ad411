package report

import (
	"math"
	"strings"

	"nearfar/internal/conclude/answer/figures"
)

// The smallest and the largest width of a plot. In fewer columns, intervals look like points.
const (
	leastPlot = 8
	mostPlot  = 40
)

// mark is one row of a plot: an estimate and its interval.
type mark struct {
	at       float64
	interval figures.Interval
	// color is the escape sequence of the mark's colour, or "".
	color string
}

// axis is the scale that the marks of one table share.
type axis struct {
	low, high float64
	// width is the number of terminal columns.
	width int
	// zero says that zero is marked.
	zero bool
}

// axis makes a scale that covers all marks of the table, and zero if they are differences.
func (t *table) axis(width int) axis {
	a := axis{low: math.Inf(1), high: math.Inf(-1), width: width, zero: t.zero}
	reach := func(v float64) {
		if !math.IsInf(v, 0) { // an unbounded interval ends at the edge
			a.low, a.high = min(a.low, v), max(a.high, v)
		}
	}
	if t.zero {
		reach(0)
	}
	for _, m := range t.marks {
		if m == nil {
			continue
		}
		reach(m.at)
		if m.interval != nil {
			reach(m.interval[0])
			reach(m.interval[1])
		}
	}
	return a
}

// column is the column of a value, from 0.
func (a axis) column(v float64) int {
	part := (max(a.low, min(v, a.high)) - a.low) / (a.high - a.low)
	if !(part >= 0) { // NaN if all values are equal
		part = 0.5
	}
	return int(math.Round(min(part, 1) * float64(a.width-1)))
}

// draw writes a mark: |--o--|, or ├──●──┤. A mark without an interval is a question mark, or a hollow circle. The
// line at zero runs through all rows, also through intervals that include zero.
func (a axis) draw(m *mark, s screen) string {
	const ends, line, point, lone, zero, crossing = 0, 1, 2, 3, 4, 5
	signs := []rune("|-o?:+")
	if s.unicode {
		signs = []rune("├─●○│┼")
	}
	cells := []rune(strings.Repeat(" ", a.width))
	at := -1
	if a.zero {
		at = a.column(0)
		cells[at] = signs[zero]
	}
	if m == nil {
		return string(cells)
	}
	dot := signs[lone]
	if m.interval != nil {
		dot = signs[point]
		from, to := a.column(m.interval[0]), a.column(m.interval[1])
		for i := from; i <= to; i++ {
			cells[i] = signs[line]
		}
		if at >= from && at <= to {
			cells[at] = signs[crossing]
		}
		// If zero is at an end of the interval, show zero: that they touch is what matters.
		if from != at {
			cells[from] = signs[ends]
		}
		if to != at {
			cells[to] = signs[ends]
			if s.unicode {
				cells[to] = '┤'
			}
		}
	}
	cells[a.column(m.at)] = dot
	return a.painted(cells, m, s)
}

// painted colours the mark, but not the line at zero.
func (a axis) painted(cells []rune, m *mark, s screen) string {
	if !s.color || m.color == "" {
		return string(cells)
	}
	from, to := a.column(m.at), a.column(m.at)
	if m.interval != nil {
		from, to = min(from, a.column(m.interval[0])), max(to, a.column(m.interval[1]))
	}
	return string(cells[:from]) + s.paint(m.color, string(cells[from:to+1])) + string(cells[to+1:])
}

// head writes the ends of the scale, and zero if it is marked. A number that does not fit is left out.
func (a axis) head(number func(float64) string) string {
	cells := []rune(strings.Repeat(" ", a.width))
	free := func(from, to int) bool {
		for i := max(0, from-1); i <= min(to, a.width-1); i++ {
			if cells[i] != ' ' {
				return false
			}
		}
		return from >= 0 && to <= a.width
	}
	put := func(text string, from int) {
		if r := []rune(text); free(from, from+len(r)) {
			copy(cells[from:], r)
		}
	}
	if a.zero {
		put("0", a.column(0))
	}
	if a.high > a.low {
		if low := number(a.low); !a.zero || a.low < 0 {
			put(low, 0)
		}
		if high := number(a.high); !a.zero || a.high > 0 {
			put(high, a.width-len([]rune(high)))
		}
	}
	return string(cells)
}
