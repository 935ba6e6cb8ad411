package main

import (
	"fmt"
	"math"

	"nearfar/internal/base/stats"
)

// A bound is the range in which a figure must lie, both ends included.
type bound struct{ Low, High float64 }

func atLeast(v float64) *bound { return &bound{Low: v, High: math.Inf(1)} }
func atMost(v float64) *bound  { return &bound{Low: math.Inf(-1), High: v} }

// near is the range within the given share of a value.
func near(v, share float64) *bound { return &bound{Low: v * (1 - share), High: v * (1 + share)} }

func (b bound) holds(v float64) bool { return v >= b.Low && v <= b.High }

// text writes the bound, with its ends as the function writes them.
func (b bound) text(figure func(float64) string) string {
	switch {
	case math.IsInf(b.Low, -1):
		return "at most " + figure(b.High)
	case math.IsInf(b.High, 1):
		return "at least " + figure(b.Low)
	}
	return figure(b.Low) + " to " + figure(b.High)
}

// String writes the bound of a ratio.
func (b bound) String() string {
	return b.text(func(v float64) string { return fmt.Sprintf("%.2f", v) })
}

// The verdicts. unmeasured gives the reasons if there is none.
const (
	reached    = "reached"
	short      = "short"
	cannotTell = "cannot tell"
	noBound    = ""
)

// verdict says whether the median of the blocks lies within the bound; nil means no bound. There is no verdict if there
// are too few blocks for an interval.
func (b *bound) verdict(s stats.Summary) string {
	switch {
	case b == nil:
		return noBound
	case !s.Interval.Known:
		return cannotTell
	case b.holds(s.Median.Value):
		return reached
	}
	return short
}

// within says where the interval lies relative to the bound; "" if one of them is missing.
func (b *bound) within(i stats.Interval) string {
	if b == nil || !i.Known {
		return ""
	}
	switch {
	case b.holds(i.Low) && b.holds(i.High):
		return "wholly within"
	case i.High < b.Low || i.Low > b.High:
		return "wholly outside"
	}
	return "on both sides"
}
