package figures

import (
	"slices"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Quantity identifies a number of a trial.
type Quantity struct {
	Metric string `json:"metric"`
	Stat   string `json:"stat"`
	Unit   string `json:"unit"`
	// Scope is the part of the trial, such as "background"; empty for the whole trial.
	Scope string `json:"scope,omitempty"`
	// BetterIf is the metric's (result.Metric).
	BetterIf string `json:"better_if,omitempty"`
}

// Direction is the better direction of the quantity.
func (q Quantity) Direction() result.Direction { return result.Better(q.Metric, q.BetterIf) }

// Worst is the value that ranks a trial without the quantity behind all others; false if none is.
func (q Quantity) Worst() (float64, bool) { return result.Worst(q.Metric, q.BetterIf) }

// Of finds the quantity's value in a trial.
func (q Quantity) Of(t result.Trial) (float64, bool) { return t.ScopedValue(q.Metric, q.Stat, q.Scope) }

// of is Of without a copy of the trial.
func (q Quantity) of(t *result.Trial) (float64, bool) {
	return t.ScopedValue(q.Metric, q.Stat, q.Scope)
}

// Name names the quantity: "rtt p50", "goodput of the background".
func (q Quantity) Name() string {
	name := strings.TrimSpace(q.Metric + " " + q.Stat)
	if q.Scope != "" {
		name += " of the " + q.Scope
	}
	return name
}

// any says whether the quantity is above 0 in any of the trials.
func (q Quantity) any(trials []result.Trial) bool {
	return slices.ContainsFunc(trials, func(t result.Trial) bool {
		v, ok := q.Of(t)
		return ok && v > 0
	})
}

// quantities lists the numbers of a workload's trials that are reported and compared. For imported results the mean
// comes first: their authors quote it, and some tools print nothing else.
func quantities(e *experiment.Experiment, trials []result.Trial) []Quantity {
	all := Quantities(trials)
	if !e.Imported || len(all) == 0 || all[0].Metric != result.RTT || all[0].Stat == result.Mean {
		return all
	}
	return append(Present(trials, []Quantity{{Metric: result.RTT, Stat: result.Mean, Unit: result.Seconds}}), all...)
}

// Quantities lists the numbers of a workload's trials that are reported and compared, the most informative first.
// They are few, because each further one makes every difference harder to prove.
//
// netperf has the mean, from its transaction rate: its percentiles are whole microseconds and would hide the cost of
// a layer. A load has its response time, which includes the time that a request waited to be sent. One-way messages
// have the rate at which they arrive. A stream has its goodput. Over UDP, a load and a stream also have their loss, and
// other round trips if anything was lost.
func Quantities(trials []result.Trial) []Quantity {
	if len(trials) == 0 {
		return nil
	}
	times := func(metric string, stats ...string) (all []Quantity) {
		for _, stat := range stats {
			all = append(all, Quantity{Metric: metric, Stat: stat, Unit: result.Seconds})
		}
		return Present(trials, all)
	}
	var all, lost []Quantity
	switch {
	case trials[0].Mode == experiment.CommandMode:
		return Present(trials, own(trials))
	case trials[0].Mode == experiment.Messages:
		return Present(trials, []Quantity{rate(result.MessageRate)})
	case result.TimesResponses(trials[0].Definition):
		if all = times(result.ResponseTime, result.P50, result.P99); len(all) == 0 {
			all = times(result.ResponseTime, result.Mean)
		}
		lost = Present(trials, []Quantity{{Metric: result.Loss, Unit: result.One}})
		if errors := (Quantity{Metric: result.ErrorShare, Unit: result.One}); errors.any(trials) {
			lost = Present(trials, []Quantity{errors})
		}
	case trials[0].Tool.Name != "netperf":
		all = times(result.RTT, result.P50, result.P99)
	}
	if len(all) == 0 {
		all = times(result.RTT, result.Mean)
	}
	// Response times of other tools have definitions of their own.
	if len(all) == 0 {
		all = times(result.ResponseTime, result.P50, result.P99)
	}
	if len(all) == 0 {
		all = times(result.ResponseTime, result.Mean)
	}
	if len(all) > 0 && !smoothed(trials) {
		if loss := (Quantity{Metric: result.Loss, Unit: result.One}); len(lost) == 0 && loss.any(trials) {
			lost = Present(trials, []Quantity{loss})
		}
		return append(all, lost...)
	}
	return Present(trials, []Quantity{
		{Metric: result.Goodput, Unit: result.BitsPerSecond},
		{Metric: result.Loss, Unit: result.One},
		rate(result.TransactionRate),
		rate(result.MessageRate),
		{Metric: result.ConnectTime, Stat: result.P50, Unit: result.Seconds},
		{Metric: result.ConnectTime, Stat: result.P99, Unit: result.Seconds},
	})

}

// own lists the figures of a program of the experiment's own: those that have one value a trial, and of observations
// the median and the slowest, or the mean if there are too few for a median.
func own(trials []result.Trial) (all []Quantity) {
	known := map[Quantity]bool{}
	var means []Quantity
	for i := range trials {
		for _, m := range trials[i].Metrics {
			q := Quantity{Metric: m.Name, Stat: m.Stat, Unit: m.Unit, BetterIf: m.BetterIf.String()}
			if m.Scope != "" || known[q] || !result.IsOwnName(m.Name) {
				continue
			}
			known[q] = true
			switch m.Stat {
			case "", result.P50, result.P99:
				all = append(all, q)
			case result.Mean:
				means = append(means, q)
			}
		}
	}
	for _, mean := range means {
		median := mean
		if median.Stat = result.P50; !known[median] {
			all = append(all, mean)
		}
	}
	return all
}

// Beside lists further numbers that are reported but not compared, because the others cannot be judged without them.
// A load has the achieved rate, messages over UDP have their loss, and a background has its goodput.
func Beside(trials []result.Trial) []Quantity {
	if len(trials) == 0 {
		return nil
	}
	var all []Quantity
	switch {
	case result.TimesResponses(trials[0].Definition):
		all = append(all, rate(result.TransactionRate))
		if trials[0].Definition == result.DefinitionHTTP {
			for _, phase := range []string{result.LookupTime, result.ConnectTime, result.TLSTime, result.FirstByteTime,
				result.RestTime} {
				all = append(all, Quantity{Metric: phase, Stat: result.P50, Unit: result.Seconds})
			}
		}
		if trials[0].Definition == result.DefinitionPage {
			all = append(all, Quantity{Metric: result.PageQueryTime, Stat: result.P50, Unit: result.Seconds},
				Quantity{Metric: result.PageQueries, Unit: result.One})
		}
	case trials[0].Mode == experiment.Messages:
		all = append(all, Quantity{Metric: result.Loss, Unit: result.One})
	}
	if len(all) == 0 && len(Present(trials, []Quantity{
		{Metric: result.ResponseTime, Stat: result.Mean, Unit: result.Seconds},
	})) > 0 {
		all = append(all, rate(result.TransactionRate))
	}
	for _, scope := range []string{result.Background, result.Background + " " + experiment.Upload, result.Background +
		" " + experiment.Download} {
		all = append(all, Quantity{Metric: result.Goodput, Unit: result.BitsPerSecond, Scope: scope})
	}
	return Present(trials, all)
}

// Present keeps the quantities that at least half of the trials of some arm have. If no arm has it, the trials are
// too short for it. If one has it, trials of another arm that lack it count as the worst (Ranking).
func Present(trials []result.Trial, candidates []Quantity) []Quantity {
	of := map[string]int{}
	for i := range trials {
		of[trials[i].Arm]++
	}
	return slices.DeleteFunc(candidates, func(q Quantity) bool {
		with := map[string]int{}
		for i := range trials {
			if _, ok := q.of(&trials[i]); ok {
				with[trials[i].Arm]++
			}
		}
		for arm, n := range with {
			if 2*n >= of[arm] {
				return false
			}
		}
		return true
	})
}

func rate(metric string) Quantity { return Quantity{Metric: metric, Unit: result.PerSecond} }

// smoothed says whether the round-trip times are the kernel's smoothed ones. A stream produces them as a by-product
// and does not measure them.
func smoothed(trials []result.Trial) bool {
	return slices.ContainsFunc(trials, func(t result.Trial) bool {
		// A stream over UDP has no smoothed times, and can be the first trial.
		return t.Definition == result.DefinitionSmoothedRTT &&
			(t.Mode == experiment.Stream || trials[0].Definition == t.Definition)
	})
}
