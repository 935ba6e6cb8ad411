package bisect

import (
	"maps"
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/bisection"
)

// An Outcome is how a bisection ended.
type Outcome string

// The outcomes.
const (
	// Found is one step, and Several are steps that could not be told apart.
	Found   Outcome = "found"
	Several Outcome = "several"
	// Same says that good and bad do not surely differ.
	Same Outcome = "same"
	// Unfinished says that the search was ended, by its budget or by the user, before it could tell.
	Unfinished Outcome = "unfinished"
	// Broken says that good or bad cannot be measured.
	Broken Outcome = "broken"
)

// Result is what a bisection found; its keys are stable.
type Result struct {
	Nearfar string `json:"nearfar"`
	// Directory is that of the bisection.
	Directory string  `json:"directory"`
	Outcome   Outcome `json:"outcome"`
	// Verdict is the answer in words.
	Verdict string `json:"verdict"`
	// First is the first bad step, and Before the last good one; null unless one was found.
	First  *Named `json:"first"`
	Before *Named `json:"before"`
	// Candidates are the steps of which one is the first bad one: all after the last that is known to be good.
	Candidates []Named `json:"candidates"`
	// Alpha is the chance of a wrong step that was asked for, and Risk that of the decisions which were made.
	Alpha float64 `json:"alpha"`
	Risk  float64 `json:"risk"`
	// Good and Bad are the medians of the figure, and Difference is that of bad less good within rounds, with an interval
	// of 95 % that holds at any time; null if there are too few rounds.
	Quantity   figures.Quantity `json:"quantity"`
	Good       *float64         `json:"good"`
	Bad        *float64         `json:"bad"`
	Difference *float64         `json:"difference"`
	Interval   figures.Interval `json:"interval"`
	Rounds     int              `json:"rounds"`
	Visits     int              `json:"visits"`
	Trials     int              `json:"trials"`
	// Wrong is how often good and bad were on the wrong side, judged as the steps are.
	Wrong Share `json:"wrong"`
	// Steps are the steps that were visited, in their order.
	Steps []StepResult `json:"steps"`
	// Notes are what else there is to know, one sentence each.
	Notes []string `json:"notes"`
}

// Named is a step with its place in the list, from 1.
type Named struct {
	Place int `json:"place"`
	bisection.Step
}

// Share is some of all.
type Share struct {
	Some int `json:"some"`
	All  int `json:"all"`
}

// StepResult is what was seen of a step.
type StepResult struct {
	Named
	// Verdict is good, bad, skipped, undecided, or empty for one whose test did not end.
	Verdict Verdict `json:"verdict"`
	// Why is why it was skipped.
	Why    string `json:"why,omitempty"`
	Visits int    `json:"visits"`
	Failed int    `json:"failed"`
	// Median is that of its figures, and Way how much of the way from good to bad it is: 0 is as good, 1 as bad.
	Median *float64 `json:"median"`
	Way    *float64 `json:"way"`
	// Good and Bad count its responses on the two sides; those exactly between are in neither.
	Good int `json:"good"`
	Bad  int `json:"bad"`
	// Risk is the chance of error of its decision; 0 for the ends, which are given.
	Risk float64 `json:"risk"`
}

// Outcome says how the search ended, or what it would say if it ended now.
func (s *Search) Outcome() Outcome {
	switch {
	case s.broken != "":
		return Broken
	case s.sign == 0 && len(s.goods) >= mostApart:
		return Same
	case s.sign == 0:
		return Unfinished
	case s.high-s.low == 1:
		return Found
	case s.middle(s.low, s.high) == 0:
		return Several
	}
	return Unfinished
}

// Of makes the result of a search of these steps, whose figures are of a quantity.
func (s *Search) Of(steps []bisection.Step, q figures.Quantity, trials int) Result {
	r := Result{
		Nearfar: "v1", Outcome: s.Outcome(), Alpha: s.o.Alpha, Risk: s.o.Alpha - s.left, Quantity: q,
		Rounds: len(s.goods), Visits: s.visits, Trials: trials,
		Candidates: []Named{}, Steps: []StepResult{}, Notes: []string{},
		Wrong: Share{s.asGood.bad + s.asGood.between + s.asBad.good + s.asBad.between, s.asGood.all() + s.asBad.all()},
	}
	named := func(i int) Named { return Named{i + 1, steps[i]} }
	r.Good, r.Bad = median(s.steps[0].values), median(s.steps[s.o.Steps-1].values)
	r.Difference, r.Interval = s.difference()
	if r.Outcome == Found || r.Outcome == Several || r.Outcome == Unfinished && s.sign != 0 {
		for i := s.low + 1; i <= s.high; i++ {
			r.Candidates = append(r.Candidates, named(i))
		}
	}
	if r.Outcome == Found {
		first, before := named(s.high), named(s.low)
		r.First, r.Before = &first, &before
	}
	for _, i := range slices.Sorted(maps.Keys(s.steps)) {
		r.Steps = append(r.Steps, s.stepResult(i, named(i), r.Difference))
	}
	r.Verdict = s.verdict(r)
	r.Notes = s.notes(r)
	return r
}

// difference is bad less good within rounds, with the interval that holds whenever somebody stops.
func (s *Search) difference() (*float64, figures.Interval) {
	var pair stats.Pair
	for i := range s.goods {
		pair.Baseline = append(pair.Baseline, stats.Value{Block: i + 1, Value: s.goods[i]})
		pair.Arm = append(pair.Arm, stats.Value{Block: i + 1, Value: s.bads[i]})
	}
	interval, _ := stats.IntervalsAt(pair, stats.Alpha, true)
	if !interval.Known {
		return median(s.step(s.o.Steps - 1).offsets), nil
	}
	return median(s.step(s.o.Steps - 1).offsets), &figures.Bounds{interval.Low, interval.High}
}

func (s *Search) stepResult(i int, n Named, difference *float64) StepResult {
	st := s.steps[i]
	r := StepResult{
		Named: n, Verdict: st.verdict, Why: st.why, Visits: st.visits, Failed: st.failed, Median: median(st.values),
		Good: st.answered.good, Bad: st.answered.bad, Risk: st.level,
	}
	switch i {
	case 0:
		r.Good, r.Bad = s.asGood.good, s.asGood.bad
	case s.o.Steps - 1:
		r.Good, r.Bad = s.asBad.good, s.asBad.bad
	}
	if offset := median(st.offsets); i > 0 && offset != nil && difference != nil && *difference != 0 {
		r.Way = new(*offset / *difference)
	}
	return r
}

// median is the median of values; nil for none.
func median(values []float64) *float64 {
	m, _, _ := stats.Rank(values)
	if !m.Known {
		return nil
	}
	return new(m.Value)
}
