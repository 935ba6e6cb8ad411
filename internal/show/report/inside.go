package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/inside"
	recorded "nearfar/internal/declare/inside"
	"nearfar/internal/declare/result"
)

const (
	// mostChanges and mostSlowest are how many differences and slow round trips are printed.
	mostChanges = 12
	mostSlowest = 3
)

// insideNote explains the figures of elements.
const insideNote = "Medians over trials of the watched workload, each interval with 95 % confidence by itself.\n" +
	"The other figures of this report come from trials that were not watched. docs/inside.md\n" +
	"says what each element is."

// WriteInside prints the inside of the path alone.
func WriteInside(w io.Writer, a answer.Answer, o Options) error {
	only := answer.Answer{Nearfar: a.Nearfar, Inside: a.Inside}
	only.Run = a.Run
	for _, warning := range a.Warnings {
		if strings.HasPrefix(warning.Code, "inside-") {
			only.Warnings = append(only.Warnings, warning)
		}
	}
	return writers{
		terminal: func(s screen) string { return terminal(only, s) },
		markdown: func() string { return markdown(only) },
		csv:      func() error { return csvTable(w, only) },
		document: struct {
			Nearfar  string           `json:"nearfar"`
			Run      string           `json:"run"`
			Inside   []inside.Inside  `json:"inside"`
			Warnings []answer.Warning `json:"warnings"`
		}{only.Nearfar, only.Run, only.Inside, append([]answer.Warning{}, only.Warnings...)},
	}.write(w, o)
}

// insideSection says where the time of round trips went.
func insideSection(a answer.Answer) section {
	out := section{title: "Inside the path", note: insideNote}
	for _, in := range a.Inside {
		for _, arm := range in.Arms {
			for _, m := range arm.Machines {
				out.groups = append(out.groups, elementGroup(in, arm, m))
			}
		}
		for _, x := range in.Against {
			out.groups = append(out.groups, changeGroup(in, x))
		}
		if len(in.Layers) > 1 { // of one, the group of its arm says the same
			out.groups = append(out.groups, layerGroup(in))
		}
		for _, arm := range in.Arms {
			out.lines = append(out.lines, insideLines(in, arm)...)
		}
	}
	return out
}

// microseconds is the scale of all elements: they are compared with each other.
func microseconds() result.Scale { return result.Scale{Unit: "us", Factor: 1e-6} }

// elementGroup has a line for each element of a path.
func elementGroup(in inside.Inside, arm inside.Arm, m inside.Machine) group {
	s := microseconds()
	t := table{head: []string{"way", "element", ">us", intervalColumn, ">p99"}, spare: []string{"p99"}, named: 1}
	for _, e := range m.Elements {
		t.add(e.Way, elementName(e.Step), s.Number(e.Median), boundsText(e.Interval, s.Number), orDash(e.P99, s.Number))
	}
	if m.Sum != nil {
		t.add("both", "sum", s.Number(m.Sum.Median), boundsText(m.Sum.Interval, s.Number), "-")
	}
	caption := fmt.Sprintf("%s in %s%s, %s", in.Workload, arm.Arm, onMachine(m.Side), prose.Plural(m.Trials, "trial"))
	return group{caption, t}
}

// onMachine says whose clock the times are by, if there are two.
func onMachine(side string) string {
	if side == recorded.Both {
		return ""
	}
	return " on the " + side + "'s machine, by its clock"
}

// elementName names an element without its direction.
func elementName(s recorded.Step) string {
	return strings.TrimSuffix(inside.Name(s), " ("+s.Way+")")
}

// withBounds writes an interval behind its number; nothing if there is none.
func withBounds(interval *[2]float64, write func(float64) string) string {
	if interval == nil {
		return ""
	}
	return " " + boundsText(interval, write)
}

func boundsText(interval *[2]float64, write func(float64) string) string {
	if interval == nil {
		return "none"
	}
	return (&figures.Bounds{interval[0], interval[1]}).Text(write)
}

// changeGroup has a line for each element in which an arm differs from the baseline, the largest difference first.
func changeGroup(in inside.Inside, x inside.Against) group {
	s := microseconds()
	t := table{head: []string{"way", "element", ">us", intervalColumn, ""}, named: 1}
	row := func(name string, m *inside.Measure, about string) {
		if m != nil {
			t.add("both", name, s.Signed(m.Median), boundsText(m.Interval, s.Signed), about)
		}
	}
	for i, c := range x.Elements {
		if i == mostChanges {
			t.add("", fmt.Sprintf("%d more", len(x.Elements)-i), "", "", "")
			break
		}
		name := elementName(c.Step)
		if c.Side != recorded.Both {
			name += " (" + c.Side + ")"
		}
		t.add(c.Way, name, s.Signed(c.Median), boundsText(c.Interval, s.Signed), changeNote(x, c))
	}
	row("sum of all", x.Sum, "")
	row("sum of "+strings.Join(x.Layers, ", "), x.Own, "")
	row("without recording", x.Corrected, "less what its events cost")
	row("by subtraction", x.Subtracted, "not watched")
	return group{fmt.Sprintf("%s: where %s differs from %s", in.Workload, x.Arm, x.Baseline), t}
}

// layerGroup has the cost of each layer by both methods.
func layerGroup(in inside.Inside) group {
	s := microseconds()
	t := table{head: []string{"layer", "by", ">us", intervalColumn, ""}, named: 1}
	for _, l := range in.Layers {
		name, about := l.Name(), l.Arm+" less "+l.Other
		row := func(by string, m *inside.Measure) {
			if m != nil {
				t.add(name, by, s.Signed(m.Median), boundsText(m.Interval, s.Signed), about)
				name, about = "", ""
			}
		}
		row("its elements", l.Own)
		row("without recording", l.Corrected)
		row("by subtraction", l.Subtracted)
		row("over all arms", l.Attributed)
	}
	return group{in.Workload + ": each layer by both methods", t}
}

// changeNote says what a difference is of.
func changeNote(x inside.Against, c inside.Change) string {
	var texts []string
	switch c.Only {
	case inside.OnlyArm:
		texts = append(texts, "only in "+x.Arm)
	case inside.OnlyBaseline:
		texts = append(texts, "only in "+x.Baseline)
	}
	if c.Own && c.Only == "" {
		texts = append(texts, "of "+strings.Join(x.Layers, ", "))
	}
	return strings.Join(texts, ", ")
}

// insideLines are what else is known of an arm: what watching costs, how much was seen, and why the slowest were slow.
func insideLines(in inside.Inside, arm inside.Arm) []string {
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, printable(in.Workload+" in "+arm.Arm+": "+fmt.Sprintf(format, args...)))
	}
	s := microseconds()
	if len(arm.Machines) == 0 {
		add("unknown; see the warnings")
		return lines
	}
	if arm.Cost != nil && arm.Reported != nil {
		add("watching adds %s us%s to the %s of %s us that is watched; shares are of that one", s.Signed(arm.Cost.Median),
			withBounds(arm.Cost.Interval, s.Signed), in.Quantity, s.Number(arm.Reported.Median))
	}
	if r := arm.Ratio; r != nil {
		whole := func(v float64) string { return result.Decimal(100*v, 1) }
		add("the elements sum to %s %%%s of the round trip that the tool reports", whole(r.Median),
			withBounds(r.Interval, whole))
	}
	if b := arm.Between; b != nil {
		add("between the machines %s us%s, both directions together: the time that a reply is away by the client's "+
			"clock, less the time in the server's machine by its own", s.Number(b.Median), withBounds(b.Interval, s.Number))
	}
	for _, m := range arm.Machines {
		path := ""
		if m.Paths > 1 {
			path = fmt.Sprintf("; %s %% of them took this path, of %d", result.Decimal(100*m.Share, 1), m.Paths)
		}
		add("%d of %d round trips were seen whole, %d lost, %d events%s%s", m.Complete, m.Sampled, m.Lost, m.Events,
			onMachine(m.Side), path)
		if m.Slow > 0 {
			var causes []string
			for _, c := range m.Causes {
				causes = append(causes, fmt.Sprintf("%s %s (%d)", c.Cause, percentOf(c.Share), c.Trips))
			}
			add("the slowest %d, over all trials: %s", m.Slow, strings.Join(causes, ", "))
		}
		for _, trip := range m.Slowest[:min(mostSlowest, len(m.Slowest))] {
			why := ""
			if trip.At != nil {
				why = fmt.Sprintf(": %s, %s longer by %s us", trip.Cause, inside.Name(*trip.At), s.Number(trip.Excess))
			}
			add("%s us in trial %s%s", s.Number(trip.Took), strconv.Itoa(trip.Trial), why)
		}
	}
	return lines
}
