package captures

import (
	"nearfar/internal/base/stats"
)

// A Figure is a time of the transactions, in seconds.
type Figure struct {
	// P50 and P99 are percentiles of the transactions of a capture; of several captures, the median of theirs. There is
	// a P99 if at least 10 transactions of each capture are beyond it.
	P50 float64  `json:"p50"`
	P99 *float64 `json:"p99,omitempty"`
	// Mean is the mean of all transactions. Means of segments add up to that of the first point.
	Mean float64 `json:"mean"`
	// Interval contains the median with a confidence of 95 %: over captures, or within the only one.
	Interval *[2]float64 `json:"interval,omitempty"`
	// Captures are the medians of each capture, if there are several.
	Captures []float64 `json:"captures,omitempty"`
}

// parts is into how many consecutive parts a capture is divided for its interval, and leastOfPart how many transactions
// each has at least.
const (
	parts       = 20
	leastOfPart = 5
)

// beyond is how many observations are beyond a percentile that is given.
const beyond = 10

// A summary describes the times of one capture, in seconds.
type summary struct {
	count  int
	median float64
	p99    stats.Quantity
	sum    float64
	within stats.Interval
}

// summarize describes times in nanoseconds, in the order of their transactions.
func summarize(keys []key, of func(key) int64) summary {
	s := summary{count: len(keys)}
	if s.count == 0 {
		return s
	}
	seconds := make([]float64, len(keys))
	for i, k := range keys {
		seconds[i] = float64(of(k)) / 1e9
		s.sum += seconds[i]
	}
	all := stats.Summarize(seconds)
	s.median = all.Median.Value
	if s.count >= beyond*100 {
		s.p99 = all.Quantile(0.99)
	}
	s.within = within(seconds, s.median)
	return s
}

// figure describes all captures; nil if there are no times.
func figure(captures []summary) *Figure {
	var medians, tails []float64
	var f Figure
	count := 0
	for _, s := range captures {
		if s.count == 0 {
			continue
		}
		count += s.count
		f.Mean += s.sum
		medians = append(medians, s.median)
		if s.p99.Known {
			tails = append(tails, s.p99.Value)
		}
	}
	if count == 0 {
		return nil
	}
	f.Mean /= float64(count)
	of := stats.Summarize(medians)
	f.P50 = of.Median.Value
	if len(tails) == len(medians) {
		p99 := stats.Summarize(tails).Median.Value
		f.P99 = &p99
	}
	interval := of.Interval
	if len(captures) == 1 {
		interval = captures[0].within
	} else {
		f.Captures = medians
	}
	if interval.Known {
		f.Interval = &[2]float64{interval.Low, interval.High}
	}
	return &f
}

// within is the interval of a capture's median from those of its consecutive parts: neighbouring transactions depend
// on each other, and parts of the capture far less. It is unknown with too few transactions.
func within(times []float64, median float64) stats.Interval {
	if len(times) < parts*leastOfPart {
		return stats.Interval{}
	}
	var medians []float64
	for i := range parts {
		part := times[len(times)*i/parts : len(times)*(i+1)/parts]
		medians = append(medians, stats.Summarize(part).Median.Value)
	}
	interval := stats.Summarize(medians).Interval
	if interval.Known {
		interval.Low, interval.High = min(interval.Low, median), max(interval.High, median)
	}
	return interval
}
