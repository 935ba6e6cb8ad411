package contrast

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// maxPooled bounds the number of histograms that are read for the pooled quantiles of one answer.
const maxPooled = 10_000

// Pool sets the pooled quantile of each figure of an answer that is a percentile of the trials' main metric: the
// quantile of all observations of the arm's good trials together. All of these must have a histogram, which open
// gives. If one cannot be read, there is a warning.
func Pool(a *answer.Answer, trials []result.Trial, open func(name string) (io.ReadCloser, error)) {
	budget := maxPooled
	for from := 0; from < len(a.Arms); from++ {
		first := a.Arms[from]
		if slices.ContainsFunc(a.Arms[:from],
			func(f figures.Figure) bool { return f.Arm == first.Arm && f.Workload == first.Workload }) {
			continue // done with the arm's first figure in this workload
		}
		good := pooled(trials, first, budget)
		if len(good) == 0 {
			continue
		}
		budget -= len(good)
		read, err := readAll(&Side{Name: first.Arm, Open: open}, good)
		if err != nil {
			a.Warnings = append(a.Warnings, answer.Warning{Code: "histogram-unread", Arm: first.Arm,
				Workload: first.Workload,
				Message:  "there are no pooled quantiles: " + shorten(err.Error())})
			continue
		}
		all := read.pool.Histogram()
		metric, _ := good[0].Distributed()
		for i := range a.Arms {
			f := &a.Arms[i]
			percentile, ok := percentileOf(f.Stat)
			if f.Arm == first.Arm && f.Workload == first.Workload &&
				f.Metric == metric && f.Scope == "" && ok &&
				result.SupportsPercentile(all.Total(), percentile) {
				f.Pooled = new(float64(all.Quantile(percentile)) * nanosecond)
			}
		}
	}
}

// pooled lists the good trials of a figure, if they are at most this many, and all have a histogram of the same kind.
func pooled(trials []result.Trial, of figures.Figure, most int) (good []result.Trial) {
	for i := range trials {
		t := &trials[i]
		if t.Error != "" || t.Arm != of.Arm || t.Workload != of.Workload {
			continue
		}
		if len(good) == most || t.Histogram == "" || len(good) > 0 && t.Definition != good[0].Definition {
			return nil
		}
		good = append(good, *t)
	}
	return good
}

// percentileOf reads a stat such as p99.
func percentileOf(stat string) (float64, bool) {
	digits, ok := strings.CutPrefix(stat, "p")
	if !ok {
		return 0, false
	}
	p, err := strconv.ParseFloat(digits, 64)
	return p, err == nil && p > 0 && p < 100
}
