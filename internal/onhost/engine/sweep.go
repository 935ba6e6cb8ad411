package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// A sweep measures a load at several rates, one after the other. The result is the curve of latency against load.

// sweepPrecision is the largest ratio between a rate that fails and the rate that a bisection finds.
const sweepPrecision = 1.05

// mostBisections limits how many rates a bisection tries.
const mostBisections = 10

// MaxSweepRates limits the rates of a sweep.
const MaxSweepRates = 100

// SweepOptions say what to sweep.
type SweepOptions struct {
	// Run is the load at each rate. Its schedule's arrivals and seed are used, its steps are not.
	Run session.RunOptions
	// Rates are in requests per second, and are measured from the lowest to the highest.
	Rates []float64
	// Objective is what the rate to be found must meet; nil for none.
	Objective *Objective
	// Trials is how many measurements decide a rate of the search, by their majority. 0 and 1 are one.
	Trials int
	// Measure measures at a rate, if it is not Run at this rate.
	Measure func(ctx context.Context, rate float64) (record.Result, error)
}

// GeometricRates are rates from the lowest to the highest, each twice the one before. The last step may be shorter.
func GeometricRates(lowest, highest float64) []float64 {
	var rates []float64
	for r := lowest; r < highest*(1-1e-9) && len(rates) <= MaxSweepRates; r *= 2 {
		rates = append(rates, r)
	}
	return append(rates, highest)
}

// Sweep measures at each rate, and calls each after each point. It stops at the first rate at which requests stay
// unanswered. With an objective it then bisects between the first rate that fails and the rate below it.
func Sweep(ctx context.Context, o SweepOptions, each func(record.Point) error) (record.Sweep, error) {
	if len(o.Rates) < 1 || len(o.Rates) > MaxSweepRates {
		return record.Sweep{}, fmt.Errorf("%d rates: a sweep has from 1 to %d", len(o.Rates), MaxSweepRates)
	}
	if err := o.Validate(); err != nil {
		return record.Sweep{}, err
	}
	s := sweep{options: o, each: each, measure: func(rate float64) (record.Result, error) {
		if o.Measure != nil {
			return o.Measure(ctx, rate)
		}
		return runAt(ctx, o.Run, rate)
	}}
	s.sleeps()
	if err := s.curve(); err != nil {
		return s.record, err
	}
	if o.Objective == nil {
		return s.record, nil
	}
	return s.record, s.find()
}

// runAt measures at one rate.
func runAt(ctx context.Context, o session.RunOptions, rate float64) (record.Result, error) {
	o.Load.Schedule.Steps = []timing.Step{{Rate: rate, Length: o.Params.Duration}}
	o.Live = false
	r, err := Run(ctx, o, Silent{})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("at %.6g/s: %w", rate, err)
	}
	return r, err
}

// Silent is an Observer that ignores everything.
type Silent struct{}

// Start ignores how a measurement starts.
func (Silent) Start(record.Start) error { return nil }

// Interval ignores an interval.
func (Silent) Interval(record.Interval) error { return nil }

// sweep is a running sweep.
type sweep struct {
	options SweepOptions
	each    func(record.Point) error
	measure func(rate float64) (record.Result, error)
	record  record.Sweep
}

// point measures at a rate.
func (s *sweep) point(rate float64, bisected bool) (record.Point, error) {
	r, err := s.measure(rate)
	if err != nil {
		return record.Point{}, err
	}
	value := func(name, stat string) *float64 {
		if v, found := metric(r, name, stat); found {
			return &v
		}
		return nil
	}
	times := func(name string) record.PointTimes {
		return record.PointTimes{P50: value(name, result.P50), P99: value(name, result.P99), P999: value(name,
			result.P999)}
	}
	p := record.Point{Rate: rate, Bisected: bisected, Response: times(result.ResponseTime),
		Service:     times(result.ServiceTime),
		LatenessP99: value(result.SendLateness, result.P99), Loss: value(result.Loss, "")}
	p.Offered, _ = metric(r, result.OfferedRate, "")
	p.Achieved, _ = metric(r, result.TransactionRate, "")
	p.Unanswered, _ = metric(r, result.Unanswered, "")
	if s.options.Objective != nil {
		kept, err := s.options.Objective.Kept(r)
		if err != nil {
			return p, fmt.Errorf("at %.6g/s: %w", rate, err)
		}
		p.Kept = &kept
	}
	s.record.Points = append(s.record.Points, p)
	return p, s.each(p)
}

// sleeps adds a note if the sender sleeps between requests at some rates and spins at others.
func (s *sweep) sleeps() {
	p := s.options.Run.Params
	if p.Mode == wire.ModeHTTP || p.WaitOrDefault() == wire.WaitSpin {
		return // at none of them, or at all
	}
	spin := s.options.Run.Load.Spin.Seconds()
	if slices.Min(s.options.Rates)*spin < 1 && slices.Max(s.options.Rates)*spin >= 1 {
		s.record.Notes = append(s.record.Notes, fmt.Sprintf("above %.0f/s the sender never sleeps; below it does, "+
			"and its waking for a reply is part of the times: "+
			"compare across that with --spin %v", 1/spin, session.MaxSpin))
	}
}

// curve measures the rates from the lowest.
func (s *sweep) curve() error {
	for _, rate := range slices.Sorted(slices.Values(s.options.Rates)) {
		p, err := s.point(rate, false)
		if err != nil {
			return err
		}
		if p.Unanswered > 0 {
			s.record.Notes = append(s.record.Notes,
				fmt.Sprintf("at %.6g/s requests stayed unanswered: higher rates are not measured", rate))
			break
		}
	}
	return nil
}

// find bisects for the highest rate that meets the objective, and states the result.
func (s *sweep) find() error {
	objective := s.options.Objective.String()
	s.record.Objective = objective
	points := s.record.Points
	failed := slices.IndexFunc(points, func(p record.Point) bool { return !*p.Kept })
	switch {
	case s.options.Trials > 1 && failed >= 0:
		return s.search(max(failed, 1))
	case failed == 0:
		s.record.Verdict = fmt.Sprintf("even the lowest rate, %.6g/s, does not keep %s", points[0].Rate, objective)
		return nil
	case failed < 0:
		highest := points[len(points)-1].Rate
		s.record.Best = &highest
		s.record.Verdict = fmt.Sprintf("the highest rate, %.6g/s, keeps %s: the limit is higher", highest, objective)
		return nil
	}
	if slices.ContainsFunc(points[failed:], func(p record.Point) bool { return *p.Kept }) {
		s.record.Notes = append(s.record.Notes, "a rate above one that failed kept the objective: the runs are too "+
			"short, or the machine is not quiet")
	}
	low, high := points[failed-1].Rate, points[failed].Rate
	for n := 0; high/low > sweepPrecision && n < mostBisections; n++ {
		middle := math.Sqrt(low * high)
		p, err := s.point(middle, true)
		if err != nil {
			return err
		}
		if *p.Kept {
			low = middle
		} else {
			high = middle
		}
	}
	s.record.Best = &low
	s.record.Verdict = fmt.Sprintf("the highest rate that keeps %s is %.6g/s; %.6g/s does not", objective, low, high)
	return nil
}

// Validate checks the options before anything is measured.
func (o SweepOptions) Validate() error {
	if o.Trials < 0 || o.Trials > MaxTrials {
		return fmt.Errorf("%d trials: write 1 to %d", o.Trials, MaxTrials)
	}
	if o.Trials > 1 && o.Objective == nil {
		return errors.New("several trials decide whether an objective is kept: there is none")
	}
	if o.Objective != nil && o.Objective.metric == result.Loss && o.Run.Params.Protocol != wire.UDP {
		return errors.New("loss is of udp; over tcp nothing is lost")
	}
	for _, rate := range o.Rates {
		run := o.Run
		run.Load.Schedule.Steps = []timing.Step{{Rate: rate, Length: max(run.Params.Duration, time.Nanosecond)}}
		if err := run.Load.Validate(run.Params); err != nil {
			return err
		}
	}
	return nil
}
