package report

import (
	"fmt"
	"strconv"
	"time"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// noiseFloorNote explains the tables of a noise floor.
const noiseFloorNote = "\"Between\" is the scatter of blocks, which cancels in differences, \"within\" the scatter\n" +
	"of trials in one block, both as standard deviations of the bulk. \"Short\" is within for short trials, and\n" +
	"\"fixed\" the part of the variance within that longer trials do not shrink. A difference is found\n" +
	"four times in five, corrected for the comparisons of the experiment."

// noiseFloorSection says what the comparison of an arm with itself found about its hosts.
func noiseFloorSection(a answer.Answer) section {
	n := a.NoiseFloor
	if n == nil || len(n.Figures) == 0 {
		return section{}
	}
	out := section{title: "Noise of " + n.Arm + " on these hosts", note: noiseFloorNote}
	scatter := table{
		head:  []string{"figure", ">median", ">trial", ">between", ">within", ">short", ">fixed"},
		spare: []string{"short", "trial", "median"},
	}
	found := table{head: []string{"figure"}}
	plans := table{head: []string{"figure", ">blocks", "cheapest"}}
	for _, d := range n.Figures[0].Detectable {
		found.head = append(found.head, ">"+strconv.Itoa(d.Blocks)+" blocks")
	}
	for _, f := range n.Figures {
		name := f.Workload + " " + f.Name()
		scatter.add(name, result.Amount(f.Level, f.Unit), seconds(f.Duration), amount(f.Between, f),
			amount(f.Within, f), amount(f.WithinShort, f), orDash(f.Fixed, percentOf))
		row := []string{name}
		for _, d := range f.Detectable {
			row = append(row, detectableText(d, f.Unit))
			if d.Uncertain() {
				out.note = noiseFloorNote + uncertainNote
			}
		}
		for len(row) < len(found.head) { // a hostile record
			row = append(row, "-")
		}
		found.add(row[:len(found.head)]...)
		if r := f.Resolve; r != nil {
			plans.add(name, orDash(r.Blocks, strconv.Itoa), planText(r))
		}
	}
	out.groups = []group{
		{"Scatter", scatter},
		{fmt.Sprintf("Smallest difference found, with %s", prose.Plural(n.Comparisons, "comparison")), found},
	}
	if len(plans.rows) > 0 {
		out.groups = append(out.groups,
			group{"Blocks that find " + n.Resolve + ", and the plan that takes the least time", plans})
	}
	if n.Recommended != nil {
		out.lines = append(out.lines, printable(n.Recommended.Text))
	}
	return out
}

// amount writes a scatter with its share of the level, "-" if it is not known.
func amount(v *float64, f answer.Floor) string {
	switch {
	case v == nil:
		return "-"
	case f.Level > 0:
		return result.Share(*v / f.Level)
	}
	return result.Amount(*v, f.Unit)
}

// uncertainMark stands before differences that the baseline does not tell well, and uncertainNote explains it.
const (
	uncertainMark = "~"
	uncertainNote = "\n\"~\": too few blocks of this baseline tell it. The true difference can be less than half of\n" +
		"it, or more than twice as large (90 % interval, in -f json). A baseline of more blocks\n" +
		"(--blocks) tells more."
)

func detectableText(d answer.DetectableAt, unit string) string {
	if d.Difference == nil {
		return "none"
	}
	text := result.Amount(*d.Difference, unit)
	if d.Relative != nil {
		text = result.Share(*d.Relative)
	}
	if d.Uncertain() {
		text = uncertainMark + text
	}
	return text
}

func planText(r *answer.FloorPlan) string {
	if r.CheapestBlocks == nil || r.CheapestDuration == nil {
		return fmt.Sprintf("none with up to %d blocks", answer.MostPlanned)
	}
	return fmt.Sprintf("%s of %s", prose.Plural(*r.CheapestBlocks, "block"), seconds(*r.CheapestDuration))
}

func seconds(s float64) string {
	return experiment.FormatDuration(time.Duration(s * float64(time.Second)).Round(time.Millisecond))
}

// earlierSection quotes an earlier baseline of the hosts.
func earlierSection(a answer.Answer) section {
	out := section{title: "What a baseline of these hosts saw"}
	for _, line := range a.Earlier.Lines() {
		out.lines = append(out.lines, printable(line))
	}
	return out
}

// noiseFloorRows are the rows of a noise floor in CSV: the scatter within blocks, and what numbers of blocks find.
func noiseFloorRows(a answer.Answer) [][]string {
	if a.NoiseFloor == nil {
		return nil
	}
	var rows [][]string
	for _, f := range a.NoiseFloor.Figures {
		row := func(kind, value, relative string, of figures.Interval, count int) {
			low, high := ends(of)
			rows = append(rows, []string{kind, f.Workload, a.NoiseFloor.Arm, "", "", f.Metric, f.Stat, f.Unit, value,
				low, high, relative, "", "", "", strconv.Itoa(count), f.Scope, "", "", of.Unbounded(), "", ""})
		}
		row("noise-between", optional(f.Between), "", nil, f.Pairs)
		row("noise-within", optional(f.Within), "", nil, f.Pairs)
		for _, d := range f.Detectable {
			row("noise-detectable", optional(d.Difference), optional(d.Relative), d.Interval, d.Blocks)
		}
	}
	return rows
}
