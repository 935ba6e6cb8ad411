package inside

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/stats"
	"nearfar/internal/declare/inside"
	"nearfar/internal/declare/result"
)

const (
	nanosecond = 1e-9 // seconds
	// mostSlow is how many of the slowest trips are told one by one.
	mostSlow = 10
	// mostProblems is how many different problems of an arm are told.
	mostProblems = 4
)

// armSeen is what was seen of an arm, by side, in the order both, client, server.
type armSeen struct {
	trials   []result.Trial // the good watched ones
	sides    []side
	problems []Problem
}

// side is what one kernel saw of an arm, over its trials.
type side struct {
	name     string
	trials   []seen
	path     []inside.Step // that of most trips
	key      string        // of the path
	share    float64
	paths    int
	complete int
}

// seen is what one kernel saw of one trial. Its recording is not kept, because it is large.
type seen struct {
	trial, block int
	counts       inside.Recording // without paths
	ways         map[string]*way
	// whole is the median time of all trips, and mean their mean.
	whole, mean float64
	slow        []slowTrip
	causes      map[inside.Cause]int
}

// way is a path of one trial.
type way struct {
	steps []inside.Step
	trips int
	// medians and p99s are of each step; p99s is nil with too few trips.
	medians, p99s []float64
	// whole is the median time of the trips.
	whole float64
}

// slowTrip is a slow trip and its path.
type slowTrip struct {
	Slowest
	key   string
	spans []float64
}

// see reads the recordings of an arm.
func (in Input) see(arm string) armSeen {
	var all armSeen
	for _, t := range in.Trials {
		if t.Arm != arm || t.Workload != in.Watched || t.Error != "" {
			continue
		}
		all.trials = append(all.trials, t)
		if len(t.Inside) == 0 {
			all.problem("", "there is no recording")
		}
		for _, name := range t.Inside {
			r, err := in.read(name)
			switch {
			case err != nil:
				all.problem("", "the recording cannot be read: "+clean.Line(err.Error()))
			case r.Problem != "":
				all.problem(r.Side, r.Problem)
			case r.Complete == 0 || len(r.Paths) == 0:
				all.problem(r.Side, fmt.Sprintf("no round trip was seen whole, of %d that were followed", r.Sampled))
			default:
				all.add(t, r)
			}
		}
	}
	slices.SortStableFunc(all.sides, func(a, b side) int { return rankOf(a.name) - rankOf(b.name) })
	for i := range all.sides {
		all.sides[i].choose()
	}
	return all
}

func rankOf(side string) int {
	return slices.Index([]string{inside.Both, inside.Client, inside.Server}, side)
}

// read reads a recording.
func (in Input) read(name string) (r *inside.Recording, err error) {
	f, err := in.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, inside.MaxSize+1))
	if err != nil {
		return nil, err
	}
	return inside.Decode(data)
}

// problem counts a trial of which nothing is known.
func (s *armSeen) problem(side, text string) {
	for i := range s.problems {
		if p := &s.problems[i]; p.Side == side && p.Text == text {
			p.Trials++
			return
		}
	}
	if last := len(s.problems) - 1; len(s.problems) == mostProblems {
		s.problems[last] = Problem{Text: "other problems", Trials: s.problems[last].Trials + 1}
		return
	}
	s.problems = append(s.problems, Problem{Side: side, Text: text, Trials: 1})
}

// add sums up a recording.
func (s *armSeen) add(t result.Trial, r *inside.Recording) {
	i := slices.IndexFunc(s.sides, func(one side) bool { return one.name == r.Side })
	if i < 0 {
		i = len(s.sides)
		s.sides = append(s.sides, side{name: r.Side})
	}
	one := seen{trial: t.Trial, block: t.Block, counts: *r, ways: map[string]*way{}, causes: map[inside.Cause]int{}}
	one.counts.Paths = nil
	var took []float64
	for _, p := range r.Paths {
		if len(p.Trips) == 0 {
			continue
		}
		key := inside.Key(p.Steps)
		if one.ways[key] != nil {
			continue // a recording has each path once
		}
		one.ways[key] = wayOf(p)
		for _, trip := range p.Trips {
			took = append(took, float64(trip.Took())*nanosecond)
			one.slowTrip(t.Trial, key, p.Steps, trip)
		}
	}
	if len(took) == 0 {
		s.problem(r.Side, "no round trip was seen whole")
		return
	}
	one.whole = quantile(took, 50)
	for _, v := range took {
		one.mean += v / float64(len(took))
	}
	s.sides[i].trials = append(s.sides[i].trials, one)
}

// slowTrip keeps a trip if it is one of the slowest, and counts its cause.
func (s *seen) slowTrip(trial int, key string, steps []inside.Step, trip inside.Trip) {
	if trip.Cause != "" {
		s.causes[trip.Cause]++
	}
	took := float64(trip.Took()) * nanosecond
	if len(s.slow) == mostSlow && took <= s.slow[mostSlow-1].Took {
		return
	}
	slow := slowTrip{Slowest: Slowest{Trial: trial, Took: took, Cause: trip.Cause}, key: key}
	if trip.Cause != "" {
		slow.At, slow.Excess = new(steps[trip.Step]), float64(trip.Excess)*nanosecond
	}
	for _, span := range trip.Spans {
		slow.spans = append(slow.spans, float64(span)*nanosecond)
	}
	s.slow = slowestOf(append(s.slow, slow))
}

// slowestOf gives the slowest trips, the slowest first.
func slowestOf(trips []slowTrip) []slowTrip {
	slices.SortStableFunc(trips, func(a, b slowTrip) int {
		switch {
		case a.Took > b.Took:
			return -1
		case a.Took < b.Took:
			return 1
		}
		return a.Trial - b.Trial
	})
	return trips[:min(len(trips), mostSlow)]
}

// wayOf sums up the trips of a path.
func wayOf(p inside.Path) *way {
	w := &way{steps: p.Steps, trips: len(p.Trips)}
	took := make([]float64, 0, len(p.Trips))
	for _, trip := range p.Trips {
		took = append(took, float64(trip.Took())*nanosecond)
	}
	w.whole = quantile(took, 50)
	supported := result.SupportsPercentile(int64(len(p.Trips)), 99)
	for i := range p.Steps {
		spans := make([]float64, 0, len(p.Trips))
		for _, trip := range p.Trips {
			spans = append(spans, float64(trip.Spans[i])*nanosecond)
		}
		w.medians = append(w.medians, quantile(spans, 50))
		if supported {
			w.p99s = append(w.p99s, quantile(spans, 99))
		}
	}
	return w
}

// quantile is the percentile of values, which it sorts: the middle of two for a median between them, else the smallest
// value that is not below the percentile.
func quantile(values []float64, percentile float64) float64 {
	slices.Sort(values)
	n := len(values)
	if percentile == 50 && n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[min(n-1, max(0, int(math.Ceil(percentile/100*float64(n)))-1))]
}

// choose chooses the path that most trips took.
func (s *side) choose() {
	trips, steps := map[string]int{}, map[string][]inside.Step{}
	for _, t := range s.trials {
		for key, w := range t.ways {
			trips[key] += w.trips
			steps[key] = w.steps
			s.complete += w.trips
		}
	}
	best := ""
	for key, n := range trips {
		if best == "" || n > trips[best] || n == trips[best] && key < best {
			best = key
		}
	}
	s.path, s.key, s.paths = steps[best], best, len(trips)
	if s.complete > 0 {
		s.share = float64(trips[best]) / float64(s.complete)
	}
}

// values gives a number of each trial that took the path.
func (s side) values(of func(w *way) float64) []stats.Value {
	var all []stats.Value
	for _, t := range s.trials {
		if w := t.ways[s.key]; w != nil {
			all = append(all, stats.Value{Block: t.block, Value: of(w)})
		}
	}
	return all
}

// Estimate is the median of values with its interval.
func Estimate(values []stats.Value) *Measure {
	return measureOf(stats.EstimateLevel(stats.Numbers(values), 1))
}
