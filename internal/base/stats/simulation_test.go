package stats

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// The simulations draw trials from a model of known truth and test rates, such as how often an interval contains the
// truth. Each rate has two bounds: a right build has the rate `right` or a better one, and a build with the rate
// `wrong` or a worse one must fail. The rate is tested sequentially: drawing stops once the likelihood ratio of the two
// bounds is decisive (Wald, Sequential Analysis, 1947, section 3.2). For each rate of independent draws:
//
//   - A right build fails with probability at most falseFailure, if new seeds are drawn. The seeds are fixed, so that
//     the same build always gives the same result.
//   - A wrong build passes with probability at most missed, and at most missedShort with -short.
const (
	falseFailure = 1e-4
	missed       = 0.01
	missedShort  = 0.2
	// maxDraws ends a simulation whose rate lies between its bounds.
	maxDraws = 20_000
)

// simulation draws until all of its rates are decided. NEARFAR_SIMULATE=N draws at least N times, for the figures of
// docs/statistics.md, which -v prints.
type simulation struct {
	t      *testing.T
	rates  []*rate
	least  int
	missed float64
}

// newSimulation starts a simulation, which runs in parallel to those of other tests.
func newSimulation(t *testing.T) *simulation {
	t.Helper()
	s := &simulation{t: t, missed: missed}
	if testing.Short() {
		s.missed = missedShort
	}
	if text := os.Getenv("NEARFAR_SIMULATE"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		s.least = n
	}
	return s
}

// rate adds a rate. It is an upper bound if right is below wrong, and else a lower bound. If wrong is NaN, the rate is
// only reported.
func (s *simulation) rate(what string, right, wrong float64) *rate {
	r := &rate{
		what: what, right: right, wrong: wrong,
		pass: math.Log(s.missed / (1 - falseFailure)), fail: math.Log((1 - s.missed) / falseFailure),
		hit: math.Log(wrong / right), miss: math.Log((1 - wrong) / (1 - right)),
	}
	if math.IsNaN(wrong) {
		r.verdict = ratePassed
	}
	s.rates = append(s.rates, r)
	return r
}

// between adds two rates, for the same results: one whose low bounds are {right, wrong}, and one whose high bounds are.
func (s *simulation) between(what string, low, high [2]float64) [2]*rate {
	return [2]*rate{s.rate(what+", at least", low[0], low[1]), s.rate(what+", at most", high[0], high[1])}
}

// run calls draw, which adds one result to each rate, or none, until all rates are decided.
func (s *simulation) run(draw func()) {
	s.t.Helper()
	for n := 0; n < max(s.least, 1) || s.open(); n++ {
		if n == max(maxDraws, s.least) {
			break
		}
		draw()
	}
	for _, r := range s.rates {
		s.t.Logf("%s: %.3f of %d", r.what, r.share(), r.draws)
		if r.verdict != ratePassed {
			s.t.Errorf("%s: %.3f of %d; right is %.3g, wrong is %.3g", r.what, r.share(), r.draws, r.right, r.wrong)
		}
	}
}

// open says whether a rate is undecided.
func (s *simulation) open() bool {
	for _, r := range s.rates {
		if r.verdict == rateOpen {
			return true
		}
	}
	return false
}

// rate is a simulated rate and the test of its bounds.
type rate struct {
	what         string
	right, wrong float64
	hits, draws  int
	// evidence is the logarithm of the likelihood ratio of wrong to right. A draw adds hit or miss to it. The rate
	// passes at pass or below, and fails at fail or above.
	evidence, hit, miss, pass, fail float64
	verdict                         rateVerdict
}

type rateVerdict int

const (
	rateOpen rateVerdict = iota
	ratePassed
	rateFailed
)

// add counts one draw.
func (r *rate) add(hit bool) {
	r.draws++
	if hit {
		r.hits++
		r.evidence += r.hit
	} else {
		r.evidence += r.miss
	}
	switch {
	case r.verdict != rateOpen:
	case r.evidence <= r.pass:
		r.verdict = ratePassed
	case r.evidence >= r.fail:
		r.verdict = rateFailed
	}
}

// share is the rate as drawn.
func (r *rate) share() float64 { return float64(r.hits) / float64(max(r.draws, 1)) }

// TestSimulationErrors draws from rates that are exactly right and exactly wrong, and checks falseFailure and missed.
// Of 2,000 repetitions at the stated miss rate, more than 1.9 % pass with a probability of 0.0001.
func TestSimulationErrors(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(19, 1))
	for _, bounds := range [][2]float64{{0.945, 0.91}, {0.05, 0.09}, {0.76, 0.71}, {0.015, 0.035}} {
		const repetitions = 2000
		repeat := func(truth float64, want rateVerdict) int {
			n := 0
			for range repetitions {
				s := simulation{t: t, missed: missed}
				one := s.rate("", bounds[0], bounds[1])
				for one.verdict == rateOpen {
					one.add(r.Float64() < truth)
				}
				if one.verdict == want {
					n++
				}
			}
			return n
		}
		if n := repeat(bounds[0], rateFailed); n > 3 {
			t.Errorf("right %v, wrong %v: a right build fails in %d of %d", bounds[0], bounds[1], n, repetitions)
		}
		if n := repeat(bounds[1], ratePassed); n > repetitions*19/1000 {
			t.Errorf("right %v, wrong %v: a wrong build passes in %d of %d", bounds[0], bounds[1], n, repetitions)
		}
	}
}
