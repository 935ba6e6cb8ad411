package report

import (
	"slices"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/meaning"
	"nearfar/internal/declare/result"
)

// meaningNote explains the figures of round trips.
const meaningNote = "\"Times\" is the application's difference over that of the round trip, by the arm alone; the\n" +
	"text has it over all arms, where its interval also allows for what these differ from one line.\n" +
	"Intervals allow for the noise of both workloads, with 95 % confidence each. A whole number of\n" +
	"round trips may also be off by what hosts do after a longer wait. \"Remains\" is what it leaves of\n" +
	"the difference: docs/meaning.md."

// meaningSection relates each application's difference to that of a round trip.
func meaningSection(a answer.Answer) section {
	out := section{title: "What a difference means for an application"}
	for _, m := range a.Meaning {
		if m.Slope != nil {
			out.groups = append(out.groups, meaningGroup(a, m))
			out.note = meaningNote
		}
		out.lines = append(out.lines, printable(m.Workload+": "+m.Text))
		for _, left := range m.Left {
			if m.Slope != nil {
				out.lines = append(out.lines, printable(m.Workload+": "+left.Arm+" is left out: "+left.Reason))
			}
		}
	}
	return out
}

// meaningGroup has a line for each arm: what the application and the round trip differ by, and how many times as
// much that is.
func meaningGroup(a answer.Answer, m meaning.Meaning) group {
	app := scaleOf(m.Arms, m.Unit, func(x meaning.Arm) *float64 { return &x.Application.Value })
	trip := scaleOf(m.Arms, result.Seconds, func(x meaning.Arm) *float64 { return &x.RoundTrip.Value })
	remains := slices.ContainsFunc(m.Arms, func(x meaning.Arm) bool { return x.Remains != nil })
	t := table{
		head: []string{"arm", ">" + m.Workload + " in " + app.Unit, intervalColumn, ">" + m.RoundTrip + " in " + trip.Unit,
			intervalColumn, ">times", intervalColumn},
		spare: []string{"times, 95 % interval"},
	}
	if remains {
		t.head = append(t.head, ">remains", intervalColumn)
		t.spare = slices.Insert(t.spare, 0, "remains, 95 % interval")
	}
	number := result.Scale{Factor: 1}
	for _, x := range m.Arms {
		row := []string{x.Arm}
		add := func(e *meaning.Estimate, write func(float64) string) {
			if e == nil {
				row = append(row, "-", "")
				return
			}
			row = append(row, write(e.Value), e.Interval.Text(write))
		}
		add(&x.Application, app.Signed)
		add(&x.RoundTrip, trip.Signed)
		add(x.Worth, number.Number)
		if remains {
			add(x.Remains, app.Signed)
		}
		if x.Unproved != "" {
			row[0] += unprovedMark
		}
		t.add(row...)
	}
	round := figures.Quantity{Metric: result.RTT, Stat: m.RoundTripStat}
	return group{m.Workload + ", " + m.Name() + ", against " + m.RoundTrip + ", " + round.Name() + ": differences from " +
		a.Baseline, t}
}

// wholeTrips is the number of round trips that explains the difference, with what else would; nil without one.
func wholeTrips(m meaning.Meaning) *meaning.Estimate {
	if m.Trips == nil {
		return nil
	}
	return &meaning.Estimate{Value: float64(*m.Trips), Interval: m.Between}
}

// meaningRows are the rows of slopes and what remains in CSV.
func meaningRows(a answer.Answer) [][]string {
	var rows [][]string
	for _, m := range a.Meaning {
		for _, of := range []struct {
			kind, unit string
			is         *meaning.Estimate
		}{{"round-trips", result.One, m.Slope}, {"without-round-trips", m.Unit, m.Intercept},
			{"whole-round-trips", result.One, wholeTrips(m)}} {
			if of.is != nil {
				low, high := ends(of.is.Interval)
				rows = append(rows, []string{of.kind, m.Workload, "", a.Baseline, "", m.Metric, m.Stat, of.unit,
					plain(of.is.Value), low, high, "", "", "", "", count(m.Blocks), m.Scope})
			}
		}
	}
	return rows
}
