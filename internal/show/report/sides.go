package report

import (
	"fmt"
	"strings"
	"time"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// sourceSection describes the two sides of a comparison.
func sourceSection(a answer.Answer) section {
	out := section{title: "Sides"}
	for _, s := range a.Sources {
		parts := []string{prose.Plural(s.Trials, "trial")}
		if len(s.Runs) > 0 {
			parts[0] += " in " + prose.Plural(len(s.Runs), "run")
		}
		if s.Failed > 0 {
			parts = append(parts, fmt.Sprintf("%d failed", s.Failed))
		}
		if s.Blocks > 0 {
			parts = append(parts, prose.Plural(s.Blocks, "block"))
		}
		if s.State != "" {
			parts = append(parts, s.State)
		}
		if !s.Started.IsZero() {
			parts = append(parts, "started "+s.Started.UTC().Format(time.RFC3339))
		}
		out.lines = append(out.lines, printable(s.Side+": "+prose.Shorten(s.Source, 300)+" ("+strings.Join(parts,
			", ")+")"))
	}
	return out
}

// armLabel names an arm, with its side if there are two.
func armLabel(f figures.Figure) string { return strings.TrimSpace(f.Side + " " + f.Arm) }

// sidesTitle is the title above the differences of two sides.
func sidesTitle(a answer.Answer) string {
	for _, c := range a.Comparisons {
		if c.Blocks > 0 {
			return "Differences: B less A, paired within blocks"
		}
	}
	return "Differences: B less A, not paired"
}

// sidesNote is the note below the differences of two sides. It explains the columns, which depend on the unit of
// comparison: blocks, runs or trials.
func sidesNote(a answer.Answer) string {
	for _, c := range a.Comparisons {
		switch {
		case c.Blocks > 0:
			return strings.Replace(pairedNote, eachTable, allTogether, 1)
		case c.Interval != nil && c.ScatterRuns == 0 && c.Runs != nil:
			return "The figure of a run is the median over its trials, and the comparison is between runs. p is\n" +
				"corrected for all comparisons together (Holm). \"Detectable\" is the smallest true difference\n" +
				"that this many runs would have shown four times in five. \"+n\" is how many more runs on each\n" +
				"side find a difference of the size that was seen, if there is one."
		case c.Interval != nil && c.Runs != nil:
			return fmt.Sprintf("A difference is the median of all differences between a trial of B and a trial of A.\n"+
				"Its interval includes how much runs vary, taken from %d other runs. p is corrected for all\n"+
				"comparisons together (Holm). \"Detectable\" is the smallest true difference that would have been\n"+
				"shown four times in five. \"+n\" is how many more runs on each side find a difference of the\n"+
				"size that was seen, if there is one.", c.ScatterRuns)
		case c.Interval != nil:
			return "A difference is the median of all differences between a trial of B and a trial of A. p is\n" +
				"corrected for all comparisons together (Holm). \"Detectable\" is the smallest true difference\n" +
				"that these trials would have shown four times in five. \"+n\" is how many more trials on each\n" +
				"side find a difference of the size that was seen, if there is one, as often."
		}
	}
	return recordedNote(a)
}

// distributionSection compares the distributions of two sides, quantile by quantile.
func distributionSection(a answer.Answer) section {
	out := section{title: "Distributions: quantiles, median over trials"}
	for _, d := range a.Distributions {
		var medians []float64
		for _, q := range d.Quantiles {
			if q.Medians != nil && q.Stat == result.P50 {
				medians = append(medians, q.Medians[0], q.Medians[1])
			}
		}
		s := result.ScaleOf(d.Unit, medians...)
		t := table{
			head: []string{"quantile", ">A", ">B", ">difference", intervalColumn, ">relative", ">A pooled",
				">B pooled"},
			spare: []string{"A pooled", "B pooled", "relative"},
		}
		for _, q := range d.Quantiles {
			t.add(quantileRow(q, s)...)
		}
		out.groups = append(out.groups, group{fmt.Sprintf("%s, %s, %s in %s", d.Workload, d.Arm, d.Metric, s.Unit), t})
		if d.Distance != nil {
			out.lines = append(out.lines, distanceText(d))
		}
	}
	out.note = "Each interval is for one comparison, not corrected for their number. Pooled quantiles and\n" +
		"distances use all observations together. They describe the samples and prove nothing."
	return out
}

func quantileRow(q figures.QuantileComparison, s result.Scale) []string {
	row := []string{q.Stat, "-", "-", "-", "-", "-", "-", "-"}
	if q.Medians != nil {
		row[1], row[2] = s.Number(q.Medians[1]), s.Number(q.Medians[0])
	}
	if q.Difference != nil {
		row[3], row[4] = s.Signed(*q.Difference), q.Interval.Text(s.Signed)
	}
	if q.Relative != nil {
		row[5] = percent(*q.Relative)
	}
	if q.Pooled != nil {
		row[6], row[7] = s.Number(q.Pooled[1]), s.Number(q.Pooled[0])
	}
	return row
}

// distanceText says at which value the cumulative distributions of the two sides differ most, and by how much.
func distanceText(d figures.Distribution) string {
	if d.Distance.Share == 0 {
		return printable(fmt.Sprintf("%s, %s: all observations together have the same distribution in A and B.",
			d.Workload, d.Arm))
	}
	more, fewer, share := "B", "A", d.Distance.Share
	if share < 0 {
		more, fewer, share = "A", "B", -share
	}
	return printable(fmt.Sprintf("%s, %s: the distributions of all observations differ most at %s: the share of "+
		"observations up to this value is larger in %s than in %s by %s percentage points (a description; "+
		"%d observations in A, %d in B).", d.Workload, d.Arm, result.Amount(d.Distance.At, d.Unit), more, fewer,
		result.Decimal(100*share, 1), d.Observations[1], d.Observations[0]))
}
