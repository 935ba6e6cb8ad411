package engine

import (
	"fmt"
	"math"
)

// MaxTrials limits how many measurements decide a rate.
const MaxTrials = 25

// search looks for the highest rate that keeps the objective in most of several trials, between the rates of the curve,
// of which the one at failed is the first that did not keep it. The measurements of the curve are the first trials.
//
// It is a search by load classification, as MLRsearch is (draft-ietf-bmwg-mlrsearch): a rate is decided as soon as no
// further trial can change the majority, and the search ends with a lower and an upper bound whose ratio is at most
// sweepPrecision. So it takes at most MaxTrials for each rate of the curve and for each of mostBisections.
func (s *sweep) search(failed int) error {
	var rates []float64
	for _, p := range s.record.Points {
		rates = append(rates, p.Rate)
	}
	lower := failed - 1
	for ; lower >= 0; lower-- {
		kept, err := s.keeps(rates[lower])
		if err != nil {
			return err
		}
		if kept {
			break
		}
	}
	objective := s.record.Objective
	if lower < 0 {
		s.record.Verdict = fmt.Sprintf("even the lowest rate, %.6g/s, does not keep %s in most of %d trials", rates[0],
			objective, s.options.Trials)
		return nil
	}
	low, high := rates[lower], 0.0
	for _, rate := range rates[lower+1:] {
		kept, err := s.keeps(rate)
		if err != nil {
			return err
		}
		if !kept {
			high = rate
			break
		}
		low = rate
	}
	if high == 0 {
		s.record.Best = &low
		s.record.Verdict = fmt.Sprintf("the highest rate, %.6g/s, keeps %s in most of %d trials: the limit is higher", low,
			objective, s.options.Trials)
		return nil
	}
	for n := 0; high/low > sweepPrecision && n < mostBisections; n++ {
		middle := math.Sqrt(low * high)
		kept, err := s.keeps(middle)
		if err != nil {
			return err
		}
		if kept {
			low = middle
		} else {
			high = middle
		}
	}
	s.record.Best, s.record.Upper = &low, &high
	s.record.Verdict = fmt.Sprintf("the highest rate that keeps %s in most of %d trials is %.6g/s; %.6g/s does not",
		objective, s.options.Trials, low, high)
	if from, to := s.doubtful(low, high); from < low || to > high {
		s.record.Doubtful = &[2]float64{from, to}
		s.record.Verdict += fmt.Sprintf(". From %.6g/s on single trials missed it, and up to %.6g/s single ones kept it",
			from, to)
	}
	return nil
}

// keeps says whether most of the trials at a rate keep the objective. It measures until that is decided.
func (s *sweep) keeps(rate float64) (bool, error) {
	kept, missed := 0, 0
	for _, p := range s.record.Points {
		switch {
		case p.Rate != rate:
		case *p.Kept:
			kept++
		default:
			missed++
		}
	}
	for most := s.options.Trials / 2; kept <= most && missed <= most; {
		p, err := s.point(rate, true)
		if err != nil {
			return false, err
		}
		if *p.Kept {
			kept++
		} else {
			missed++
		}
	}
	return kept > missed, nil
}

// doubtful is the range of rates in which the outcome of a single trial is chance: from the lowest rate that any trial
// missed to the highest that any kept, and at least the two bounds.
func (s *sweep) doubtful(low, high float64) (from, to float64) {
	from, to = low, high
	for _, p := range s.record.Points {
		if *p.Kept {
			to = max(to, p.Rate)
		} else {
			from = min(from, p.Rate)
		}
	}
	return from, to
}
