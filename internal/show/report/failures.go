package report

import (
	"fmt"
	"slices"
	"strconv"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
)

// failuresNote explains the columns of failed attempts.
const failuresNote = "An attempt is the first execution of a trial; replacements of failed ones do not count. The\n" +
	"interval is exact, and p is from an exact test, corrected for all arms of a workload (Holm). In\n" +
	"the medians and differences below, a failed attempt counts as worse than all others."

// failureSection says how often the arms failed. It is empty if none did.
func failureSection(a answer.Answer) section {
	if a.Failures == nil || !slices.ContainsFunc(a.Failures.Arms, func(f figures.FailureShare) bool {
		return f.Failed > 0
	}) {
		return section{}
	}
	out := section{title: "Failed attempts", note: failuresNote}
	for _, arms := range runsOf(a.Failures.Arms, func(f figures.FailureShare) string { return f.Workload }) {
		if !slices.ContainsFunc(arms, func(f figures.FailureShare) bool { return f.Failed > 0 }) {
			continue
		}
		t := table{head: []string{"arm", ">failed", ">of", ">share", intervalColumn, ">p", "verdict"}}
		for _, f := range arms {
			p, verdict := "-", ""
			if c := failuresAgainst(a, f); c != nil {
				p, verdict = pValue(c.PValue), failuresVerdict(*c)
			}
			t.add(printable(armLabel(figures.Figure{Side: f.Side, Arm: f.Arm})), strconv.Itoa(f.Failed),
				strconv.Itoa(f.Attempts), failedShare(f.Share), f.Interval.Text(failedShare), p, verdict)
		}
		out.groups = append(out.groups, group{arms[0].Workload + ", first attempts", t})
	}
	return out
}

// failuresAgainst is the comparison of an arm's failures; nil for a baseline.
func failuresAgainst(a answer.Answer, f figures.FailureShare) *figures.FailureComparison {
	if len(a.Sources) > 0 && f.Side != a.Sources[len(a.Sources)-1].Side {
		return nil
	}
	i := slices.IndexFunc(a.Failures.Comparisons, func(c figures.FailureComparison) bool {
		return c.Arm == f.Arm && c.Workload == f.Workload
	})
	if i < 0 {
		return nil
	}
	return &a.Failures.Comparisons[i]
}

func failuresVerdict(c figures.FailureComparison) string {
	switch c.Better {
	case "arm":
		return "fails less often (better)"
	case "baseline":
		return "fails more often (worse)"
	}
	return "none seen"
}

// failedShare writes a share of attempts.
func failedShare(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }

// lacking says how many trials of a figure have no value: " (2 failed, 1 missing)".
func lacking(failed, missing int) string {
	switch {
	case failed > 0 && missing > 0:
		return fmt.Sprintf(" (%d failed, %d missing)", failed, missing)
	case failed > 0:
		return fmt.Sprintf(" (%d failed)", failed)
	case missing > 0:
		return fmt.Sprintf(" (%d missing)", missing)
	}
	return ""
}

// failureRows are the rows of failures in CSV. The count is the number of attempts.
func failureRows(a answer.Answer) [][]string {
	if a.Failures == nil {
		return nil
	}
	var rows [][]string
	for _, f := range a.Failures.Arms {
		low, high := ends(f.Interval)
		rows = append(rows, []string{"failures", f.Workload, f.Arm, "", "", f.Metric, f.Stat, f.Unit, plain(f.Share), low,
			high, "", "", "", "", strconv.Itoa(f.Attempts), "", f.Side, "", "", "", "", strconv.Itoa(f.Failed)})
	}
	for _, c := range a.Failures.Comparisons {
		low, high := ends(c.Interval)
		rows = append(rows, []string{"failures-comparison", c.Workload, c.Arm, c.Baseline, "", c.Metric, c.Stat, c.Unit,
			optional(c.Difference), low, high, "", optional(c.PValue), c.Verdict, "", strconv.Itoa(c.Attempts[0]), "", "",
			"", "", trueOrEmpty(c.Widened), "", strconv.Itoa(c.Failed[0])})
	}
	return rows
}
