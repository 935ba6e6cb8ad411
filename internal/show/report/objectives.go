package report

import (
	"fmt"

	"nearfar/internal/conclude/answer"
)

// objectiveSection lists the objectives with their verdicts, and counts them in its title.
func objectiveSection(a answer.Answer) section {
	if len(a.Objectives) == 0 {
		return section{}
	}
	counts := map[string]int{}
	var out section
	for _, o := range a.Objectives {
		counts[o.Verdict]++
		out.lines = append(out.lines, printable(o.Verdict+": "+o.Said))
	}
	out.title = fmt.Sprintf("Objectives: %d of %d met", counts[answer.Met], len(a.Objectives))
	for _, verdict := range []string{answer.Missed, answer.Undecided, answer.ObjectiveError} {
		if n := counts[verdict]; n > 0 {
			out.title += fmt.Sprintf(", %d %s", n, verdict)
		}
	}
	out.note = fmt.Sprintf("Each interval has %.4g %% confidence, so that all of them hold at once with 95 %%.",
		100*a.Objectives[0].Confidence)
	return out
}

// objectiveRows are the rows of the objectives in CSV.
func objectiveRows(a answer.Answer) [][]string {
	var rows [][]string
	for _, o := range a.Objectives {
		low, high := ends(o.Interval)
		rows = append(rows, []string{"objective", o.Workload, o.Arm, o.Baseline, "", o.Metric, o.Stat, o.Unit,
			optional(o.Estimate), low, high, "", "", o.Verdict, "", "", o.Scope, "", withRemark(o.Reason, o.Unproved),
			o.Interval.Unbounded(), "", ""})
	}
	return rows
}
