// Package report prints an answer: for the terminal, as markdown, CSV or JSON.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// Formats lists the formats that Write accepts, the default first.
func Formats() []string { return []string{"terminal", "markdown", "csv", "json"} }

// Options say how to print.
type Options struct {
	// Format is one of Formats.
	Format string
	// Color allows escape sequences for bold and colour (terminal only).
	Color bool
	// Unicode allows characters beyond ASCII in plots and as the mark of a cut name (terminal only).
	Unicode bool
	// Width is the terminal's width in columns; 0 means 80 (terminal only).
	Width int
}

// Write prints the answer. An unknown format is an error that names the known ones.
func Write(w io.Writer, a answer.Answer, o Options) error {
	return writers{
		terminal: func(s screen) string { return terminal(a, s) },
		markdown: func() string { return markdown(a) },
		csv:      func() error { return csvTable(w, a) },
		document: a,
	}.write(w, o)
}

// writers hold what a report prints in each of the formats.
type writers struct {
	terminal func(screen) string
	markdown func() string
	csv      func() error
	// document is printed as JSON.
	document any
}

func (p writers) write(w io.Writer, o Options) error {
	switch o.Format {
	case "", "terminal":
		return writeText(w, p.terminal(o.screen()), o.Color)
	case "markdown":
		return writeText(w, p.markdown(), false)
	case "csv":
		return p.csv()
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(p.document)
	}
	return fmt.Errorf("unknown format %q: use one of %s", o.Format, strings.Join(Formats(), ", "))
}

// writeText writes a report for people. It escapes control characters in the whole text, whichever field they came
// from; colours says whether the sequences for bold and colour may stay.
func writeText(w io.Writer, text string, colours bool) error {
	_, err := io.WriteString(w, clean.Text(text, colours))
	return err
}

// section is one part of a report: a title above tables, plain lines and warnings. Terminal and markdown print the same
// sections.
type section struct {
	title    string
	groups   []group
	lines    []string
	warnings []string
	// note is printed below all of it.
	note string
}

// group is the rows of one workload and quantity, all in the unit that the caption names.
type group struct {
	caption string
	table   table
}

// sections gives the parts of the report in their order, without empty ones.
func sections(a answer.Answer) []section {
	var all []section
	for _, s := range []section{
		noiseFloorSection(a), findingSection(a), proofSection(a), providerSection(a), sourceSection(a),
		objectiveSection(a), settingSection(a), failureSection(a), armSection(a), comparisonSection(a), earlierSection(a),
		deploymentSection(a), resolveSection(a), distributionSection(a), layerSection(a), saturationSection(a),
		meaningSection(a), insideSection(a), capturedSection(a), differsSection(a), limitSection(a), warningSection(a),
	} {
		if len(s.groups)+len(s.lines)+len(s.warnings) > 0 {
			s.title = printable(s.title)
			all = append(all, s)
		}
	}
	return all
}

// runsOf splits a list into stretches of neighbours with the same key.
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

// scaleOf picks the unit in which all values of one table are written. Items without a value (nil) do not count.
func scaleOf[T any](items []T, unit string, value func(T) *float64) result.Scale {
	var values []float64
	for _, item := range items {
		if v := value(item); v != nil {
			values = append(values, *v)
		}
	}
	return result.ScaleOf(unit, values...)
}

func caption(workload string, q figures.Quantity, s result.Scale) string {
	text := workload + ", " + q.Name()
	if s.Unit != "" {
		text += " in " + s.Unit
	}
	return text
}

// trialsColumn is the index of the column for an arm's number of trials.
const trialsColumn = 3

// settingSection lists the paths of the arms, and what they set differently from the workloads.
func settingSection(a answer.Answer) section {
	out := section{title: "What the arms set"}
	for _, s := range a.Settings {
		text := s.Text
		if s.Path != "" {
			out.title, text = "What the arms are", s.Path
			if s.Text != "" {
				text += "; sets " + s.Text
			}
		}
		out.lines = append(out.lines, printable(s.Arm+": "+text))
	}
	return out
}

// pooledNote explains the column of pooled figures.
const pooledNote = "\"Pooled\" is the same percentile of all observations of an arm together. It is a description:\n" +
	"a stall in one trial can move it. Comparisons use the median over trials."

func armSection(a answer.Answer) section {
	out := section{title: "Arms: median over trials"}
	for _, rows := range runsOf(a.Arms, func(f figures.Figure) string { return f.Workload + "\x00" + f.Name() }) {
		first := rows[0]
		s := scaleOf(rows, first.Unit, func(f figures.Figure) *float64 { return &f.Median })
		t := table{
			head:  []string{"arm", ">median", intervalColumn, ">trials"},
			spare: []string{plotColumn}, scale: s.Number,
		}
		pooled := slices.ContainsFunc(rows, func(f figures.Figure) bool { return f.Pooled != nil })
		if pooled {
			t.head, out.note = append(t.head, ">pooled"), pooledNote
			t.spare = []string{plotColumn, "pooled"}
		}
		over, one := overOne(rows, func(f figures.Figure) string { return f.Over })
		for _, f := range rows {
			t.marks = append(t.marks, &mark{at: f.Median, interval: f.Interval})
			row := []string{armLabel(f) + withOver(f.Over, one), s.Number(f.Median), f.Interval.Text(s.Number), trialsText(f)}
			if pooled {
				row = append(row, orDash(f.Pooled, s.Number))
			}
			t.add(row...)
			t.note(trialsColumn, ": ", printable(f.Caution))
		}
		out.groups = append(out.groups, group{caption(first.Workload+over, first.Quantity, s), t})
	}
	return out
}

// overOne names the protocol of a table's rows after its workload, if the answer says protocols and all rows have the
// same: " over TCP". one says that they have.
func overOne[T any](rows []T, over func(T) string) (text string, one bool) {
	first := over(rows[0])
	if first == "" || slices.ContainsFunc(rows, func(row T) bool { return over(row) != first }) {
		return "", false
	}
	return " over " + first, true
}

// withOver names the protocol of a row, if the rows of its table have several.
func withOver(over string, one bool) string {
	if one {
		return ""
	}
	return prose.InBrackets(over)
}

// The comparisons that p is corrected for: each table of a run asks one question; two sides ask one question in all.
const (
	eachTable   = "the arms of each table"
	allTogether = "all comparisons together"
)

// pairedNote explains the columns of paired differences.
const pairedNote = "p is corrected for " + eachTable + " (Holm). \"Detectable\" is the smallest true\n" +
	"difference that this run would have shown four times in five. \"+n\" is how many more\n" +
	"blocks find a difference of the size that was seen, if there is one, as often."

// trialsText writes how many trials a figure has, and how many of them failed or lack it.
func trialsText(f figures.Figure) string {
	return strconv.Itoa(f.Trials) + lacking(f.Failed, f.Missing)
}

// widenedMark follows an interval that was extended to 0; widenedNote explains it.
const (
	widenedMark = "*"
	widenedNote = "* extended to 0: alone, this comparison would exclude 0; corrected for all comparisons, it does not."
)

func comparisonSection(a answer.Answer) section {
	out := section{
		title: "Differences from " + a.Baseline + ", paired within blocks",
		note:  pairedNote,
	}
	if len(a.Sources) > 0 {
		out.title, out.note = sidesTitle(a), sidesNote(a)
	}
	if slices.ContainsFunc(a.Comparisons, func(c figures.Comparison) bool { return c.Deployments != nil }) {
		out.note = deploymentsNote
	}
	if a.Imported && !a.Paired {
		out.title, out.note = "Differences from "+a.Baseline+", not paired", recordedNote(a)
	}
	if slices.ContainsFunc(a.Comparisons, func(c figures.Comparison) bool { return c.Widened }) {
		out.note = strings.TrimPrefix(out.note+"\n"+widenedNote, "\n")
	}
	for _, comparisons := range runsOf(a.Comparisons, quantityOf) {
		first := comparisons[0]
		s := scaleOf(comparisons, first.Unit, func(c figures.Comparison) *float64 { return c.Difference })
		t := table{
			head:  []string{"arm", ">difference", intervalColumn, ">relative", ">p", "verdict", ">" + detectableColumn},
			spare: []string{"p", plotColumn, "relative"}, zero: true, scale: s.Signed,
		}
		over, one := overOne(comparisons, func(c figures.Comparison) string { return c.Over })
		for _, c := range comparisons {
			t.marks = append(t.marks, markOf(c))
			verdict, reason := verdictText(c)
			c.Arm += withOver(c.Over, one)
			if c.Unproved != "" {
				verdict += unprovedMark
			}
			t.add(comparisonRow(c, s, verdict)...)
			t.note(verdictColumn, ": ", reason)
			t.note(verdictColumn, ": ", butText(c.But))
			t.note(verdictColumn, unprovedLink, printable(c.Unproved))
			t.note(boundsColumn, ": ", dependenceText(c))
		}
		out.groups = append(out.groups, group{caption(first.Workload+over, first.Quantity, s), t})
	}
	return out
}

// butText says beside a better figure what the same arm does worse.
func butText(but string) string {
	if but == "" {
		return ""
	}
	return printable("better here, but " + but)
}

// quantityOf is the same for all comparisons of one workload and quantity.
func quantityOf(c figures.Comparison) string { return c.Workload + "\x00" + c.Name() }

// recordedNote explains differences that have no interval, in results that were recorded elsewhere.
func recordedNote(a answer.Answer) string {
	for _, c := range a.Comparisons {
		if c.Difference != nil && c.Interval == nil {
			return "A difference without an interval holds for these trials only. It is not known how much\n" +
				"further trials would vary, nor whether the arms differ at all."
		}
	}
	return ""
}

// detectableColumn is the name of the column for the smallest true difference that would have been found.
const detectableColumn = "detectable"

// The indices of a comparison's columns for the interval and the verdict.
const (
	boundsColumn  = 2
	verdictColumn = 5
)

// dependenceText says that the blocks depend on each other, so that fewer of them count.
func dependenceText(c figures.Comparison) string {
	if c.Dependence == nil || c.Dependence.Counted >= c.Blocks {
		return ""
	}
	return fmt.Sprintf("neighbouring blocks are alike, and the %d count as %d", c.Blocks, c.Dependence.Counted)
}

func comparisonRow(c figures.Comparison, s result.Scale, verdict string) []string {
	if c.Difference == nil {
		interval := "-" // it can be sure that there is a difference, and not how large
		if c.Interval != nil {
			interval = c.Interval.Text(s.Signed)
		}
		return []string{c.Arm, "-", interval, "-", pValue(c.PValue), verdict, "-"}
	}
	interval := c.Interval.Text(s.Signed)
	if c.Widened {
		interval += widenedMark
	}
	return []string{c.Arm, s.Signed(*c.Difference), interval, orDash(c.Relative, percent), pValue(c.PValue), verdict,
		orDash(c.Detectable, s.Number)}
}

// markOf gives the mark of a comparison in the plot; nil if it has no difference.
func markOf(c figures.Comparison) *mark {
	if c.Difference == nil {
		return nil
	}
	m := &mark{at: *c.Difference, interval: c.Interval}
	switch c.Better {
	case "arm":
		if c.But == "" {
			m.color = better
		}
	case "baseline":
		m.color = worse
	}
	return m
}

// verdictText writes the verdict, whether it is better or worse, and how many more blocks would find a difference of
// that size. The reason is empty unless the two cannot be compared, too little was measured, or the size of a sure
// difference is not known.
func verdictText(c figures.Comparison) (verdict, reason string) {
	switch c.Verdict {
	case figures.Higher, figures.Lower:
		switch c.Better {
		case "arm":
			if c.But != "" {
				return c.Verdict + " (better here)", printable(c.Reason)
			}
			return c.Verdict + " (better)", printable(c.Reason)
		case "baseline":
			return c.Verdict + " (worse)", printable(c.Reason)
		}
		return c.Verdict, printable(c.Reason)
	case figures.NoDifference:
		if d := c.Deployments; d != nil && d.Needed != nil && *d.Needed > 0 {
			return fmt.Sprintf("none seen (+%d deployments)", *d.Needed), ""
		}
		if c.BlocksNeeded != nil && *c.BlocksNeeded > 0 {
			return fmt.Sprintf("none seen (+%d)", *c.BlocksNeeded), ""
		}
		return "none seen", ""
	}
	return strings.ReplaceAll(c.Verdict, "-", " "), printable(c.Reason)
}

// limitSection lists what a lab, or hosts on one machine, cannot tell. These are not warnings, because they hold for
// every such run.
func limitSection(a answer.Answer) section {
	s := section{title: "What a lab cannot tell"}
	if a.Environment != nil && a.Environment.Kernel == "" {
		s.title = "What one machine cannot tell"
	}
	if a.Environment != nil {
		for _, limit := range a.Environment.Limits {
			s.lines = append(s.lines, printable(limit))
		}
	}
	return s
}

func warningSection(a answer.Answer) section {
	s := section{title: "Warnings"}
	for _, w := range a.Warnings {
		where := prose.InBrackets(strings.TrimSpace(w.Arm + " " + w.Workload))
		s.warnings = append(s.warnings, printable(prose.Shorten(w.Code+where+": "+w.Message, prose.Longest)))
	}
	return s
}
