// Package report prints an answer: for the terminal, as markdown, CSV or JSON.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/answer"
	"nearfar/internal/clean"
	"nearfar/internal/prose"
	"nearfar/internal/result"
)

// Formats lists what Write knows, the default first.
func Formats() []string { return []string{"terminal", "markdown", "csv", "json"} }

// Options say how to print.
type Options struct {
	// Format is one of Formats.
	Format string
	// Color allows escape sequences for bold and colour (terminal only).
	Color bool
	// Unicode allows characters beyond ASCII in plots and for what is cut (terminal only).
	Unicode bool
	// Width is how many columns there are; 0 for 80 (terminal only).
	Width int
}

// Write prints the answer. An unknown format is an error that names the known ones.
func Write(w io.Writer, a answer.Answer, o Options) error {
	switch o.Format {
	case "", "terminal":
		return writeText(w, terminal(a, o.screen()), o.Color)
	case "markdown":
		return writeText(w, markdown(a), false)
	case "csv":
		return csvTable(w, a)
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(a)
	}
	return fmt.Errorf("unknown format %q: use one of %s", o.Format, strings.Join(Formats(), ", "))
}

// writeText writes a report for people. Whatever field of an answer a text came from, nothing in it reaches a terminal that
// acts on it, with colours or without.
func writeText(w io.Writer, text string, colours bool) error {
	_, err := io.WriteString(w, clean.Text(text, colours))
	return err
}

// section is a titled list of tables, or of lines: what terminal and markdown share.
type section struct {
	title  string
	groups []group
	// said are plain lines, lines warnings.
	said, lines []string
	// note stands below.
	note string
}

// group is the rows of one workload and quantity. All are written in the unit that the caption names.
type group struct {
	caption string
	table   table
}

// sections lays the answer out.
func sections(a answer.Answer) []section {
	var all []section
	for _, s := range []section{
		findingSection(a), sourceSection(a), objectiveSection(a), settingSection(a), armSection(a), comparisonSection(a),
		resolveSection(a), distributionSection(a), layerSection(a), limitSection(a), warningSection(a),
	} {
		if len(s.groups)+len(s.said)+len(s.lines) > 0 {
			s.title = printable(s.title)
			all = append(all, s)
		}
	}
	return all
}

// runsOf cuts a list where the key changes.
func runsOf[T any](items []T, key func(T) string) [][]T {
	var runs [][]T
	for i, item := range items {
		if i == 0 || key(item) != key(items[i-1]) {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], item)
	}
	return runs
}

func caption(workload string, q answer.Quantity, s result.Scale) string {
	text := workload + ", " + q.Name()
	if s.Unit != "" {
		text += " in " + s.Unit
	}
	return text
}

// trialsColumn is which column of an arm's row holds its number of trials, from 0.
const trialsColumn = 3

// settingSection says what arms have otherwise than the workloads say.
func settingSection(a answer.Answer) section {
	out := section{title: "What the arms set"}
	for _, s := range a.Settings {
		out.said = append(out.said, printable(s.Arm+": "+s.Text))
	}
	return out
}

// pooledNote says what the column of pooled figures is.
const pooledNote = "\"Pooled\" is the same percentile of all observations of an arm together: a description, which a\n" +
	"stall in one trial can move. What is compared is the median over trials."

func armSection(a answer.Answer) section {
	out := section{title: "Arms: median over trials"}
	for _, figures := range runsOf(a.Arms, func(f answer.Figure) string { return f.Workload + "\x00" + f.Name() }) {
		var medians []float64
		for _, f := range figures {
			medians = append(medians, f.Median)
		}
		first := figures[0]
		s := result.ScaleOf(first.Unit, medians...)
		t := table{head: []string{"arm", ">median", intervalColumn, ">trials"}, spare: []string{plotColumn}, scale: s.Number}
		pooled := slices.ContainsFunc(figures, func(f answer.Figure) bool { return f.Pooled != nil })
		if pooled {
			t.head, out.note = append(t.head, ">pooled"), pooledNote
			t.spare = []string{plotColumn, "pooled"}
		}
		for _, f := range figures {
			t.marks = append(t.marks, &mark{at: f.Median, interval: f.Interval})
			row := []string{armLabel(f), s.Number(f.Median), bounds(f.Interval, s.Number), trialsText(f)}
			if pooled && f.Pooled == nil {
				row = append(row, "-")
			} else if pooled {
				row = append(row, s.Number(*f.Pooled))
			}
			t.add(row...)
			t.note(trialsColumn, ": ", printable(f.Caution))
		}
		out.groups = append(out.groups, group{caption(first.Workload, first.Quantity, s), t})
	}
	return out
}

// eachTable and allTogether are what p is corrected for: a run asks one question in each table, two sides one in all.
const (
	eachTable   = "the arms of each table"
	allTogether = "all comparisons together"
)

// pairedNote explains the columns of paired differences.
const pairedNote = "p is corrected for " + eachTable + " (Holm). \"Detectable\" is the smallest true\ndifference that this run would have shown " +
	"four times in five. \"+n\" is how many more\nblocks find a difference of the size that was seen, if there is one, as often."

// trialsText counts the trials of a figure, and those among them that lack it.
func trialsText(f answer.Figure) string {
	if f.Missing == 0 {
		return strconv.Itoa(f.Trials)
	}
	return fmt.Sprintf("%d (%d missing)", f.Trials, f.Missing)
}

// widenedMark stands behind an interval that was extended to 0; widenedNote explains it.
const (
	widenedMark = "*"
	widenedNote = "* extended to 0: this comparison alone would exclude 0, all of them together do not."
)

func comparisonSection(a answer.Answer) section {
	out := section{
		title: "Differences from " + a.Baseline + ", paired within blocks",
		note:  pairedNote,
	}
	if len(a.Sources) > 0 {
		out.title, out.note = sidesTitle(a), sidesNote(a)
	}
	if a.Imported && !a.Paired {
		out.title, out.note = "Differences from "+a.Baseline+", not paired", recordedNote(a)
	}
	if slices.ContainsFunc(a.Comparisons, func(c answer.Comparison) bool { return c.Widened }) {
		out.note = strings.TrimPrefix(out.note+"\n"+widenedNote, "\n")
	}
	for _, comparisons := range runsOf(a.Comparisons, func(c answer.Comparison) string { return c.Workload + "\x00" + c.Name() }) {
		var sizes []float64
		for _, c := range comparisons {
			if c.Difference != nil {
				sizes = append(sizes, *c.Difference)
			}
		}
		first := comparisons[0]
		s := result.ScaleOf(first.Unit, sizes...)
		t := table{
			head:  []string{"arm", ">difference", intervalColumn, ">relative", ">p", "verdict", ">" + detectableColumn},
			spare: []string{"p", plotColumn, "relative"}, zero: true, scale: s.Signed,
		}
		for _, c := range comparisons {
			t.marks = append(t.marks, markOf(c))
			verdict, reason := verdictText(c)
			t.add(comparisonRow(c, s, verdict)...)
			t.note(verdictColumn, ": ", reason)
			t.note(intervalPlace, ": ", dependenceText(c))
		}
		out.groups = append(out.groups, group{caption(first.Workload, first.Quantity, s), t})
	}
	return out
}

// recordedNote says what is missing below the differences of results that were recorded elsewhere.
func recordedNote(a answer.Answer) string {
	for _, c := range a.Comparisons {
		if c.Difference != nil && c.Interval == nil {
			return "A difference without an interval is what these trials differ by. How far others would\n" +
				"land from them is not known, nor whether the arms differ at all."
		}
	}
	return ""
}

// detectableColumn names the column of the smallest difference that would have been found.
const detectableColumn = "detectable"

// intervalPlace and verdictColumn are which columns of a comparison's row hold the interval and the verdict, from 0.
const (
	intervalPlace = 2
	verdictColumn = 5
)

// dependenceText says beside an interval that its blocks count as fewer.
func dependenceText(c answer.Comparison) string {
	if c.Dependence == nil || c.Dependence.Counted >= c.Blocks {
		return ""
	}
	return fmt.Sprintf("neighbouring blocks are alike, and the %d count as %d", c.Blocks, c.Dependence.Counted)
}

func comparisonRow(c answer.Comparison, s result.Scale, verdict string) []string {
	if c.Difference == nil {
		return []string{c.Arm, "-", "-", "-", "-", verdict, "-"}
	}
	relative, detectable := "-", "-"
	if c.Relative != nil {
		relative = percent(*c.Relative)
	}
	if c.Detectable != nil {
		detectable = s.Number(*c.Detectable)
	}
	interval := bounds(c.Interval, s.Signed)
	if c.Widened {
		interval += widenedMark
	}
	return []string{c.Arm, s.Signed(*c.Difference), interval, relative, pValue(c.PValue), verdict, detectable}
}

// markOf is what the plot shows of a comparison; nil where there is no difference.
func markOf(c answer.Comparison) *mark {
	if c.Difference == nil {
		return nil
	}
	m := &mark{at: *c.Difference, interval: c.Interval}
	switch c.Better {
	case "arm":
		m.color = better
	case "baseline":
		m.color = worse
	}
	return m
}

// verdictText is the verdict with what it means for the user, and how many more blocks find a difference of that size; and why the two cannot
// be compared.
func verdictText(c answer.Comparison) (verdict, reason string) {
	switch c.Verdict {
	case answer.Higher, answer.Lower:
		switch c.Better {
		case "arm":
			return c.Verdict + " (better)", ""
		case "baseline":
			return c.Verdict + " (worse)", ""
		}
		return c.Verdict, ""
	case answer.NoDifference:
		if c.BlocksNeeded != nil && *c.BlocksNeeded > 0 {
			return fmt.Sprintf("none seen (+%d)", *c.BlocksNeeded), ""
		}
		return "none seen", ""
	}
	return strings.ReplaceAll(c.Verdict, "-", " "), printable(c.Reason)
}

// limitSection says what a lab cannot tell: no alarm, it is so of every lab.
func limitSection(a answer.Answer) section {
	s := section{title: "What a lab cannot tell"}
	if a.Environment != nil {
		for _, limit := range a.Environment.Limits {
			s.said = append(s.said, printable(limit))
		}
	}
	return s
}

func warningSection(a answer.Answer) section {
	s := section{title: "Warnings"}
	for _, w := range a.Warnings {
		where := strings.TrimSpace(strings.Join([]string{w.Arm, w.Workload}, " "))
		if where != "" {
			where = " (" + where + ")"
		}
		s.lines = append(s.lines, printable(prose.Shorten(w.Code+where+": "+w.Message, prose.Longest)))
	}
	return s
}
