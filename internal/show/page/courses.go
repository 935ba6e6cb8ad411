package page

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"nearfar/internal/declare/result"
)

// Limits on the intervals that are read for one trial.
const (
	maxIntervals    = 3600
	maxIntervalFile = 8 << 20 // bytes
)

// part is what a tool printed about one interval of a trial. Start and end are in seconds since the window began.
type part struct {
	start, end float64
	values     map[course]float64
}

// course names a statistic that a tool prints at intervals.
type course struct{ metric, stat, unit string }

// courses gives statistics over the time within trials, for tools that print them at intervals.
func (c *collector) courses() []Course {
	all := []Course{}
	for w := range c.experiment.Workloads {
		for arm := range c.experiment.Arms {
			var trials [][]part
			for _, t := range c.good(w, arm) {
				if parts := c.parts(t); len(parts) > 1 {
					trials = append(trials, parts)
				}
			}
			for _, what := range statistics(trials) {
				if k := courseOf(trials, what); len(k.Points) > 1 {
					k.Workload, k.Arm = w, arm
					all = append(all, k)
				}
			}
		}
	}
	return all
}

// statistics lists the statistics of the intervals, in a fixed order.
func statistics(trials [][]part) []course {
	seen := map[course]bool{}
	for _, parts := range trials {
		for _, p := range parts {
			for what := range p.values {
				seen[what] = true
			}
		}
	}
	var all []course
	for what := range seen {
		all = append(all, what)
	}
	slices.SortFunc(all, func(a, b course) int {
		return strings.Compare(a.metric+"\x00"+a.stat, b.metric+"\x00"+b.stat)
	})
	return all
}

// courseOf gives a statistic's spread over the trials, for each interval that at least half of the trials have.
func courseOf(trials [][]part, what course) Course {
	k := Course{Metric: what.metric, Stat: what.stat, Unit: what.unit, Trials: len(trials), Inner: 1}
	for i := range maxIntervals {
		var values, middles []float64
		for _, parts := range trials {
			if i >= len(parts) {
				continue
			}
			if v, ok := parts[i].values[what]; ok {
				values = append(values, v)
				middles = append(middles, (parts[i].start+parts[i].end)/2)
			}
		}
		if 2*len(values) < len(trials) || len(values) == 0 {
			break
		}
		s, inner := spread(0, values, 0)
		middle, _ := spread(0, middles, 0)
		s.At = middle.Median
		k.Inner = inner
		k.Points = append(k.Points, s)
	}
	return k
}

// parts reads the intervals of a trial. It gives none if the tool does not print intervals.
func (c *collector) parts(t *result.Trial) []part {
	const output = ".client.out"
	i := slices.IndexFunc(t.Raw, func(name string) bool {
		return strings.HasSuffix(name, output) && !strings.HasSuffix(name, "."+result.Background+output)
	})
	if i < 0 || t.Tool.Name != "native" && t.Tool.Name != "http" && t.Tool.Name != "app" && t.Tool.Name != "iperf3" {
		return nil
	}
	data, size, err := c.files.read(t.Raw[i], maxIntervalFile)
	if err != nil {
		return nil // the trial's record on the page has the error
	}
	if t.Tool.Name == "iperf3" {
		if size > maxIntervalFile {
			return nil
		}
		return iperf3Parts(data)
	}
	return nativeParts(data)
}

// nativeParts reads the interval lines of the native engine (docs/engine.md).
func nativeParts(data []byte) []part {
	var parts []part
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(line, []byte(`{"type":"interval"`)) {
			continue
		}
		var i struct {
			Start float64 `json:"start_seconds"`
			End   float64 `json:"end_seconds"`
			Count int64   `json:"count"`
			P50   float64 `json:"rtt_p50"`
			P99   float64 `json:"rtt_p99"`
			// Response has the response times of an open-loop load.
			Response *struct {
				P50 float64 `json:"p50"`
				P99 float64 `json:"p99"`
			} `json:"response_time"`
			Goodput     float64 `json:"goodput"`
			MessageRate float64 `json:"message_rate"`
		}
		if json.Unmarshal(line, &i) != nil {
			continue
		}
		p := part{start: i.Start, end: i.End, values: map[course]float64{}}
		switch {
		case i.Response != nil:
			p.times(result.ResponseTime, i.Count, i.Response.P50, i.Response.P99)
		case i.P50 > 0:
			p.times(result.RTT, i.Count, i.P50, i.P99)
		case i.MessageRate > 0:
			p.values[course{result.MessageRate, "", result.PerSecond}] = i.MessageRate
		default:
			p.values[course{result.Goodput, "", result.BitsPerSecond}] = i.Goodput
		}
		if parts = p.addTo(parts); len(parts) == maxIntervals {
			break
		}
	}
	return parts
}

// times adds the percentiles for which there are enough observations.
func (p part) times(metric string, count int64, p50, p99 float64) {
	if result.SupportsPercentile(count, 50) {
		p.values[course{metric, result.P50, result.Seconds}] = p50
	}
	if result.SupportsPercentile(count, 99) {
		p.values[course{metric, result.P99, result.Seconds}] = p99
	}
}

// addTo adds the part, unless its times are invalid or not in order. An interval of less than half the length of the
// first is left out too: it is the rest of the window, and has too few observations.
func (p part) addTo(parts []part) []part {
	if !(p.start >= 0 && p.end > p.start) || math.IsInf(p.end, 0) {
		return parts
	}
	if n := len(parts); n > 0 && (p.start < parts[n-1].start || p.end-p.start < 0.5*(parts[0].end-parts[0].start)) {
		return parts
	}
	for what, v := range p.values {
		if !(v >= 0) || math.IsInf(v, 0) {
			delete(p.values, what)
		}
	}
	return append(parts, p)
}

// iperf3Parts reads the intervals of iperf3's JSON.
func iperf3Parts(data []byte) []part {
	var printed struct {
		Intervals []struct {
			Sum struct {
				Start         float64 `json:"start"`
				End           float64 `json:"end"`
				BitsPerSecond float64 `json:"bits_per_second"`
				Omitted       bool    `json:"omitted"`
			} `json:"sum"`
		} `json:"intervals"`
	}
	if json.Unmarshal(data, &printed) != nil {
		return nil
	}
	var parts []part
	for _, i := range printed.Intervals {
		if i.Sum.Omitted {
			continue
		}
		p := part{start: i.Sum.Start, end: i.Sum.End, values: map[course]float64{
			{result.Goodput, "", result.BitsPerSecond}: i.Sum.BitsPerSecond,
		}}
		if parts = p.addTo(parts); len(parts) == maxIntervals {
			break
		}
	}
	return parts
}
