package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/interim"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/show/report"
)

// liveState has everything that the live view shows. It is immutable.
type liveState struct {
	experiment *experiment.Experiment
	// slot is the running trial, or the last one if none is running. done of total trials have ended.
	slot        experiment.Slot
	running     bool
	done, total int
	// left is the remaining time at the time at. begun is when the first trial began.
	left      time.Duration
	at, begun time.Time
	figures   *interim.Figures
}

// look says what the terminal can show.
type look struct{ unicode, color bool }

// pageTime is how long each page is shown if the terminal has too few lines for everything.
const pageTime = 6 * time.Second

// paint colours a text. Colours repeat what the text says.
func (k look) paint(color, text string) string {
	if !k.color || color == "" || text == "" {
		return text
	}
	return color + text + clean.Reset
}

func (k look) ellipsis() string {
	if k.unicode {
		return "…"
	}
	return "~"
}

// view draws the state in at most height-1 lines of at most width columns. The last line of the terminal stays free.
func (s liveState) view(width, height int, now time.Time, k look) string {
	width, height = max(width, 1), max(height, 2)
	room := height - 1
	foot := s.foot(room/3, width, k)
	head := s.head(width, room, "", now, k)
	pages := s.pages(width, room-len(head)-len(foot), k)
	page := 0
	if len(pages) > 1 {
		page = int(max(now.Sub(s.begun), 0)/pageTime) % len(pages)
		head = s.head(width, room, fmt.Sprintf("page %d/%d", page+1, len(pages)), now, k)
		pages = s.pages(width, room-len(head)-len(foot), k) // the page number may need another line in the head
		page = min(page, len(pages)-1)
	}
	lines := head
	if len(pages) > 0 {
		lines = append(lines, pages[page]...)
	}
	lines = append(lines, foot...)
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, width, k.ellipsis())
	}
	// The renderer writes directly to the terminal, not through the clean.Writer of the other output.
	return clean.Text(strings.Join(lines[:min(len(lines), room)], "\n"), k.color)
}

// head has the question and the run's progress. On a terminal with few lines it has only the progress.
func (s liveState) head(width, room int, page string, now time.Time, k look) []string {
	var lines []string
	if room >= 12 {
		title := s.experiment.Name + textIf(s.experiment.Question != "", ": "+s.experiment.Question)
		lines = append(lines, k.paint(clean.Bold, ansi.Truncate(shortLine(title), width, k.ellipsis())))
	}
	lines = append(lines, s.status(width, page, now, k)...)
	if room >= 4 {
		lines = append(lines, shortLine(s.current(now)))
	}
	if room >= 12 {
		lines = append(lines, "")
	}
	return lines
}

// status has a progress bar, the number of blocks and trials, and the remaining time.
func (s liveState) status(width int, page string, now time.Time, k look) []string {
	trial := s.done
	if s.running {
		trial++
	}
	items := []string{
		blockText(s.experiment.Schedule, s.slot),
		fmt.Sprintf("trial %d/%d", trial, s.total),
		roughly(max(0, s.left-now.Sub(s.at))) + " left",
	}
	if s.figures.Failed > 0 {
		items = append(items, fmt.Sprintf("%d failed", s.figures.Failed))
	}
	if page != "" {
		items = append(items, page)
	}
	const leastBar, mostBar, gap = 10, 30, "  "
	text := strings.Join(items, gap)
	if bar := width - len(text) - len(gap); bar >= leastBar {
		return []string{s.bar(min(bar, mostBar), k) + gap + text}
	}
	lines := []string{s.bar(min(width, mostBar), k), items[0]}
	for _, item := range items[1:] {
		if last := &lines[len(lines)-1]; len(*last)+len(gap)+len(item) <= width {
			*last += gap + item
		} else {
			lines = append(lines, item)
		}
	}
	return lines
}

func (s liveState) bar(width int, k look) string {
	full, empty := "#", "."
	if k.unicode {
		full, empty = "█", "░"
	}
	n := min(width, width*s.done/max(s.total, 1))
	return k.paint(clean.Green, strings.Repeat(full, n)) + strings.Repeat(empty, width-n)
}

func (s liveState) current(now time.Time) string {
	if !s.running {
		return "between trials"
	}
	return fmt.Sprintf("now: %s %s, for %s", s.slot.Arm, s.slot.Workload, roughly(max(0, now.Sub(s.at))))
}

// roughly writes a time to the second, from an hour on to the minute.
func roughly(d time.Duration) string {
	if d >= time.Hour {
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return d.Round(time.Second).String()
}

// foot lists failed trials and warnings, in at most most lines.
func (s liveState) foot(most, width int, k look) []string {
	var lines []string
	for _, t := range s.figures.Failures {
		lines = append(lines, fmt.Sprintf("! failed: %s %s, block %d: %s", t.Arm, t.Workload, t.Block, t.Error))
	}
	if more := s.figures.Failed - len(s.figures.Failures); more > 0 && len(lines) > 0 {
		lines[len(lines)-1] = fmt.Sprintf("! and %d more failed trials", more+1)
	}
	for _, w := range s.figures.Warnings {
		where := strings.TrimSpace(w.Arm + " " + w.Workload)
		where = textIf(where != "", " ("+where+")")
		lines = append(lines, fmt.Sprintf("! %s%s: %s", w.Code, where, w.Message))
	}
	if len(lines) > most && most > 0 {
		lines = append(lines[:most-1], fmt.Sprintf("! and %d more warnings, in the report", len(lines)-most+1))
	}
	lines = lines[:min(len(lines), most)]
	for i := range lines {
		lines[i] = k.paint(clean.Yellow, ansi.Truncate(shortLine(lines[i]), width, k.ellipsis()))
	}
	if len(lines) > 0 && len(lines) < most {
		lines = append([]string{""}, lines...)
	}
	return lines
}

// maxLiveText is how many characters of a text are prepared for a line: more than the width of any terminal.
const maxLiveText = 2000

// shortLine returns the beginning of a text as one line. The bound keeps the time short that a long text takes.
func shortLine(s string) string { return clean.Line(clean.Cut(s, maxLiveText)) }

// pages divides the tables into pages of at most room lines.
func (s liveState) pages(width, room int, k look) [][]string {
	if room < 1 {
		return nil
	}
	var pages [][]string
	var page []string
	endPage := func() {
		if len(page) > 0 {
			pages = append(pages, page)
		}
		page = nil
	}
	for _, w := range s.figures.Workloads {
		t := tableOf(w, width, s.experiment.Schedule.AllBlocks(), k)
		if len(t.head) >= room { // no room for a row below the head
			t.head = nil
		}
		if len(page) > 0 && len(page)+1+len(t.head)+len(t.rows) > room {
			endPage()
		}
		if len(page) > 0 {
			page = append(page, "")
		}
		for len(t.rows) > 0 {
			page = append(page, t.head...)
			n := min(len(t.rows), room-len(page))
			page = append(page, t.rows[:n]...)
			if t.rows = t.rows[n:]; len(t.rows) > 0 {
				endPage()
			}
		}
	}
	endPage()
	return pages
}

// liveTable has the lines of a workload's table.
type liveTable struct{ head, rows []string }

// liveLayout says which columns a table has. name and spark are the widths of the names and sparklines.
type liveLayout struct {
	name, spark        int
	trials, difference bool
}

// liveLayouts are the layouts of a table, the widest first. A difference is never shown without its interval.
func liveLayouts() []liveLayout {
	return []liveLayout{
		{24, 20, true, true}, {20, 12, true, true}, {16, 8, true, true}, {12, 8, true, true}, {12, 0, true, true},
		{10, 0, false, true}, {12, 0, false, false}, {8, 0, false, false},
	}
}

// tableOf makes a workload's table in the first layout that fits the width.
func tableOf(w interim.Workload, width, blocks int, k look) liveTable {
	var lines []string
	for _, layout := range liveLayouts() {
		layout.spark = min(layout.spark, blocks)
		lines = linesOf(w, layout, k)
		if !slices.ContainsFunc(lines, func(line string) bool { return ansi.StringWidth(line) > width }) {
			break
		}
	}
	head := []string{captionOf(w), lines[0]}
	return liveTable{head, lines[1:]}
}

func captionOf(w interim.Workload) string {
	name, unit := w.Quantity.Name(), w.Scale().Unit
	return shortLine(w.Name + textIf(name != "", ", "+name) + textIf(unit != "", " in "+unit))
}

// liveColumn is a column of a table: the head and a cell for each arm.
type liveColumn struct {
	cells []string
	right bool
	color string
}

// linesOf returns the head and a line for each arm.
func linesOf(w interim.Workload, layout liveLayout, k look) []string {
	var names []string
	failed := false
	for _, arm := range w.Arms {
		names = append(names, shortLine(arm.Name))
		failed = failed || arm.Failed > 0
	}
	columns := []liveColumn{{cells: append([]string{"arm"}, report.Shorten(names, layout.name, k.ellipsis())...)}}
	add := func(c liveColumn, head string, of func(arm interim.Arm) string) {
		c.cells = []string{head}
		for _, arm := range w.Arms {
			c.cells = append(c.cells, of(arm))
		}
		columns = append(columns, c)
	}
	if layout.trials {
		add(liveColumn{right: true}, "n", func(arm interim.Arm) string { return strconv.Itoa(arm.Good()) })
	}
	if layout.trials && failed {
		add(liveColumn{right: true}, "failed", func(arm interim.Arm) string { return strconv.Itoa(arm.Failed) })
	}
	if layout.spark > 0 {
		add(liveColumn{color: clean.Cyan}, "blocks", func(arm interim.Arm) string {
			return sparkline(arm.Series, layout.spark, k.unicode)
		})
	}
	add(liveColumn{right: true}, "median", func(arm interim.Arm) string { return medianOf(arm, w.Scale()) })
	if layout.difference {
		columns = append(columns, liveColumn{cells: append([]string{"difference [95 %]"}, differencesOf(w)...)})
	}
	return joinColumns(columns, k)
}

// joinColumns joins the columns into lines.
func joinColumns(columns []liveColumn, k look) []string {
	lines := make([]string, len(columns[0].cells))
	for c, column := range columns {
		width := 0
		for _, cell := range column.cells {
			width = max(width, ansi.StringWidth(cell))
		}
		for i, cell := range column.cells {
			pad := strings.Repeat(" ", width-ansi.StringWidth(cell))
			if i > 0 {
				cell = k.paint(column.color, cell)
			}
			if column.right {
				cell = pad + cell
			} else {
				cell += pad
			}
			if c > 0 {
				lines[i] += "  "
			}
			lines[i] += cell
		}
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
