package answer

import (
	"fmt"
	"io"
	"slices"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/inside"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// mostLost is the share of round trips that may be lost before that is a warning, and sumsWithin how far the sum of the
// elements may be from the round trip of the tool, which also has the tool's own time.
const (
	mostLost   = 0.01
	sumsWithin = 0.05
)

// LookInside adds where the time went, from the trials of watched twins and their recordings, which open gives. The
// rest of the answer is made without these trials. They are those that may be compared (proof.Compared).
func (a *Answer) LookInside(
	e *experiment.Experiment, trials []result.Trial, open func(name string) (io.ReadCloser, error),
) {
	for _, w := range e.Workloads {
		twin, ok := e.Twin(w.Name)
		if !ok {
			continue
		}
		in := inside.Input{
			Workload: w.Name, Watched: twin.Name, Arms: e.ArmNames(), Baseline: e.Baseline, Trials: trials, Open: open,
			Subtracted: map[string]inside.Subtracted{}, Crosses: map[string]map[string]int{},
			Attributed: map[string]inside.Measure{},
		}
		q := a.quantityWith(w.Name, twin.Name, trials)
		in.Quantity, in.Value, in.Mean = q.Name(), q.Of, q.Stat == result.Mean
		for _, c := range a.Comparisons {
			if c.Workload == w.Name && c.Quantity == q && c.Difference != nil {
				in.Subtracted[c.Arm] = subtracted(c)
			}
		}
		for i, crosses := range e.LayersIn(w.Name) {
			in.Crosses[e.Arms[i].Name] = crosses
		}
		for _, l := range a.Layers {
			if l.Workload == w.Name && l.Quantity == q {
				in.Attributed[l.Layer] = attributed(l)
			}
		}
		made := inside.Of(in)
		a.Inside = append(a.Inside, made)
		a.Warnings = append(a.Warnings, insideWarnings(made)...)
	}
}

// quantityWith is the quantity in which a workload and its twin are compared: the one that is told first. Watching and
// capturing make round trips longer, so that trials of a twin can have too few of them for its percentile. Then it is
// the mean.
func (a *Answer) quantityWith(workload, twin string, trials []result.Trial) figures.Quantity {
	q := a.firstQuantity(workload)
	theirs := slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool {
		return t.Workload != twin || t.Error != ""
	})
	mean := q
	mean.Stat = result.Mean
	if present := figures.Present(theirs, []figures.Quantity{q, mean}); len(present) > 0 {
		return present[0]
	}
	return q
}

// firstQuantity is the quantity of a workload that is told first.
func (a *Answer) firstQuantity(workload string) figures.Quantity {
	for _, f := range a.Arms {
		if f.Workload == workload {
			return f.Quantity
		}
	}
	return figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
}

// subtracted is a comparison as the other method of the same difference.
func subtracted(c figures.Comparison) inside.Subtracted {
	s := inside.Subtracted{Layers: c.Otherwise, Difference: inside.Measure{Median: *c.Difference, Trials: c.Blocks}}
	if c.Interval != nil && c.Interval.Unbounded() == "" {
		s.Difference.Interval = new([2]float64(*c.Interval))
	}
	return s
}

// attributed is the cost of one of a layer over all arms.
func attributed(l figures.Layer) inside.Measure {
	m := inside.Measure{Median: l.Cost}
	if l.Interval != nil && l.Unbounded == "" {
		m.Interval = new([2]float64(*l.Interval))
	}
	return m
}

// insideWarnings say what a reader of the inside must know.
func insideWarnings(in inside.Inside) []Warning {
	var all []Warning
	warn := func(code, arm, format string, args ...any) {
		all = append(all, Warning{Code: code, Arm: arm, Workload: in.Workload, Message: fmt.Sprintf(format, args...)})
	}
	for _, arm := range in.Arms {
		if len(arm.Problems) > 0 {
			what := "nothing was seen inside the path"
			if len(arm.Machines) > 0 {
				what = "not all was seen inside the path"
			}
			warn("inside-unknown", arm.Arm, "%s: %s", what, problemsText(arm.Problems, arm.Trials))
		} else if arm.Trials == 0 {
			warn("inside-unknown", arm.Arm, "nothing was seen inside the path: no watched trial was good")
		}
		for _, m := range arm.Machines {
			if due := m.Sampled + m.Lost; float64(m.Lost) > mostLost*float64(due) {
				warn("inside-lost", arm.Arm, "%d of %d round trips that were due could not be followed: there was no room",
					m.Lost, due)
			}
		}
		// They can sum to more: not all trips of a trial are followed, and recording takes time.
		if r := arm.Ratio; r != nil && r.Interval != nil && r.Interval[1] < 1-sumsWithin {
			warn("inside-sum", arm.Arm, "the elements sum to %.1f %% of the round trip that the tool reports: a part of "+
				"it is not seen", 100*r.Median)
		}
	}
	for _, x := range in.Against {
		if x.Disagree != "" {
			warn("inside-disagrees", x.Arm, "%s", x.Disagree)
		}
	}
	for _, l := range in.Layers {
		told := slices.ContainsFunc(in.Against, func(x inside.Against) bool {
			return x.Arm == l.Arm && x.Baseline == l.Other
		})
		if l.Disagree != "" && !told {
			warn("inside-disagrees", l.Arm, "compared with %s, %s", l.Other, l.Disagree)
		}
	}
	return all
}
