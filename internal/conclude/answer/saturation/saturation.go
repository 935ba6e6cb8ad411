// Package saturation says how much an arm carries, from workloads that differ only in the offered rate: the rate at
// which it saturates, response times at fractions of that, and the highest rate that keeps an objective. It knows no
// verdicts, and puts nothing into words.
package saturation

import (
	"cmp"
	"math"
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Saturation is what the arms carry in a sweep: workloads that differ only in the offered rate. Rates are in requests
// per second, times in seconds. The block is the unit: each gives one value, and figures are medians over blocks with
// intervals of 95 % confidence each.
type Saturation struct {
	// Workloads are those of the sweep and Rates what they offer, from the lowest.
	Workloads []string  `json:"workloads"`
	Rates     []float64 `json:"rates"`
	Arms      []Arm     `json:"arms"`
}

// Arm is what an arm carries.
type Arm struct {
	Arm string `json:"arm"`
	// Blocks is how many blocks have all rates.
	Blocks int `json:"blocks"`
	// Knee is the rate at which the arm saturates: what it answers of more than it can.
	Knee Rate `json:"knee"`
	// Change is the knee relative to the baseline's, paired within blocks; null for the baseline and where it is not
	// known.
	Change *Estimate `json:"change"`
	// At has response times at fractions of the median knee, as far as they lie within the rates of the sweep.
	At []At `json:"at"`
	// Keeps has for each objective the highest rate that keeps it.
	Keeps []Keeps `json:"keeps,omitempty"`
}

// Rate is a rate that a sweep looks for. Value is null if it lies beyond the sweep in half of the blocks or more:
// Beyond is then "above" its highest rate, or "below" its lowest. An end of the interval that lies beyond is null.
type Rate struct {
	Value    *float64         `json:"value"`
	Interval figures.Interval `json:"interval"`
	Beyond   string           `json:"beyond,omitempty"`
}

// The values of Rate.Beyond.
const (
	Above = "above"
	Below = "below"
)

// Estimate is a figure with its interval.
type Estimate struct {
	Value    float64          `json:"value"`
	Interval figures.Interval `json:"interval"`
}

// At is the response time at a fraction of the knee.
type At struct {
	Fraction float64 `json:"fraction"`
	Rate     float64 `json:"rate"`
	Stat     string  `json:"stat"`
	Estimate
}

// Keeps is the highest rate that keeps an objective: up to it, every rate of the sweep does whose trials have enough
// requests for the figure. The rate is empty if most blocks do not say.
type Keeps struct {
	figures.Quantity
	// Bound is what values must stay below.
	Bound float64 `json:"bound"`
	Rate  Rate    `json:"rate"`
}

// Limit is a limit of an objective: values of the quantity must stay below it.
type Limit struct {
	figures.Quantity
	Bound float64
	// Workload is the workload that the objective names.
	Workload string
}

// kept is the share of an offered rate from which on it counts as answered, and fractions are those of the knee at
// which response times are told.
const kept = 0.99

// underWay is how many requests less than offered count as answered all the same: one can be under way when a trial
// ends, and half a one is for rounding. Of the few requests of a short trial that is more than 1 %.
const underWay = 1.5

// answeredFrom is what is answered at least if the rate of a workload is.
func answeredFrom(w experiment.Workload) float64 {
	least := kept * w.OfferedRate
	if seconds := w.Duration.Seconds(); seconds > 0 {
		least = min(least, w.OfferedRate-underWay/seconds)
	}
	return least
}

func fractions() []float64 { return []float64{0.5, 0.8, 0.9} }

// Of finds the sweeps of a run, and what the arms carry in each. A sweep has three rates or more. Runs without blocks,
// and those whose hosts are made several times, have none: the block is the unit here.
func Of(e *experiment.Experiment, trials []result.Trial, limits []Limit, anyTime bool) []Saturation {
	if e.Unpaired() || figures.Deployed(e) || e.SelfComparison != nil {
		return nil
	}
	var all []Saturation
	for _, sweep := range sweepsOf(e) {
		s := Saturation{Arms: []Arm{}}
		var own []Limit
		for _, w := range sweep {
			s.Workloads, s.Rates = append(s.Workloads, w.Name), append(s.Rates, w.OfferedRate)
			for _, l := range limits {
				if l.Workload == w.Name && !slices.ContainsFunc(own, func(o Limit) bool {
					return o.Quantity == l.Quantity && o.Bound == l.Bound
				}) {
					own = append(own, l)
				}
			}
		}
		var baseline []stats.Value
		for _, arm := range inOrder(e) {
			blocks := blocksOf(sweep, arm, trials)
			if len(blocks) == 0 {
				continue
			}
			a, knees := armOf(arm, blocks, own, anyTime)
			if arm == e.Baseline {
				baseline = knees
			} else {
				a.Change = change(knees, baseline, anyTime)
			}
			s.Arms = append(s.Arms, a)
		}
		if len(s.Arms) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// inOrder are the arms with the baseline first.
func inOrder(e *experiment.Experiment) []string {
	names := []string{e.Baseline}
	for _, a := range e.Arms {
		if a.Name != e.Baseline {
			names = append(names, a.Name)
		}
	}
	return names
}

// fewestRates is the smallest number of rates that make a sweep.
const fewestRates = 3

// sweepsOf groups the workloads that differ only in the offered rate, each from the lowest rate. Arms that set a rate
// have no sweep in common with the others, so those workloads are left out.
func sweepsOf(e *experiment.Experiment) [][]experiment.Workload {
	var sweeps [][]experiment.Workload
	for _, w := range e.Workloads {
		if w.OfferedRate <= 0 || !experiment.Offers(w.Mode) || setAnywhere(e, w.Name) {
			continue
		}
		i := slices.IndexFunc(sweeps, func(s []experiment.Workload) bool { return s[0].SameButRate(w) })
		if i < 0 {
			sweeps, i = append(sweeps, nil), len(sweeps)
		}
		sweeps[i] = append(sweeps[i], w)
	}
	for _, s := range sweeps {
		slices.SortStableFunc(s, func(x, y experiment.Workload) int { return cmp.Compare(x.OfferedRate, y.OfferedRate) })
	}
	return slices.DeleteFunc(sweeps, func(s []experiment.Workload) bool {
		return len(slices.CompactFunc(slices.Clone(s), func(x, y experiment.Workload) bool {
			return x.OfferedRate == y.OfferedRate
		})) < fewestRates
	})
}

// setAnywhere says that an arm sets the rate of a workload.
func setAnywhere(e *experiment.Experiment, workload string) bool {
	return slices.ContainsFunc(e.Arms, func(a experiment.Arm) bool {
		_, set := e.SetIn(a.Name, workload)["rate"]
		return set
	})
}

// block has the trials of a sweep in one block of an arm, by rates.
type block struct {
	number int
	rates  []float64
	least  []float64 // what is answered at least of a rate that is answered
	trials []*result.Trial
}

// blocksOf are the blocks that have a good first attempt at every rate.
func blocksOf(sweep []experiment.Workload, arm string, trials []result.Trial) []block {
	var rates, least []float64
	for _, w := range sweep {
		rates, least = append(rates, w.OfferedRate), append(least, answeredFrom(w))
	}
	by := map[int]*block{}
	for i := range trials {
		t := &trials[i]
		at := slices.IndexFunc(sweep, func(w experiment.Workload) bool { return w.Name == t.Workload })
		if at < 0 || t.Arm != arm || t.Error != "" || t.Replaces != 0 {
			continue
		}
		b := by[t.Block]
		if b == nil {
			b = &block{t.Block, rates, least, make([]*result.Trial, len(rates))}
			by[t.Block] = b
		}
		if b.trials[at] == nil {
			b.trials[at] = t
		}
	}
	var all []block
	for _, b := range by {
		if !slices.Contains(b.trials, nil) {
			all = append(all, *b)
		}
	}
	slices.SortFunc(all, func(x, y block) int { return cmp.Compare(x.number, y.number) })
	return all
}

// armOf says what an arm carries, and gives the knee of each block.
func armOf(name string, blocks []block, limits []Limit, anyTime bool) (Arm, []stats.Value) {
	a := Arm{Arm: name, Blocks: len(blocks), At: []At{}}
	each := func(of func(block) float64) (values []stats.Value) {
		for _, b := range blocks {
			if v := of(b); !math.IsNaN(v) {
				values = append(values, stats.Value{Block: b.number, Value: v})
			}
		}
		return values
	}
	knees := each(block.knee)
	a.Knee = rateOf(knees, anyTime)
	if a.Knee.Value != nil {
		for _, fraction := range fractions() {
			rate := fraction * *a.Knee.Value
			for _, stat := range []string{result.P50, result.P99} {
				times := each(func(b block) float64 { return b.timeAt(rate, stat) })
				if v, interval := middle(times, anyTime); 2*len(times) > len(blocks) && v.Known {
					a.At = append(a.At, At{fraction, rate, stat, Estimate{v.Value, figures.IntervalOf(interval)}})
				}
			}
		}
	}
	for _, l := range limits {
		keeps := Keeps{Quantity: l.Quantity, Bound: l.Bound}
		if rates := each(func(b block) float64 { return b.keeps(l) }); 2*len(rates) > len(blocks) {
			keeps.Rate = rateOf(rates, anyTime)
		}
		a.Keeps = append(a.Keeps, keeps)
	}
	return a, knees
}

// knee is what is answered at the lowest rate from which on no rate of the block is. +Inf if the highest is, and NaN if
// the tool does not say what was answered.
//
// At a rate that is answered, what is answered is what is offered. Beyond, it is the capacity, whatever is offered: a
// figure that does not depend on the rates of the sweep, where these reach beyond it. Far beyond, services can answer
// less than they could, so the first such rate counts.
func (b block) knee() float64 {
	knee := math.Inf(1)
	for i, t := range slices.Backward(b.trials) {
		answered, ok := t.Value(result.TransactionRate, "")
		switch {
		case !ok:
			return math.NaN()
		case answered >= b.least[i]:
			return knee
		}
		knee = answered
	}
	return knee
}

// timeAt is the response time at a rate, on a straight line of logarithms between the two rates around it; NaN outside
// of the rates, or if one of the two has none.
func (b block) timeAt(rate float64, stat string) float64 {
	for i := 1; i < len(b.rates); i++ {
		if rate < b.rates[i-1] || rate > b.rates[i] || b.rates[i] == b.rates[i-1] {
			continue
		}
		low, lowOK := b.trials[i-1].Value(result.ResponseTime, stat)
		high, highOK := b.trials[i].Value(result.ResponseTime, stat)
		if !lowOK || !highOK || low <= 0 || high <= 0 {
			return math.NaN()
		}
		part := math.Log(rate/b.rates[i-1]) / math.Log(b.rates[i]/b.rates[i-1])
		return math.Exp(math.Log(low)*(1-part) + math.Log(high)*part)
	}
	return math.NaN()
}

// keeps is the highest rate that keeps a limit: where the line of logarithms between the last rate that does and the
// first that does not crosses it. -Inf if the lowest rate does not keep the limit, +Inf if all do that say it.
//
// A trial can lack the figure for two reasons. If its rate was not answered, it was too slow for one, so it does not
// keep the limit. If its rate was answered, it had too few requests for the percentile: it says nothing, and the next
// rates tell. NaN if only such rates are below the first that does not keep the limit, or if there are no others.
func (b block) keeps(l Limit) float64 {
	before, last := math.NaN(), -1
	for i, t := range b.trials {
		v, ok := l.Of(*t)
		switch {
		case ok && v < l.Bound:
			before, last = v, i
			continue
		case !ok && b.answers(i):
			continue
		case last < 0 && i > 0:
			return math.NaN()
		case last < 0:
			return math.Inf(-1)
		case !ok || before <= 0:
			return b.rates[last]
		}
		part := math.Log(l.Bound/before) / math.Log(v/before)
		return b.rates[last] * math.Pow(b.rates[i]/b.rates[last], part)
	}
	if last < 0 {
		return math.NaN()
	}
	return math.Inf(1)
}

// answers says that a rate of the block was answered, or that its trial does not say.
func (b block) answers(i int) bool {
	answered, ok := b.trials[i].Value(result.TransactionRate, "")
	return !ok || answered >= b.least[i]
}

// middle is the median of values with its interval.
func middle(values []stats.Value, anyTime bool) (stats.Quantity, stats.Interval) {
	zero := slices.Clone(values)
	for i := range zero {
		zero[i].Value = 0
	}
	// The difference from nothing is the value itself, so the intervals are those of comparisons.
	pair := stats.Pair{Arm: values, Baseline: zero}
	value, _ := stats.EstimatePaired(pair, 1)
	interval, _ := stats.IntervalsAt(pair, stats.Alpha, anyTime)
	return value.Value, interval
}

// rateOf makes a rate of the values of blocks.
func rateOf(values []stats.Value, anyTime bool) Rate {
	v, interval := middle(values, anyTime)
	r := Rate{Value: figures.PointerOf(v), Interval: figures.IntervalOf(interval)}
	if r.Value != nil || len(values) == 0 {
		return r
	}
	above := 0
	for _, v := range values {
		if math.IsInf(v.Value, 1) {
			above++
		}
	}
	r.Beyond = Below
	if 2*above >= len(values) {
		r.Beyond = Above
	}
	return r
}

// change is the relative difference of the knees of an arm; nil if it is not known.
func change(arm, baseline []stats.Value, anyTime bool) *Estimate {
	pair := stats.Pair{Arm: arm, Baseline: baseline}
	_, relative := stats.EstimatePaired(pair, 1)
	if !relative.Value.Known {
		return nil
	}
	_, interval := stats.IntervalsAt(pair, stats.Alpha, anyTime)
	return &Estimate{relative.Value.Value, figures.IntervalOf(interval)}
}
