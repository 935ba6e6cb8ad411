package timing

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// How requests are distributed over time.
const (
	// ConstantArrivals have the same time between all requests.
	ConstantArrivals = "constant"
	// PoissonArrivals have exponentially distributed times between requests, like many independent users.
	PoissonArrivals = "poisson"
)

// The limits of a schedule.
const (
	maxSteps    = 1000
	leastRate   = 0.001
	mostOffered = 1e9
)

// MaxDuration limits every length of time that can be asked for.
const MaxDuration = 24 * time.Hour

// A Step is a rate that is offered for some time.
type Step struct {
	// Rate is in requests per second, over all connections.
	Rate   float64
	Length time.Duration
}

// A Schedule says when requests leave. Equal schedules give equal times.
type Schedule struct {
	// Arrivals is ConstantArrivals or PoissonArrivals.
	Arrivals string
	// Steps follow each other.
	Steps []Step
	// Seed is the seed of the random times of PoissonArrivals.
	Seed uint64
}

// Length is how long all steps take together.
func (s Schedule) Length() (sum time.Duration) {
	for _, step := range s.Steps {
		sum += step.Length
	}
	return sum
}

// Validate checks the schedule. Its error says what would be right.
func (s Schedule) Validate() error {
	if s.Arrivals != ConstantArrivals && s.Arrivals != PoissonArrivals {
		return fmt.Errorf("arrivals %q: the engine has %s and %s", s.Arrivals, ConstantArrivals, PoissonArrivals)
	}
	if len(s.Steps) < 1 || len(s.Steps) > maxSteps {
		return fmt.Errorf("%d steps of rates: must be from 1 to %d", len(s.Steps), maxSteps)
	}
	for _, step := range s.Steps {
		if !(step.Rate >= leastRate && step.Rate <= mostOffered) {
			return fmt.Errorf("a rate of %v/s: must be from %v/s to %v/s", step.Rate, leastRate, int64(mostOffered))
		}
		if step.Length <= 0 || step.Length > MaxDuration {
			return fmt.Errorf("a step of %v: must be more than 0 and at most %v", step.Length, MaxDuration)
		}
	}
	return nil
}

// String writes the schedule as on the command line: "constant 1000/s:1s,5000/s:2s".
func (s Schedule) String() string {
	steps := make([]string, len(s.Steps))
	for i, step := range s.Steps {
		steps[i] = fmt.Sprintf("%v/s:%v", step.Rate, step.Length)
	}
	return s.Arrivals + " " + strings.Join(steps, ",")
}

// After puts a warm-up before the schedule, at the rate of the first step.
func (s Schedule) After(warmup time.Duration) Schedule {
	if warmup > 0 {
		s.Steps = append([]Step{{Rate: s.Steps[0].Rate, Length: warmup}}, s.Steps...)
	}
	return s
}

// MostRate is the highest rate of any step.
func (s Schedule) MostRate() (rate float64) {
	for _, step := range s.Steps {
		rate = max(rate, step.Rate)
	}
	return rate
}

// A Pacer gives the intended times of a schedule's requests, one after the other. It reads no clock. A copy of a
// Pacer continues independently.
//
// It counts in units of one request. With constant arrivals, request n (from 0) is due when n units have been
// offered. With Poisson arrivals, the gaps are exponentially distributed with a mean of one unit. The rates determine
// when a number of units has been offered (the time change of an inhomogeneous Poisson process).
type Pacer struct {
	steps   []pacerStep
	at      int
	poisson bool
	// unit is how many units have been offered when the next request is due, end how many all steps offer.
	unit, end float64
	random    uint64
}

// pacerStep is a step that begins at a time in nanoseconds and at a unit.
type pacerStep struct {
	start, unit float64
	perUnit     float64 // nanoseconds
}

// Pacer returns a pacer at the schedule's first request. The schedule must be valid.
func (s Schedule) Pacer() Pacer {
	p := Pacer{poisson: s.Arrivals == PoissonArrivals, random: s.Seed}
	var start float64
	for _, step := range s.Steps {
		p.steps = append(p.steps, pacerStep{start: start, unit: p.end, perUnit: 1e9 / step.Rate})
		start += float64(step.Length)
		p.end += float64(step.Length) * step.Rate / 1e9
	}
	if p.poisson {
		p.unit = p.gap()
	}
	return p
}

// Next gives the time at which the next request is due, in nanoseconds since the schedule's start; false if there are
// no more.
//
//go:nosplit
func (p *Pacer) Next() (int64, bool) {
	if p.unit >= p.end {
		return 0, false
	}
	for p.at+1 < len(p.steps) && p.unit >= p.steps[p.at+1].unit {
		p.at++
	}
	s := &p.steps[p.at]
	due := int64(s.start + (p.unit-s.unit)*s.perUnit)
	if p.poisson {
		p.unit += p.gap()
	} else {
		p.unit++
	}
	return due, true
}

// Remaining is how many requests are due from the given time on, in nanoseconds, without those that Next has given.
// It is exact with constant arrivals, and the expected number with Poisson arrivals.
func (p *Pacer) Remaining(from int64) int64 {
	first := p.unit
	for i := len(p.steps) - 1; i >= 0; i-- {
		if s := p.steps[i]; float64(from) >= s.start {
			first = max(first, s.unit+(float64(from)-s.start)/s.perUnit)
			break
		}
	}
	if p.poisson {
		return int64(max(math.Round(p.end-first), 0))
	}
	return int64(max(math.Ceil(p.end)-math.Ceil(first), 0))
}

// gap draws from the exponential distribution with mean 1, from splitmix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", 2014).
//
//go:nosplit
func (p *Pacer) gap() float64 {
	p.random += 0x9e3779b97f4a7c15
	z := p.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return -math.Log(1 - float64(z>>11)/(1<<53))
}
