package report

import (
	"fmt"
	"slices"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/saturation"
	"nearfar/internal/declare/result"
)

// saturationNote explains the figures of a sweep.
const saturationNote = "\"Saturates at\" is what an arm answers of more than it can; response times are told at fractions of\n" +
	"it. An objective is kept up to the rate where the line between two rates of the sweep crosses its\n" +
	"limit. Medians over blocks; each interval has 95 % confidence by itself: docs/saturation.md."

// saturationSection says what the arms carry.
func saturationSection(a answer.Answer) section {
	out := section{title: "Saturation: what the arms carry"}
	for _, s := range a.Saturation {
		out.note = saturationNote
		out.groups = append(out.groups, kneeGroup(s))
		if g := fractionGroup(s); len(g.table.rows) > 0 {
			out.groups = append(out.groups, g)
		}
	}
	return out
}

func perSecond() result.Scale { return result.ScaleOf(result.PerSecond) }

// sweepName names the workloads of a sweep.
func sweepName(s saturation.Saturation) string {
	return fmt.Sprintf("%s to %s", s.Workloads[0], s.Workloads[len(s.Workloads)-1])
}

// kneeGroup has a line for each arm: where it saturates, and up to which rate it keeps each objective.
func kneeGroup(s saturation.Saturation) group {
	t := table{head: []string{"arm", ">saturates at", intervalColumn, ">change", intervalColumn}}
	for _, a := range s.Arms {
		if t.rows == nil {
			for _, k := range a.Keeps {
				limit := result.ScaleOf(k.Unit, k.Bound)
				t.head = append(t.head, ">"+k.Name()+" < "+limit.With(limit.Number(k.Bound))+" up to", intervalColumn)
			}
		}
		row := append([]string{a.Arm}, rateCells(a.Knee, s)...)
		if a.Change == nil {
			row = append(row, "-", "")
		} else {
			row = append(row, percent(a.Change.Value), a.Change.Interval.Text(percent))
		}
		for _, k := range a.Keeps {
			row = append(row, rateCells(k.Rate, s)...)
		}
		t.add(row...)
	}
	return group{sweepName(s) + ", requests in /s", t}
}

// rateCells writes a rate and its interval.
func rateCells(r saturation.Rate, s saturation.Saturation) []string {
	scale := perSecond()
	number := "-"
	switch {
	case r.Value != nil:
		number = scale.Number(*r.Value)
	case r.Beyond == saturation.Above:
		number = "above " + scale.Number(slices.Max(s.Rates))
	case r.Beyond == saturation.Below:
		number = "below " + scale.Number(slices.Min(s.Rates))
	}
	if r.Interval == nil {
		return []string{number, ""}
	}
	return []string{number, r.Interval.Text(scale.Number)}
}

// fractionGroup has a line for each arm and fraction: the response times there.
func fractionGroup(s saturation.Saturation) group {
	var all []saturation.At
	for _, a := range s.Arms {
		all = append(all, a.At...)
	}
	unit := scaleOf(all, result.Seconds, func(at saturation.At) *float64 { return &at.Value })
	t := table{head: []string{"arm", ">of it", ">requests in /s", ">p50 in " + unit.Unit, intervalColumn,
		">p99 in " + unit.Unit, intervalColumn}, spare: []string{"requests in /s"}}
	for _, a := range s.Arms {
		for _, at := range runsOf(a.At, func(at saturation.At) string { return fmt.Sprint(at.Fraction) }) {
			row := []string{a.Arm, fmt.Sprintf("%.0f %%", 100*at[0].Fraction), perSecond().Number(at[0].Rate)}
			for _, stat := range []string{result.P50, result.P99} {
				i := slices.IndexFunc(at, func(at saturation.At) bool { return at.Stat == stat })
				if i < 0 {
					row = append(row, "-", "")
					continue
				}
				row = append(row, unit.Number(at[i].Value), at[i].Interval.Text(unit.Number))
			}
			t.add(row...)
		}
	}
	return group{sweepName(s) + ", response_time at fractions of where the arm saturates", t}
}

// saturationRows are the rows of saturation in CSV.
func saturationRows(a answer.Answer) [][]string {
	var rows [][]string
	add := func(kind, arm, workload string, q figures.Quantity, r saturation.Rate, blocks int) {
		low, high := ends(r.Interval)
		rows = append(rows, []string{kind, workload, arm, "", "", q.Metric, q.Stat, result.PerSecond, optional(r.Value), low,
			high, "", "", "", "", count(blocks), q.Scope, "", r.Beyond, r.Interval.Unbounded()})
	}
	for _, s := range a.Saturation {
		for _, arm := range s.Arms {
			add("saturation", arm.Arm, s.Workloads[0], figures.Quantity{Metric: result.TransactionRate}, arm.Knee, arm.Blocks)
			for _, k := range arm.Keeps {
				add("keeps-objective", arm.Arm, s.Workloads[0], k.Quantity, k.Rate, arm.Blocks)
			}
		}
	}
	return rows
}
