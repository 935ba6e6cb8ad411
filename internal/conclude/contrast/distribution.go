package contrast

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"

	"nearfar/internal/base/hdr"
	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// percentiles are the percentiles at which distributions are compared.
func percentiles() []float64 { return []float64{50, 90, 99, 99.9, 99.99, 99.999} }

const nanosecond = 1e-9

// distributions compares the pairs whose trials all have a histogram. Unreadable histograms give warnings.
func (c *Contrast) distributions() ([]figures.Distribution, []answer.Warning) {
	var all []figures.Distribution
	var unread []answer.Warning
	for i := range c.Pairs {
		p := &c.Pairs[i]
		metric, ok := c.histograms(p)
		if !ok {
			continue
		}
		base, err := readAll(c.Base, p.base.good)
		var other *measured
		if err == nil {
			other, err = readAll(c.New, p.new.good)
		}
		if err == nil {
			base.addFailed(p.base.attempts)
			other.addFailed(p.new.attempts)
		}
		if err != nil {
			unread = append(unread, answer.Warning{Code: "histogram-unread", Arm: p.NewArm, Workload: p.Workload,
				Message: "the distributions are not compared: " + shorten(err.Error())})
			continue
		}
		if base.pool.Histogram().Total() > 0 && other.pool.Histogram().Total() > 0 {
			all = append(all, contrastOf(p, metric, base, other))
		}
	}
	return all, unread
}

// histograms says whether all good trials of both sides have a histogram, and of which metric.
func (c *Contrast) histograms(p *Pair) (metric string, ok bool) {
	if p.Missing != "" || p.Refused != "" || c.Base.Open == nil || c.New.Open == nil {
		return "", false
	}
	for _, g := range []group{p.base, p.new} {
		for _, t := range g.good {
			if t.Histogram == "" {
				return "", false
			}
		}
	}
	return p.new.good[0].Distributed()
}

// measured holds the quantiles of a group's histograms.
type measured struct {
	// values has the quantiles of each first attempt, in seconds with its block, by percentile. If it failed, or does not
	// support the quantile, its value is infinite, which ranks it as the slowest; missing counts these. pool has all good
	// trials, also those that replace failed ones.
	values  map[float64][]stats.Value
	missing map[float64]int
	pool    hdr.Pool
}

// readAll reads the histograms of a group, on all CPUs.
func readAll(s *Side, trials []result.Trial) (*measured, error) {
	workers := min(runtime.GOMAXPROCS(0), len(trials))
	found := make([][]float64, len(trials)) // by trial and percentile, up to the last supported one
	parts := make([]hdr.Pool, workers)
	failures := make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			var d hdr.Decoder
			var h hdr.Histogram
			buffer := make([]byte, 0, 1<<16)
			for i := w; i < len(trials) && failures[w] == nil; i += workers {
				var err error
				if buffer, err = readFile(s, trials[i].Histogram, buffer[:0]); err == nil {
					err = d.Decode(buffer, &h)
				}
				if err == nil {
					err = parts[w].Add(&h)
				}
				if err != nil {
					failures[w] = fmt.Errorf("%s, trial %d: %w", s.Name, trials[i].Trial, err)
					return
				}
				for _, p := range percentiles() {
					if !result.SupportsPercentile(h.Total(), p) {
						break
					}
					found[i] = append(found[i], float64(h.Quantile(p))*nanosecond)
				}
			}
		})
	}
	wait.Wait()
	m := &measured{values: map[float64][]stats.Value{}, missing: map[float64]int{}}
	for w := range workers {
		if failures[w] != nil {
			return nil, failures[w]
		}
		if err := m.pool.Add(parts[w].Histogram()); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	for i, quantiles := range found {
		if trials[i].Replaces > 0 {
			continue
		}
		for k, p := range percentiles() {
			v := math.Inf(1)
			if k < len(quantiles) {
				v = quantiles[k]
			} else {
				m.missing[p]++
			}
			m.values[p] = append(m.values[p], stats.Value{Block: trials[i].Block, Value: v})
		}
	}
	return m, nil
}

// addFailed adds the attempts that failed.
func (m *measured) addFailed(attempts []result.Trial) {
	for _, t := range attempts {
		if t.Error == "" {
			continue
		}
		for _, p := range percentiles() {
			m.missing[p]++
			m.values[p] = append(m.values[p], stats.Value{Block: t.Block, Value: math.Inf(1)})
		}
	}
}

func readFile(s *Side, name string, buffer []byte) (data []byte, err error) {
	f, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}()
	for {
		if len(buffer) == cap(buffer) {
			buffer = append(buffer, 0)[:len(buffer)]
		}
		n, err := f.Read(buffer[len(buffer):cap(buffer)])
		if buffer = buffer[:len(buffer)+n]; err == io.EOF {
			return buffer, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buffer) > hdr.MaxFile {
			return nil, fmt.Errorf("%s: longer than the %d bytes that are read of a histogram", name, hdr.MaxFile)
		}
	}
}

// contrastOf compares two groups quantile by quantile. A quantile is compared if most trials of both sides support
// it. The others count as the slowest: something that happened in them, such as a stall, left them with few
// observations.
func contrastOf(p *Pair, metric string, base, other *measured) figures.Distribution {
	arm, baseline := other.pool.Histogram(), base.pool.Histogram()
	d := figures.Distribution{
		Arm: p.NewArm, Baseline: p.BaseArm, Workload: p.Workload, Metric: metric, Unit: result.Seconds,
		Trials: [2]int{len(p.new.good), len(p.base.good)}, Observations: [2]int64{arm.Total(), baseline.Total()},
	}
	for _, percentile := range percentiles() {
		q := figures.QuantileComparison{Stat: result.PercentileStat(percentile)}
		if result.SupportsPercentile(min(arm.Total(), baseline.Total()), percentile) {
			q.Pooled = &[2]float64{float64(arm.Quantile(percentile)) * nanosecond,
				float64(baseline.Quantile(percentile)) * nanosecond}
		}
		if lack := [2]int{other.missing[percentile], base.missing[percentile]}; 2*lack[0] < len(p.new.attempts) &&
			2*lack[1] < len(p.base.attempts) {
			if lack != [2]int{} {
				q.Missing = &lack
			}
			a, b := other.values[percentile], base.values[percentile]
			if p.new.runs == nil && p.base.runs == nil { // the blocks of several runs have the same numbers
				a, b = stats.PerBlock(a), stats.PerBlock(b)
			}
			fillQuantile(&q, p, a, b)
		}
		if q.Pooled != nil || q.Difference != nil {
			d.Quantiles = append(d.Quantiles, q)
		}
	}
	share, at := hdr.Farthest(arm, baseline)
	d.Distance = &figures.Distance{Share: share, At: float64(at) * nanosecond}
	return d
}

func fillQuantile(q *figures.QuantileComparison, p *Pair, arm, baseline []stats.Value) {
	var change, relative stats.Estimate
	if p.deployed() {
		// The values have lost their deployments, and blocks are not pooled over deployments: there is no interval.
		change, relative = stats.EstimatePaired(stats.Pair{Arm: arm, Baseline: baseline}, 1)
		change.Interval, relative.Interval = stats.Interval{}, stats.Interval{}
	} else if p.Paired {
		change, relative = stats.EstimatePaired(stats.Pair{Arm: arm, Baseline: baseline}, 1)
	} else {
		samples := stats.Samples{Arm: stats.Numbers(arm), Baseline: stats.Numbers(baseline)}
		change, relative = stats.EstimateSamples(samples, 1)
	}
	// Fewer than half of each side are missing: both sides have a median.
	ofArm, _, _ := stats.Rank(stats.Numbers(arm))
	ofBaseline, _, _ := stats.Rank(stats.Numbers(baseline))
	q.Medians = &[2]float64{ofArm.Value, ofBaseline.Value}
	q.Difference, q.Interval = figures.PointerOf(change.Value), figures.IntervalOf(change.Interval)
	q.Relative, q.RelativeInterval = figures.PointerOf(relative.Value), figures.IntervalOf(relative.Interval)
	q.Unbounded = q.Interval.Unbounded()
}
