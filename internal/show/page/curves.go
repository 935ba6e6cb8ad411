package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/base/hdr"
	"nearfar/internal/base/stats"
	"nearfar/internal/declare/result"
)

// percentiles are the points of a curve: p1 to p99 in steps of 1, then finer and finer towards p100, as on
// HdrHistogram's percentile axis.
func percentiles() []float64 {
	var all []float64
	for p := 1; p < 100; p++ {
		all = append(all, float64(p))
	}
	for nines := 1; nines < 7; nines++ {
		rest := 100 / math.Pow(10, float64(nines))
		for _, part := range []float64{0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1} {
			// Rounded to nine digits, so that p99.9 is written as 99.9.
			p, _ := strconv.ParseFloat(strconv.FormatFloat(100-rest*part, 'f', 9, 64), 64)
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// curves gives the distribution of each workload in each arm, where a histogram or percentiles are known.
func (c *collector) curves() []Curve {
	curves := []Curve{}
	grid := percentiles()
	unreadable := 0
	var why error
	for w := range c.experiment.Workloads {
		for arm := range c.experiment.Arms {
			var histograms []distribution
			// As in the answer's medians, first attempts count, and those that failed as the worst.
			trials, failed := c.attempts(w, arm)
			if failed >= len(trials) {
				continue
			}
			metric := distributed(trials)
			for _, t := range trials {
				if t.Histogram == "" {
					continue
				}
				h, err := c.distribution(t.Histogram, grid)
				if err != nil {
					unreadable, why = unreadable+1, err
					continue
				}
				histograms = append(histograms, h)
			}
			curve := Curve{Workload: w, Arm: arm, Metric: metric, Unit: result.Seconds, Trials: len(histograms)}
			if len(histograms) > 0 {
				curve.Points, curve.Inner = histogramPoints(histograms, failed, grid)
			} else {
				curve.Printed = true
				curve.Points, curve.Inner, curve.Trials = printedPoints(trials, failed, metric)
			}
			if len(curve.Points) > 1 {
				curves = append(curves, curve)
			}
		}
	}
	if unreadable > 0 {
		c.note("%d histograms cannot be read: %v", unreadable, why)
	}
	return curves
}

// good gives the trials of a workload in an arm that did not fail.
func (c *collector) good(workload, arm int) []*result.Trial {
	var all []*result.Trial
	for _, t := range c.groups[place{workload, arm}] {
		if t.Error == "" {
			all = append(all, t)
		}
	}
	return all
}

// attempts are the first attempts of a workload in an arm that are good, and how many failed.
func (c *collector) attempts(workload, arm int) (good []*result.Trial, failed int) {
	for _, t := range c.groups[place{workload, arm}] {
		switch {
		case t.Replaces > 0:
		case t.Error != "":
			failed++
		default:
			good = append(good, t)
		}
	}
	return good, failed
}

// distributed is the metric of the trials' histograms.
func distributed(trials []*result.Trial) string {
	if len(trials) > 0 {
		if metric, ok := trials[0].Distributed(); ok {
			return metric
		}
	}
	return result.RTT
}

// distribution is what a curve needs from the histogram of one trial.
type distribution struct {
	// total is the number of observations.
	total int64
	// values are the values at the percentiles of the grid, in seconds.
	values []float64
}

// distribution reads a histogram, and keeps only its values at the percentiles of the grid. All histograms of a run
// together could take gigabytes.
func (c *collector) distribution(name string, grid []float64) (distribution, error) {
	data, size, err := c.files.read(name, hdr.MaxFile+1)
	if err != nil {
		return distribution{}, err
	}
	if size > hdr.MaxFile {
		return distribution{}, fmt.Errorf("%s: longer than %d bytes", name, hdr.MaxFile)
	}
	if err := c.decoder.Decode(data, &c.decoded); err != nil {
		return distribution{}, fmt.Errorf("%s: %w", name, err)
	}
	d := distribution{total: c.decoded.Total()}
	if d.total == 0 {
		return distribution{}, fmt.Errorf("%s: empty", name)
	}
	for _, v := range c.decoded.Quantiles(grid) {
		d.values = append(d.values, float64(v)/1e9)
	}
	return d, nil
}

// histogramPoints gives the spread over the histograms at each percentile for which all of them have enough
// observations, and the part of the histograms that the bands hold.
func histogramPoints(histograms []distribution, failed int, grid []float64) ([]Spread, float64) {
	fewest := int64(math.MaxInt64)
	for _, h := range histograms {
		fewest = min(fewest, h.total)
	}
	var points []Spread
	inner := 1.
	for i, p := range grid {
		if !result.SupportsPercentile(fewest, p) {
			continue
		}
		var at []float64
		for _, h := range histograms {
			at = append(at, h.values[i])
		}
		var s Spread
		s, inner = spread(p, at, failed)
		points = append(points, s)
	}
	return points, inner
}

// printedPoints gives the spread over the trials at each percentile that the tool printed in all of them, the part of
// the trials that the bands hold, and the number of trials.
func printedPoints(trials []*result.Trial, failed int, metric string) ([]Spread, float64, int) {
	at := map[float64][]float64{}
	for _, t := range trials {
		for _, m := range t.Metrics {
			number, isPercentile := strings.CutPrefix(m.Stat, "p")
			if m.Name != metric || m.Scope != "" || !isPercentile {
				continue
			}
			if p, err := strconv.ParseFloat(number, 64); err == nil && p > 0 && p < 100 {
				at[p] = append(at[p], m.Value)
			}
		}
	}
	var points []Spread
	inner := 1.
	for p, values := range at {
		if len(values) == len(trials) {
			var s Spread
			s, inner = spread(p, values, failed)
			points = append(points, s)
		}
	}
	slices.SortFunc(points, func(a, b Spread) int { return int(math.Copysign(1, a.At-b.At)) })
	return points, inner, len(trials)
}

// manyTrials is the number of trials from which on the band leaves out the lowest and the highest tenth.
const manyTrials = 10

// spread gives the median of the values and a band around it, and the part of the values that the band holds: all, or
// 0.8 from manyTrials on. Trials that failed count as the highest in the median, and are not in the band.
func spread(at float64, values []float64, failed int) (Spread, float64) {
	s := stats.Summarize(values)
	all := slices.Clone(values)
	for range failed {
		all = append(all, math.Inf(1))
	}
	if median, _, _ := stats.Rank(all); median.Known {
		s.Median = median
	}
	low, high, inner := s.Min, s.Max, 1.
	if s.Count >= manyTrials {
		low, high, inner = s.Quantile(0.1), s.Quantile(0.9), 0.8
	}
	high.Value = math.Max(high.Value, s.Median.Value)
	return Spread{At: at, Median: rounded(s.Median.Value), Low: rounded(low.Value), High: rounded(high.Value)}, inner
}

// rounded keeps six digits: more than the precision of a histogram, and fewer bytes on the page.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v
	}
	return r
}
