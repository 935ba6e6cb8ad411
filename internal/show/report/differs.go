package report

import (
	"fmt"
	"strings"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/environment"
)

// mostDiffering is how many differences between hosts a report lists. JSON has all.
const mostDiffering = 12

// longDiffering is the length of two values, in columns, from which on they are written below the table.
const longDiffering = 36

// The indices of the columns for the values of the baseline's hosts and of the arm's.
const (
	baselineColumn = 3
	hereColumn     = 4
)

// mattersMark follows facts that are known to change figures.
const mattersMark = " *"

// differsSection lists the facts in which the hosts of the arms differ from those of the baseline, without differences
// that the file declares. The facts that are known to change figures come first.
func differsSection(a answer.Answer) section {
	t := table{head: []string{"arm", "host", "fact", "baseline", "here"}, named: 2}
	declared, left, matters := 0, 0, false
	var all []environment.Differing
	for _, matter := range []bool{true, false} {
		for _, d := range a.Differs {
			switch {
			case d.Matters != matter:
			case d.Declared:
				declared++
			default:
				all = append(all, d)
			}
		}
	}
	for _, row := range bothHosts(all) {
		if len(t.rows) == mostDiffering {
			left++
			continue
		}
		fact := row.Name
		if row.Matters {
			fact, matters = fact+mattersMark, true
		}
		if columns(row.Baseline)+columns(row.Value) < longDiffering {
			t.add(row.Arm, row.Side, fact, row.Baseline, row.Value)
			continue
		}
		t.add(row.Arm, row.Side, fact, "", "")
		t.note(baselineColumn, ", "+row.Side+": "+row.Name+" of the baseline: ", row.Baseline)
		t.note(hereColumn, ", "+row.Side+": "+row.Name+" here: ", row.Value)
	}
	if len(t.rows) == 0 {
		return section{}
	}
	out := section{title: "What else differs from " + a.Baseline}
	out.groups = []group{{"Facts of the hosts that differ, and that the file does not declare to differ", t}}
	var notes []string
	if matters {
		notes = append(notes, "* This fact alone can change figures.")
	}
	if left > 0 {
		notes = append(notes, fmt.Sprintf("%d more: -f json lists all.", left))
	}
	if declared > 0 {
		notes = append(notes, fmt.Sprintf("Left out, because the file declares them: %d.", declared))
	}
	out.note = strings.Join(notes, "\n")
	return out
}

// bothHosts joins the differences that both hosts of an arm share.
func bothHosts(all []environment.Differing) (joined []environment.Differing) {
	for _, d := range all {
		found := false
		for i := range joined {
			other := d
			other.Side = joined[i].Side
			if joined[i] == other {
				joined[i].Side, found = "both", true
			}
		}
		if !found {
			joined = append(joined, d)
		}
	}
	return joined
}
