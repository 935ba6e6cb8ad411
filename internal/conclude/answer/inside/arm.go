package inside

import (
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/inside"
	"nearfar/internal/declare/result"
)

// arm sums up what was seen of an arm.
func (in Input) arm(name string, s armSeen) Arm {
	a := Arm{Arm: name, Trials: len(s.trials), Problems: s.problems, Machines: []Machine{}}
	for _, one := range s.sides {
		if len(one.path) > 0 {
			a.Machines = append(a.Machines, one.machine())
		}
	}
	a.Between = s.between()
	watched := in.reported(s.trials)
	a.Reported = Estimate(watched)
	a.Ratio = in.ratio(s)
	unwatched := in.unwatched(name)
	a.Plain = Estimate(unwatched)
	a.Cost = Difference(watched, unwatched)
	return a
}

// unwatched gives the figure of the tool in the trials of an arm that were not watched.
func (in Input) unwatched(arm string) []stats.Value {
	return in.reported(slices.DeleteFunc(slices.Clone(in.Trials), func(t result.Trial) bool {
		return t.Arm != arm || t.Workload != in.Workload || t.Error != ""
	}))
}

// reported gives the figure of the tool in each trial.
func (in Input) reported(trials []result.Trial) []stats.Value {
	var all []stats.Value
	for _, t := range trials {
		if v, ok := in.Value(t); ok {
			all = append(all, stats.Value{Block: t.Block, Value: v})
		}
	}
	return all
}

// Difference is the difference of two sides that ran in the same blocks.
func Difference(a, b []stats.Value) *Measure {
	change, _ := stats.EstimatePaired(stats.Pair{Arm: stats.PerBlock(a), Baseline: stats.PerBlock(b)}, 1)
	return measureOf(change)
}

// ratio is the sum of the elements, as a share of the round trip that the tool reports: a mean of a mean, and a median
// of a median. The server's machine does not see whole trips.
func (in Input) ratio(s armSeen) *Measure {
	byTrial := map[int]float64{}
	for _, t := range s.trials {
		if v, ok := in.Value(t); ok && v > 0 {
			byTrial[t.Trial] = v
		}
	}
	var all []stats.Value
	for _, one := range s.sides {
		if one.name == inside.Server {
			continue
		}
		for _, t := range one.trials {
			whole := t.whole
			if in.Mean {
				whole = t.mean
			}
			if v, ok := byTrial[t.trial]; ok {
				all = append(all, stats.Value{Block: t.block, Value: whole / v})
			}
		}
	}
	return Estimate(all)
}

// between is the time that neither of two machines spent.
func (s armSeen) between() *Measure {
	served := map[int]float64{}
	for _, one := range s.sides {
		if one.name == inside.Server {
			for _, t := range one.trials {
				served[t.trial] = t.whole
			}
		}
	}
	var all []stats.Value
	for _, one := range s.sides {
		if one.name != inside.Client {
			continue
		}
		away := awayOf(one.path)
		for _, t := range one.trials {
			w := t.ways[one.key]
			if in, ok := served[t.trial]; ok && w != nil && away >= 0 {
				all = append(all, stats.Value{Block: t.block, Value: w.medians[away] - in})
			}
		}
	}
	return Estimate(all)
}

// awayOf is the step of a client's path in which the request has left the machine and the reply is not yet there: the
// last one of the request.
func awayOf(path []inside.Step) int {
	for i, step := range slices.Backward(path) {
		if step.Way == inside.Request {
			return i
		}
	}
	return -1
}

// machine sums up one kernel.
func (s side) machine() Machine {
	m := Machine{Side: s.name, Share: s.share, Paths: s.paths, Elements: []Element{}}
	causes := map[inside.Cause]int{}
	var slow []slowTrip
	for _, t := range s.trials {
		m.Sampled, m.Complete = m.Sampled+t.counts.Sampled, m.Complete+t.counts.Complete
		m.Lost, m.Events = m.Lost+t.counts.Lost, m.Events+t.counts.Events
		for cause, n := range t.causes {
			causes[cause], m.Slow = causes[cause]+n, m.Slow+n
		}
		slow = append(slow, t.slow...)
	}
	whole := s.values(func(w *way) float64 { return w.whole })
	m.Trials, m.Sum = len(whole), Estimate(whole)
	for i, step := range s.path {
		m.Elements = append(m.Elements, s.element(i, step))
	}
	for _, cause := range inside.Causes() {
		if n := causes[cause]; n > 0 {
			m.Causes = append(m.Causes, Cause{cause, n, float64(n) / float64(m.Slow)})
		}
	}
	slices.SortStableFunc(m.Causes, func(a, b Cause) int { return b.Trips - a.Trips })
	for _, trip := range slowestOf(slow) {
		if trip.key == s.key {
			trip.Spans = trip.spans
		}
		m.Slowest = append(m.Slowest, trip.Slowest)
	}
	return m
}

// element is a step of the path.
func (s side) element(i int, step inside.Step) Element {
	e := Element{Step: step}
	if m := Estimate(s.values(func(w *way) float64 { return w.medians[i] })); m != nil {
		e.Measure = *m
	}
	var tails []float64
	for _, t := range s.trials {
		if w := t.ways[s.key]; w != nil && w.p99s != nil {
			tails = append(tails, w.p99s[i])
		}
	}
	if 2*len(tails) >= e.Trials && len(tails) > 0 {
		e.P99 = new(quantile(tails, 50))
	}
	return e
}
