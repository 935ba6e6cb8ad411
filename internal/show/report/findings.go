package report

import (
	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/result"
)

// mostFindings is the largest number of rows in the table. Up to fewFindings findings need no table: the verdict
// sentence names them.
const (
	mostFindings = 8
	fewFindings  = 2
)

// whereColumn is the index of the column that names workload and quantity.
const whereColumn = 1

// findingSection lists the sure differences of all workloads, in the order of the verdict. It is empty if one table of
// differences shows all of them.
func findingSection(a answer.Answer) section {
	var differ []answer.Finding
	tables := map[string]bool{}
	for _, f := range a.Findings {
		if f.Differs() && f.Difference != nil && f.Kind != answer.OfFailures { // failures have a table of their own
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
		t.note(whereColumn, " in "+printable(f.Where())+": ",
			printable(withRemark(withRemark(f.Caution, f.Unproved), butText(f.But))))
	}
	against := "differences from " + a.Baseline
	if len(a.Sources) > 0 {
		against = "B less A"
	}
	out := section{title: "What differs most", groups: []group{{"in the order of the verdict, " + against, t}}}
	if n := len(differ) - mostFindings; n > 0 {
		out.lines = []string{prose.Plural(n, "more difference") + " below."}
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
	if f.Difference == nil { // surely worse, and there is no figure to say by how much
		return []string{name, f.Where() + overText(f), "?", "-", "-", betterOrWorse(f)}
	}
	s := result.ScaleOf(f.Unit, *f.Difference)
	return []string{
		name, f.Where() + overText(f), s.With(s.Signed(*f.Difference)), f.Interval.Text(s.Signed),
		orDash(f.Relative, percent), betterOrWorse(f),
	}
}

// overText names the protocol of a finding, if the answer says protocols.
func overText(f answer.Finding) string {
	if f.Over == "" {
		return ""
	}
	return " over " + f.Over
}

// betterOrWorse says whether a difference is good or bad for the user. Its sign already shows the direction.
func betterOrWorse(f answer.Finding) string {
	switch f.Better {
	case "arm":
		if f.But != "" {
			return "better here"
		}
		return "better"
	case "baseline":
		return "worse"
	}
	return f.Verdict
}
