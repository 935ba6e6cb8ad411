// Package report prints an answer: for the terminal, as markdown, CSV or JSON.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"nearfar/internal/answer"
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
}

// Write prints the answer. An unknown format is an error that names the known ones.
func Write(w io.Writer, a answer.Answer, o Options) error {
	switch o.Format {
	case "", "terminal":
		_, err := io.WriteString(w, terminal(a, o.Color))
		return err
	case "markdown":
		_, err := io.WriteString(w, markdown(a))
		return err
	case "csv":
		return csvTable(w, a)
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(a)
	}
	return fmt.Errorf("unknown format %q: use one of %s", o.Format, strings.Join(Formats(), ", "))
}

// section is a titled table, or a titled list of lines: what terminal and markdown share.
type section struct {
	title string
	table *table
	lines []string
	// note stands below the table.
	note string
}

// sections lays the answer out.
func sections(a answer.Answer) []section {
	var all []section
	if s := armSection(a); s.table != nil {
		all = append(all, s)
	}
	if s := comparisonSection(a); s.table != nil {
		all = append(all, s)
	}
	if s := layerSection(a); s.table != nil {
		all = append(all, s)
	}
	if s := warningSection(a); len(s.lines) > 0 {
		all = append(all, s)
	}
	return all
}

func armSection(a answer.Answer) section {
	if len(a.Arms) == 0 {
		return section{}
	}
	t := &table{head: []string{"workload", "metric", "arm", ">median", ">95 % interval", ">trials"}}
	previous := ""
	for _, f := range a.Arms {
		s := result.ScaleOf(f.Unit, f.Median)
		group := f.Workload + " " + quantity(f.Quantity)
		workload, metric := f.Workload, quantity(f.Quantity)
		if group == previous {
			workload, metric = "", ""
		}
		previous = group
		t.add(workload, metric, f.Arm, s.With(s.Number(f.Median)), bounds(f.Interval, s.Number), fmt.Sprint(f.Trials))
	}
	return section{title: "Arms: median over trials", table: t}
}

func comparisonSection(a answer.Answer) section {
	if len(a.Comparisons) == 0 {
		return section{}
	}
	t := &table{head: []string{"workload", "metric", "arm", ">difference", ">95 % interval", ">relative", ">p", "verdict", ">could have seen"}}
	previous := ""
	for _, c := range a.Comparisons {
		workload, metric := c.Workload, quantity(c.Quantity)
		if group := workload + " " + metric; group == previous {
			workload, metric = "", ""
		} else {
			previous = group
		}
		if c.Difference == nil {
			t.add(workload, metric, c.Arm, "-", "-", "-", "-", printable(c.Verdict+": "+c.Reason), "-")
			continue
		}
		s := result.ScaleOf(c.Unit, *c.Difference)
		if c.Interval != nil {
			s = result.ScaleOf(c.Unit, *c.Difference, c.Interval[0], c.Interval[1])
		}
		relative, detectable := "-", "unknown"
		if c.Relative != nil {
			relative = percent(*c.Relative)
		}
		if c.Detectable != nil {
			detectable = result.Amount(*c.Detectable, c.Unit)
		}
		t.add(workload, metric, c.Arm, s.With(s.Signed(*c.Difference)), bounds(c.Interval, s.Signed),
			relative, pValue(c.PValue), verdictText(c), detectable)
	}
	return section{
		title: "Differences from " + a.Baseline + ", paired within blocks", table: t,
		note: "p is corrected for the number of comparisons (Holm). \"Could have seen\" is the smallest true difference that this run would\nhave shown four times in five.",
	}
}

// verdictText is the verdict with what it means for the user, and how many more blocks would settle it.
func verdictText(c answer.Comparison) string {
	switch c.Verdict {
	case answer.Higher, answer.Lower:
		switch c.Better {
		case "arm":
			return c.Verdict + " (better)"
		case "baseline":
			return c.Verdict + " (worse)"
		}
		return c.Verdict
	case answer.NoDifference:
		text := "no difference seen"
		if c.BlocksNeeded != nil && *c.BlocksNeeded > 0 {
			text += fmt.Sprintf("; %d more blocks would settle this one", *c.BlocksNeeded)
		}
		return text
	}
	return strings.TrimSuffix(c.Verdict+": "+printable(c.Reason), ": ")
}

func layerSection(a answer.Answer) section {
	if len(a.Layers) == 0 {
		return section{}
	}
	t := &table{head: []string{"workload", "metric", "layer", ">cost of one", ">95 % interval", "adds"}}
	for i, l := range a.Layers {
		workload, metric := l.Workload, quantity(l.Quantity)
		if i > 0 && a.Layers[i-1].Workload == l.Workload && a.Layers[i-1].Quantity == l.Quantity {
			workload, metric = "", ""
		}
		s := result.ScaleOf(l.Unit, l.Cost)
		if l.Interval != nil {
			s = result.ScaleOf(l.Unit, l.Cost, l.Interval[0], l.Interval[1])
		}
		t.add(workload, metric, l.Layer, s.With(s.Signed(l.Cost)), bounds(l.Interval, s.Signed), adds(l))
		last := i == len(a.Layers)-1 || a.Layers[i+1].Workload != l.Workload || a.Layers[i+1].Quantity != l.Quantity
		if last {
			residualRow(t, a, l)
		}
	}
	return section{title: "Layers: what one of each costs, by least squares over all arms", table: t}
}

// residualRow closes a workload's layers with what they leave unexplained.
func residualRow(t *table, a answer.Answer, l answer.Layer) {
	for _, r := range a.Residual {
		if r.Workload != l.Workload || r.Quantity != l.Quantity {
			continue
		}
		s := result.ScaleOf(r.Unit, r.Value)
		if r.Interval != nil {
			s = result.ScaleOf(r.Unit, r.Value, r.Interval[0], r.Interval[1])
		}
		note := fmt.Sprintf("%s: whole %s = parts %s + residual", r.Arm, result.Amount(r.Whole, r.Unit), result.Amount(r.Parts, r.Unit))
		if r.Saturated {
			note += "; zero by construction: no arm is left over to check the parts with"
		}
		t.add("", "", "residual", s.With(s.Signed(r.Value)), bounds(r.Interval, s.Signed), note)
	}
}

// adds says what the layer adds where an arm crosses it more than once more than the baseline: the arm with the most.
func adds(l answer.Layer) string {
	var most answer.Contribution
	for _, c := range l.Adds {
		if abs(c.Count) > abs(most.Count) {
			most = c
		}
	}
	if abs(most.Count) <= 1 {
		return ""
	}
	return fmt.Sprintf("%s %+g: %s", most.Arm, most.Count, result.Amount(most.Adds, l.Unit))
}

func abs(v float64) float64 { return max(v, -v) }

func warningSection(a answer.Answer) section {
	s := section{title: "Warnings"}
	for _, w := range a.Warnings {
		where := strings.TrimSpace(strings.Join([]string{w.Arm, w.Workload}, " "))
		if where != "" {
			where = " (" + where + ")"
		}
		s.lines = append(s.lines, printable(w.Code+where+": "+w.Message))
	}
	return s
}
