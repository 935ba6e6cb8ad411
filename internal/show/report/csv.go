package report

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
)

// csvTable writes a row for each figure, comparison, count of failures, layer, residual, quantile, number of round
// trips, objective and figure of a noise floor, and for each arm that a test of additivity names. The column kind says
// which of them a row is. Values are in base units; an empty cell is a value that is not known.
func csvTable(w io.Writer, a answer.Answer) error {
	rows := [][]string{{
		"kind", "workload", "arm", "baseline", "layer", "metric", "stat", "unit",
		"value", "low", "high", "relative", "p_value", "verdict", "detectable", "count", "scope", "side", "reason",
		"unbounded", "widened", "missing", "failed",
	}}
	for _, f := range a.Arms {
		low, high := ends(f.Interval)
		rows = append(rows, []string{"arm", f.Workload, f.Arm, "", "", f.Metric, f.Stat, f.Unit,
			plain(f.Median), low, high, "", "", "", "", strconv.Itoa(f.Trials), f.Scope, f.Side, "", f.Unbounded, "",
			count(f.Missing), count(f.Failed)})
	}
	for _, c := range a.Comparisons {
		low, high := ends(c.Interval)
		rows = append(rows, []string{"comparison", c.Workload, c.Arm, c.Baseline, "", c.Metric, c.Stat, c.Unit,
			optional(c.Difference), low, high, optional(c.Relative), optional(c.PValue), c.Verdict,
			optional(c.Detectable),
			strconv.Itoa(pairsOrTrials(c)), c.Scope, "", withRemark(c.Reason, c.Unproved),
			c.Unbounded, trueOrEmpty(c.Widened), count(bothSides(c.Missing)), count(bothSides(c.Failed))})
	}
	rows = append(rows, failureRows(a)...)
	for _, l := range a.Layers {
		low, high := ends(l.Interval)
		rows = append(rows, []string{"layer", l.Workload, "", a.Baseline, l.Layer, l.Metric, l.Stat, l.Unit,
			plain(l.Cost), low, high, "", optional(l.PValue), l.Verdict, optional(l.Detectable), "", l.Scope, "",
			withRemark(notAdditive(l.Additive), l.Unproved), l.Interval.Unbounded(), trueOrEmpty(l.Widened), count(l.Missing)})
	}
	for _, t := range a.Additivity {
		for _, d := range t.Arms {
			rows = append(rows, []string{"additivity", t.Workload, d.Arm, a.Baseline, "", t.Metric, t.Stat, t.Unit,
				plain(d.By), "", "", "", plain(t.PValue), "", "", strconv.Itoa(t.Blocks), t.Scope, "",
				notAdditive(&t.Additive), "", "", ""})
		}
	}
	for _, r := range a.Residual {
		low, high := ends(r.Interval)
		rows = append(rows, []string{"residual", r.Workload, r.Arm, a.Baseline, "", r.Metric, r.Stat, r.Unit,
			plain(r.Value), low, high, "", "", "", "", "", r.Scope, "", notAdditive(r.Additive), "", "",
			count(r.Missing)})
	}
	for _, d := range a.Distributions {
		for _, q := range d.Quantiles {
			if q.Difference == nil {
				continue
			}
			low, high := ends(q.Interval)
			rows = append(rows, []string{"quantile", d.Workload, d.Arm, d.Baseline, "", d.Metric, q.Stat, d.Unit,
				optional(q.Difference), low, high, optional(q.Relative), "", "", "",
				strconv.Itoa(min(d.Trials[0], d.Trials[1])), "", "", "", q.Unbounded, "", count(bothSides(q.Missing))})
		}
	}
	rows = append(rows, meaningRows(a)...)
	rows = append(rows, saturationRows(a)...)
	rows = append(rows, objectiveRows(a)...)
	rows = append(rows, noiseFloorRows(a)...)
	for i, row := range rows {
		rows[i] = append(row, make([]string, len(rows[0])-len(row))...) // the last columns do not concern every kind
	}
	return writeCSV(w, rows)
}

// writeCSV writes rows whose cells neither a spreadsheet nor a terminal acts on.
func writeCSV(w io.Writer, rows [][]string) error {
	for _, row := range rows {
		for i := range row {
			row[i] = inert(row[i])
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// notAdditive is the remark on figures of layers that do not add up.
func notAdditive(additive *bool) string {
	if additive == nil || *additive {
		return ""
	}
	return "the layers do not add up"
}

// pairsOrTrials counts the blocks of a paired comparison; otherwise the trials of the side that has fewer.
func pairsOrTrials(c figures.Comparison) int {
	if c.Trials != nil {
		return min(c.Trials[0], c.Trials[1])
	}
	return c.Blocks
}

// inert escapes a cell: a spreadsheet must not take it for a formula, also not after spaces, and a terminal must not
// act on it. Numbers stay as they are.
func inert(s string) string {
	if s = printable(s); strings.IndexAny(strings.TrimLeft(s, " "), "=+-@") != 0 {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

func plain(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return plain(*v)
}

func ends(i figures.Interval) (low, high string) {
	if i == nil {
		return "", ""
	}
	for k, cell := range []*string{&low, &high} {
		if !math.IsInf(i[k], 0) {
			*cell = plain(i[k])
		}
	}
	return low, high
}

// count writes a number, and nothing for 0.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func bothSides(counts *[2]int) int {
	if counts == nil {
		return 0
	}
	return counts[0] + counts[1]
}

// trueOrEmpty writes "true", and nothing for false.
func trueOrEmpty(set bool) string {
	if set {
		return "true"
	}
	return ""
}
