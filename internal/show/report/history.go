package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/history"
	"nearfar/internal/declare/result"
)

// HistoryFormats lists the formats that WriteHistory accepts, the default first.
func HistoryFormats() []string { return Formats() }

// WriteHistory prints figures over runs. An unknown format is an error that names the known ones.
func WriteHistory(w io.Writer, d history.Document, o Options) error {
	return writers{
		terminal: func(s screen) string { return historyTerminal(d, s) },
		markdown: func() string { return historyMarkdown(d) },
		csv:      func() error { return historyCSV(w, d) },
		document: d,
	}.write(w, o)
}

func historyTerminal(d history.Document, s screen) string {
	var b strings.Builder
	for _, part := range historySections(d) {
		b.WriteString(s.title(part.title) + part.text(s) + "\n")
	}
	b.WriteString(prose.Wrap(historyNote(d), "", s.width))
	for _, warning := range d.Warnings {
		b.WriteString(prose.Wrap("! "+printable(warning), "", s.width))
	}
	return b.String()
}

func historyMarkdown(d history.Document) string {
	var b strings.Builder
	for _, part := range historySections(d) {
		b.WriteString("## " + prose.Markdown(part.title) + "\n\n")
		for _, g := range part.groups {
			b.WriteString(prose.Markdown(g.caption) + ":\n\n" + g.table.markdown() + "\n")
		}
	}
	b.WriteString(prose.Markdown(historyNote(d)) + "\n")
	for _, warning := range d.Warnings {
		b.WriteString("- " + prose.Markdown(printable(warning)) + "\n")
	}
	return b.String()
}

// historySections makes one section for each experiment and machine.
func historySections(d history.Document) []section {
	var all []section
	origin := func(s history.Series) string { return s.Experiment + "\x00" + s.Machine }
	for _, series := range runsOf(d.Series, origin) {
		part := section{title: printable(series[0].Experiment)}
		if series[0].Machine != "" {
			part.title += printable(", on " + series[0].Machine)
		}
		for _, s := range series {
			part.groups = append(part.groups, seriesGroup(s))
		}
		all = append(all, part)
	}
	return all
}

// changeColumn is the index of the column for a change of the level.
const changeColumn = 4

// changesByPoint gives the changes of a series by the index of the first run after them.
func changesByPoint(series history.Series) map[int]history.Change {
	changes := map[int]history.Change{}
	for _, c := range series.Changes {
		changes[c.Point] = c
	}
	return changes
}

// seriesGroup makes the table of one figure over runs.
func seriesGroup(series history.Series) group {
	s := scaleOf(series.Points, series.Unit, func(p history.Point) *float64 { return &p.Median })
	t := table{
		head:  []string{"started (UTC)", ">median", intervalColumn, ">trials", ">change", "run"},
		spare: []string{"run", "trials", plotColumn}, scale: s.Number,
	}
	changes := changesByPoint(series)
	for i, p := range series.Points {
		m := &mark{at: p.Median, interval: p.Interval}
		moved, detail := "", ""
		if c, ok := changes[i]; ok {
			moved, detail = "moved", changeText(c, s)
			if c.Relative != nil {
				moved = percent(*c.Relative)
			}
			m.color = changeColor(series, c)
		}
		t.marks = append(t.marks, m)
		t.add(p.Started.UTC().Format("2006-01-02 15:04"), s.Number(p.Median), p.Interval.Text(s.Number),
			strconv.Itoa(p.Trials), moved, printable(p.Run))
		t.note(changeColumn, ": ", detail)
		if p.State != "complete" {
			t.note(changeColumn, ": ", "the run is "+p.State)
		}
		t.note(changeColumn, ": ", strings.Join(p.Differs, "; "))
	}
	return group{printable(seriesCaption(series, s)), t}
}

// changeText writes the level before and after a change, and its p-value.
func changeText(c history.Change, s result.Scale) string {
	return fmt.Sprintf("the level moved from %s to %s, p %s",
		levelText(c.Before, s), levelText(c.After, s), pValue(&c.PValue))
}

func levelText(l history.Level, s result.Scale) string {
	text := s.With(s.Number(l.Median))
	if l.Interval != nil {
		text += " " + l.Interval.Text(s.Number)
	}
	return fmt.Sprintf("%s (%d runs)", text, l.Runs)
}

func changeColor(series history.Series, c history.Change) string {
	up := c.After.Median > c.Before.Median
	switch series.Direction() {
	case result.LowerIsBetter:
		if up {
			return worse
		}
		return better
	case result.HigherIsBetter:
		if up {
			return better
		}
		return worse
	}
	return ""
}

// seriesCaption names the figure of a series and its unit, the properties that all of its runs share, and says whether
// a change was seen.
func seriesCaption(series history.Series, s result.Scale) string {
	what := []string{strings.TrimSpace(strings.Join([]string{series.Tool, series.Mode, series.Protocol}, " "))}
	if series.MessageBytes >= 0 {
		what = append(what, fmt.Sprintf("%d B", series.MessageBytes))
	}
	if series.Definition != series.Metric && series.Definition != "" {
		what = append(what, "definition "+series.Definition)
	}
	if series.Offered != "" {
		what = append(what, "offered "+series.Offered)
	}
	text := caption(series.Workload+", "+series.Arm, series.Quantity, s) + " (" + strings.Join(what, ", ") + ")"
	switch {
	case series.Reason != "":
		text += "; " + series.Reason
	case len(series.Changes) == 0:
		text += "; no change seen"
	}
	return text
}

// historyNote explains the marked changes, and says how many series are not shown.
func historyNote(d history.Document) string {
	note := fmt.Sprintf("Each figure is the median over the trials of one run. A change is marked where a rank test "+
		"over the runs finds one. If nothing changes, whoever looks every night sees a false change on at most %s "+
		"a year, in all series of these runs together.", prose.Plural(int(d.PerYear), "night"))
	if d.LeftOut > 0 {
		note += fmt.Sprintf(" %d further series are not shown: ask for fewer with --experiment, --workload, --arm or "+
			"--metric.", d.LeftOut)
	}
	return note
}

// historyCSV writes a row for each figure of each run. Values are in base units; an empty cell is a value that is not
// known.
func historyCSV(w io.Writer, d history.Document) error {
	rows := [][]string{{
		"machine", "experiment", "workload", "arm", "metric", "stat", "scope", "unit", "definition",
		"tool", "mode", "protocol", "message_bytes", "offered",
		"run", "started", "state", "median", "low", "high", "trials", "level_before", "level_after", "p_value",
		"differs",
	}}
	for _, series := range d.Series {
		bytes := ""
		if series.MessageBytes >= 0 {
			bytes = strconv.Itoa(series.MessageBytes)
		}
		changes := changesByPoint(series)
		for i, p := range series.Points {
			low, high := ends(p.Interval)
			row := []string{
				series.Machine, series.Experiment, series.Workload, series.Arm,
				series.Metric, series.Stat, series.Scope, series.Unit, series.Definition,
				series.Tool, series.Mode, series.Protocol, bytes, series.Offered,
				p.Run, p.Started.UTC().Format(time.RFC3339), p.State,
				plain(p.Median), low, high, strconv.Itoa(p.Trials), "", "", "", strings.Join(p.Differs, "; "),
			}
			if c, ok := changes[i]; ok {
				row[21], row[22], row[23] = plain(c.Before.Median), plain(c.After.Median), plain(c.PValue)
			}
			rows = append(rows, row)
		}
	}
	return writeCSV(w, rows)
}
