package answer

import (
	"fmt"
	"strings"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
)

// missing warns of trials that lack a quantity that other trials of their workload have.
func missing(e *experiment.Experiment, c figures.Cells) []Warning {
	var lacks []figures.Lack
	lacking, of := 0, ""
	for _, arm := range e.Arms {
		l := c.Ranking.LackOf(arm.Name, c.Good[arm.Name])
		if lacks = append(lacks, l); l.Missing > 0 {
			lacking, of = lacking+1, arm.Name
		}
	}
	if lacking == 0 {
		return nil
	}
	if lacking > 1 {
		of = ""
	}
	return []Warning{MissingWarning(c.Quantity, lacks, of, c.Workload)}
}

// CodeMissing is the code of the warning of trials that lack a quantity.
const CodeMissing = "trials-without-figure"

// MissingWarning says which trials lack a quantity, and how they count.
func MissingWarning(q figures.Quantity, lacks []figures.Lack, arm, workload string) Warning {
	var parts []string
	for _, l := range lacks {
		parts = append(parts, l.String())
	}
	means := "; they count as worse than all others in medians and comparisons, and are in no mean"
	if _, ok := q.Worst(); !ok {
		means = "; they are left out"
	}
	why := ""
	if strings.HasPrefix(q.Stat, "p") {
		why = " (a percentile needs ten observations beyond it, and a trial that stalls has few)"
	}
	return Warning{Code: CodeMissing, Arm: arm, Workload: workload,
		Message: fmt.Sprintf("%s is missing in %s%s%s", q.Name(), list(parts), why, means)}
}
