package report

import (
	"nearfar/internal/answer"
	"nearfar/internal/result"
)

// mostFindings is how many findings the table has; fewFindings are said by the verdict.
const (
	mostFindings = 8
	fewFindings  = 2
)

// whereColumn is which column of a finding's row names workload and quantity, from 0.
const whereColumn = 1

// findingSection lists what surely differs, the strongest first, over all workloads. Where all of it is in one table of
// differences, that table says it.
func findingSection(a answer.Answer) section {
	var differ []answer.Finding
	tables := map[string]bool{}
	for _, f := range a.Findings {
		if f.Differs() && f.Difference != nil {
			differ = append(differ, f)
			tables[f.Kind+"\x00"+f.Where()] = true
		}
	}
	if len(differ) <= fewFindings || len(tables) < 2 {
		return section{}
	}
	t := table{
		head:  []string{"finding", "in", ">difference", intervalColumn, ">relative", "verdict"},
		spare: []string{"relative"}, named: 1,
	}
	for _, f := range differ[:min(len(differ), mostFindings)] {
		t.add(findingRow(f, len(a.Sources) > 0)...)
		t.note(whereColumn, " in "+printable(f.Where())+": ", printable(f.Caution))
	}
	against := "differences from " + a.Baseline
	if len(a.Sources) > 0 {
		against = "B less A"
	}
	out := section{title: "What differs most", groups: []group{{"the strongest first, " + against, t}}}
	if n := len(differ) - mostFindings; n > 0 {
		out.said = []string{plural(n, "more difference") + " below."}
	}
	return out
}

func findingRow(f answer.Finding, sides bool) []string {
	name := f.Name
	if f.Kind == answer.OfLayer {
		name = "layer " + name
	}
	if sides && f.Baseline != f.Name {
		name += " against " + f.Baseline
	}
	s := result.ScaleOf(f.Unit, *f.Difference)
	relative := "-"
	if f.Relative != nil {
		relative = percent(*f.Relative)
	}
	return []string{
		name, f.Where(), s.With(s.Signed(*f.Difference)), bounds(f.Interval, s.Signed), relative,
		betterOrWorse(f),
	}
}

// betterOrWorse says what a difference means for the user; its sign says the rest.
func betterOrWorse(f answer.Finding) string {
	switch f.Better {
	case "arm":
		return "better"
	case "baseline":
		return "worse"
	}
	return f.Verdict
}
