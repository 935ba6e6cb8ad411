package answer

import (
	"cmp"
	"math"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// Bounded is a figure that was judged against a bound, as by a gate.
type Bounded struct {
	// Opening is the verdict: "Failed".
	Opening string
	Arm     string
	// Baseline is the arm that it is compared with, in the workload of Measured.
	Baseline string
	Workload Measured
	// Several says that other workloads were measured too.
	Several bool
	figures.Quantity
	// Relative says that Figure, Interval and Bound are shares of the baseline, Value that they are the arm's own
	// figure, not a difference.
	Relative, Value bool
	Figure          *float64
	Interval        figures.Interval
	Bound           float64
	// Reason says why there is no figure.
	Reason string
}

// Headline is the first line about it, in the words of an answer's: "Failed: with far, the median round trip takes 12 %
// longer than with near (8 to 17 %); the limit is 5 %."
func (j Bounded) Headline(sides Sides) string {
	a := Answer{Ran: Ran{Workloads: []Measured{j.Workload}}}
	if j.Several {
		a.Workloads = append(a.Workloads, Measured{})
	}
	f := Finding{Kind: OfArm, Name: j.Arm, Baseline: j.Baseline, Workload: j.Workload.Workload, Quantity: j.Quantity,
		Difference: j.Figure, Interval: j.Interval}
	t := teller{a: a, sides: func(Finding) Sides { return sides }}
	opening := always(j.Opening + ": ")
	if j.Figure == nil || j.Interval == nil {
		reason := cmp.Or(j.Reason, "there is no interval")
		return sentence([]part{opening, always(t.where(f)), {text: " " + uncapital(sides.With), drop: dropRate},
			{text: ", " + reason, drop: dropBaseline, short: " cannot be judged"}, always(".")}, MostWords)
	}
	w := t.words(f)
	verb, direction := w.verb(*j.Figure > 0)
	r := roundingOf(j.Quantity, *j.Figure, j.Interval)
	if j.Relative {
		r = roundingOf(figures.Quantity{Unit: "%"}, 100**j.Figure,
			&figures.Bounds{100 * j.Interval[0], 100 * j.Interval[1]})
		r.scale = result.Scale{Factor: 0.01, Unit: "%"}
	}
	start := part{text: uncapital(sides.With) + ", " + t.where(f) + " " + verb + " "}
	limit := always("; the limit is " + j.limit(r) + ".")
	if j.Value {
		if r.scale.Unit == points {
			r.scale.Unit = "%"
		}
		return sentence([]part{opening, start, always(r.with(r.number(*j.Figure))),
			always(" (" + r.between(j.Interval, false) + ")"), limit}, MostWords)
	}
	return sentence([]part{opening, start, always(r.size(*j.Figure) + " " + direction), {text: t.than(f),
		drop: dropBaseline}, always(" (" + r.between(j.Interval, *j.Figure < 0 && j.Interval[1] < 0) + ")"), limit},
		MostWords)
}

// limit is the bound with its unit, as exact as it was written.
func (j Bounded) limit(r rounding) string {
	value := math.Round(math.Abs(j.Bound)/r.scale.Factor*1e6) / 1e6
	text := r.with(thousands(result.Decimal(value, -1)))
	if j.Bound < 0 && !j.Value {
		text += " less"
	}
	return text
}
