package contrast

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/answer"
	"nearfar/internal/result"
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
			func(f answer.Figure) bool { return f.Arm == first.Arm && f.Workload == first.Workload }) {
			continue // done with the arm's first figure in this workload
		}
		var good []result.Trial
		for _, t := range trials {
			if t.Error == "" && t.Arm == first.Arm && t.Workload == first.Workload {
				good = append(good, t)
			}
		}
		if len(good) == 0 || len(good) > budget || slices.ContainsFunc(good, func(t result.Trial) bool {
			return t.Histogram == "" || t.Definition != good[0].Definition
		}) {
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
		for i := range a.Arms {
			f := &a.Arms[i]
			percentile, ok := percentileOf(f.Stat)
			if f.Arm == first.Arm && f.Workload == first.Workload &&
				f.Metric == good[0].Definition && f.Scope == "" && ok &&
				result.SupportsPercentile(all.Total(), percentile) {
				v := float64(all.Quantile(percentile)) * nanosecond
				f.Pooled = &v
			}
		}
	}
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
