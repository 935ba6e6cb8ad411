package main

import (
	"fmt"
	"maps"
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/result"
)

// An outcome is the result of a row.
type outcome struct {
	Row row
	// Blocks counts the blocks that have a figure on both sides.
	Blocks int
	// Ours and Theirs are medians over the trials. Ratio is the median of the ratios ours/theirs within blocks, with
	// its exact interval.
	Ours, Theirs stats.Quantity
	Ratio        stats.Summary
}

// trials holds the records of a run by workload, then by block.
type trials map[string]map[int]result.Trial

// values gives a workload's figure in each block that has one.
func (t trials) values(workload string, r row) map[int]float64 {
	values := map[int]float64{}
	for block, trial := range t[workload] {
		if v, ok := trial.Value(r.Metric, r.Stat); ok && trial.Error == "" {
			values[block] = v
		}
	}
	return values
}

// judge pairs the figures of a row within blocks.
func judge(r row, t trials) outcome {
	o := outcome{Row: r}
	ours, theirs := t.values(r.Ours, r), t.values(r.Theirs, r)
	var ratios []float64
	for block, v := range ours {
		if w, ok := theirs[block]; ok && w > 0 {
			ratios = append(ratios, v/w)
		}
	}
	o.Blocks = len(ratios)
	o.Ours = stats.Summarize(slices.Collect(maps.Values(ours))).Median
	o.Theirs = stats.Summarize(slices.Collect(maps.Values(theirs))).Median
	o.Ratio = stats.Summarize(ratios)
	return o
}

// unmeasured says why there is no ratio; "" if there is one.
func (o outcome) unmeasured() string {
	switch {
	case o.Row.Missing != "":
		return "not measured: " + o.Row.Missing
	case o.Blocks == 0:
		return "not measured: no block has both figures"
	}
	return ""
}

// verdict says whether the median ratio keeps the bound, or why the row was not measured.
func (o outcome) verdict() string {
	if reason := o.unmeasured(); reason != "" {
		return reason
	}
	return o.Row.Bound.verdict(o.Ratio)
}

// within says where the interval lies relative to the bound.
func (o outcome) within() string {
	if o.unmeasured() != "" {
		return ""
	}
	return o.Row.Bound.within(o.Ratio.Interval)
}

// ratio writes the median ratio and its interval.
func (o outcome) ratio() string {
	if o.unmeasured() != "" {
		return ""
	}
	if !o.Ratio.Interval.Known {
		return fmt.Sprintf("%.3f", o.Ratio.Median.Value)
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", o.Ratio.Median.Value, o.Ratio.Interval.Low, o.Ratio.Interval.High)
}
