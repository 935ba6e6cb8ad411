// Package bisect finds the step of an ordered list where a figure changed, with a stated chance of error.
//
// Visits come in rounds: good, bad and, once these two surely differ, one step between them, in random order. In each
// round the step's figure is on the side of good or on that of bad: a response. Responses are wrong now and then. How
// often, the visits to good and bad say themselves, since each is also judged by the round before. A step is decided as
// soon as its responses are surely not those of good, or surely not those of bad (stats.AgainstSameChance). The search
// halves the steps with each decision, and the chances of a wrong one add up to at most the level.
//
// It does no I/O, reads no clock and draws no random numbers but from its seed: the state follows from the visits.
package bisect

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"nearfar/internal/base/stats"
)

// Bounds of a search.
const (
	// mostApart is how many rounds good and bad may take to differ, and mostRounds how many a step may take to be decided.
	mostApart  = 40
	mostRounds = 60
	// mostFailures is how many visits to a step fail in a row until it counts as one that cannot be measured.
	mostFailures = 3
)

// Options say what is searched.
type Options struct {
	// Steps is how many steps there are; the first is good, and the last is bad.
	Steps int
	// Alpha is the chance of a wrong step, at most.
	Alpha float64
	// By is how far from good a step is bad: in the unit of the figure, or as a share of good if ByShare is true. 0 is
	// half of the way to bad.
	By      float64
	ByShare bool
	// Checks is how many more steps are decided after the answer, to see whether the figure changed more than once.
	Checks int
	// MostVisits bounds the visits; 0 for no bound.
	MostVisits int
	// Seed is the seed of the order within rounds.
	Seed uint64
}

// A Phase is what a search is at.
type Phase string

// The phases.
const (
	// Apart finds out whether good and bad differ, and Halving looks for the step between them.
	Apart   Phase = "apart"
	Halving Phase = "halving"
	// Checking looks for a change back, or for further changes, and Over is the end.
	Checking Phase = "checking"
	Over     Phase = "over"
)

// A Verdict is what is known of a step.
type Verdict string

// The verdicts.
const (
	Untested  Verdict = ""
	Good      Verdict = "good"
	Bad       Verdict = "bad"
	Skipped   Verdict = "skipped"
	Undecided Verdict = "undecided"
)

// A step is what was seen of a step.
type step struct {
	values   []float64 // in the order of the rounds
	verdict  Verdict
	why      string // of a skipped step
	visits   int
	failed   int // visits without a figure
	inRow    int // of these, the last ones
	lastWhy  string
	level    float64 // of the test that decided it
	answered tally
	// offsets are its figures less that of good in the same round.
	offsets []float64
}

// A tally counts the responses of a step: on the side of good, of bad, and exactly between.
type tally struct{ good, bad, between int }

func (t tally) all() int { return t.good + t.bad + t.between }

// asBad and asGood count the responses on one side. What is between is on the other one.
func (t tally) asBad() stats.Tally  { return stats.Tally{Yes: t.bad, All: t.all()} }
func (t tally) asGood() stats.Tally { return stats.Tally{Yes: t.good, All: t.all()} }

// A Search is the state of a search.
type Search struct {
	o     Options
	phase Phase
	steps map[int]*step // those with anything known
	// low is decided to be good, high to be bad, and between them lies the change.
	low, high int
	// left is the chance of error that is not used.
	left float64
	// at is the step of the present test; 0 for none. tested counts its rounds, and level is its chance of error.
	at     int
	tested int
	level  float64
	// goods and bads are the figures of the rounds, and sign is 1 if bad is higher than good, -1 if lower.
	goods, bads []float64
	sign        float64
	// asGood and asBad count the responses of good and of bad, each judged by the round before.
	asGood, asBad tally
	// round are the roles that are to be visited in this round, and figures those of the round so far.
	round   []role
	figures [roles]float64
	visits  int
	checks  int
	// broken says why the search cannot go on.
	broken string
}

// A role is the part that a visit plays in a round.
type role int

const (
	asGood role = iota
	asBad
	between
	roles
)

// New is a search without visits.
func New(o Options) *Search {
	s := &Search{o: o, phase: Apart, steps: map[int]*step{}, high: o.Steps - 1, left: o.Alpha}
	s.step(0).verdict, s.step(s.high).verdict = Good, Bad
	s.begin()
	return s
}

// step is what is known of a step.
func (s *Search) step(i int) *step {
	if s.steps[i] == nil {
		s.steps[i] = &step{}
	}
	return s.steps[i]
}

// Phase is what the search is at.
func (s *Search) Phase() Phase { return s.phase }

// Next is the step to visit; false at the end of the search.
func (s *Search) Next() (step int, more bool) {
	if s.phase == Over {
		return 0, false
	}
	return s.plays(s.round[0]), true
}

// Between are the last step that is known to be good, and the first that is known to be bad.
func (s *Search) Between() (good, bad int) { return s.low, s.high }

// Round counts the rounds from 1.
func (s *Search) Round() int { return len(s.goods) + 1 }

func (s *Search) plays(r role) int {
	switch r {
	case asGood:
		return 0
	case asBad:
		return s.o.Steps - 1
	default:
		return s.at
	}
}

// begin starts a round. Its order depends on the seed and the round alone.
func (s *Search) begin() {
	s.round = []role{asGood, asBad}
	if s.at > 0 {
		s.round = append(s.round, between)
	}
	order := rand.New(rand.NewPCG(s.o.Seed, uint64(s.Round())))
	order.Shuffle(len(s.round), func(i, j int) { s.round[i], s.round[j] = s.round[j], s.round[i] })
}

// Figure records a visit to the step of Next.
func (s *Search) Figure(value float64) {
	if s.phase == Over {
		return
	}
	r := s.round[0]
	st := s.step(s.plays(r))
	st.values, st.inRow = append(st.values, value), 0
	st.visits++
	s.figures[r], s.round = value, s.round[1:]
	s.visits++
	if len(s.round) == 0 {
		s.complete()
	}
	s.bound()
}

// Failed records a visit to the step of Next that has no figure.
func (s *Search) Failed(why string) {
	if s.phase == Over {
		return
	}
	i := s.plays(s.round[0])
	st := s.step(i)
	s.visits++
	st.visits++
	st.failed++
	st.inRow++
	st.lastWhy = why
	if st.inRow >= mostFailures {
		s.skip(i, fmt.Sprintf("%d visits in a row failed; the last: %s", st.inRow, why))
	}
	s.bound()
}

// Skip records that the step of Next cannot be put in place.
func (s *Search) Skip(why string) {
	if s.phase == Over {
		return
	}
	i := s.plays(s.round[0])
	s.step(i).visits++
	s.visits++
	s.skip(i, why)
	s.bound()
}

// skip leaves a step out. Without good or bad there is no search. Another step takes the place of the skipped one in
// the round.
func (s *Search) skip(i int, why string) {
	if i == 0 || i == s.o.Steps-1 {
		s.broken, s.phase = why, Over
		s.step(i).why = why
		return
	}
	s.step(i).verdict, s.step(i).why = Skipped, why
	s.endTest()
	s.nextTest()
}

// bound ends the search after the most visits.
func (s *Search) bound() {
	if s.o.MostVisits > 0 && s.visits >= s.o.MostVisits && s.phase != Over {
		s.phase = Over
	}
}

// Visits counts the visits.
func (s *Search) Visits() int { return s.visits }

// complete ends a round: it counts the responses, and decides.
func (s *Search) complete() {
	good, bad := s.figures[asGood], s.figures[asBad]
	s.goods, s.bads = append(s.goods, good), append(s.bads, bad)
	s.step(s.o.Steps - 1).offsets = append(s.step(s.o.Steps-1).offsets, bad-good)
	if s.phase == Apart {
		s.differ()
	} else if n := len(s.goods); n > 1 {
		s.calibrate(n - 1)
	}
	if s.phase != Apart && s.at > 0 {
		st := s.step(s.at)
		st.offsets = append(st.offsets, s.figures[between]-good)
		s.respond(&st.answered, s.figures[between], len(s.goods)-1)
		s.tested++
		s.decide(st)
	}
	if s.phase != Over {
		s.nextTest()
	}
	if s.phase != Over {
		s.begin()
	}
}

// differ ends the first phase if good and bad surely differ, by more than By if that is given.
func (s *Search) differ() {
	if p, sign := s.apart(1); p <= s.o.Alpha {
		s.phase, s.sign = Halving, sign
	} else if p, sign := s.apart(-1); p <= s.o.Alpha {
		s.phase, s.sign = Halving, sign
	} else if len(s.goods) >= mostApart {
		s.phase = Over
		return
	} else {
		return
	}
	for n := 1; n < len(s.goods); n++ {
		s.calibrate(n)
	}
}

// apart is the p-value at any time against bad being at most By beyond good, upwards (1) or downwards (-1).
func (s *Search) apart(sign float64) (p, direction float64) {
	above, below, equal := 0, 0, 0
	for i := range s.goods {
		switch beyond := sign*(s.bads[i]-s.goods[i]) - s.least(i); {
		case beyond > 0:
			above++
		case beyond < 0:
			below++
		default:
			equal++
		}
	}
	if above <= below+equal {
		return 1, sign
	}
	return stats.AnyTimeSigns(above, below, equal), sign
}

// least is how far from good a step is bad, by the good of a round; 0 if By is not given.
func (s *Search) least(round int) float64 {
	if s.o.ByShare {
		return s.o.By * math.Abs(s.goods[round])
	}
	return s.o.By
}

// respond counts on which side a figure is, by good and bad of a round.
func (s *Search) respond(t *tally, value float64, round int) {
	border := (s.goods[round] + s.bads[round]) / 2
	if s.o.By > 0 {
		border = s.goods[round] + s.sign*s.least(round)
	}
	switch beyond := s.sign * (value - border); {
	case beyond > 0:
		t.bad++
	case beyond < 0:
		t.good++
	default:
		t.between++
	}
}

// calibrate counts the responses of good and bad of a round, by the round before: there they would be responses of
// a step that is surely as they are. What drifts between rounds makes them worse than those of a step, never better.
func (s *Search) calibrate(round int) {
	s.respond(&s.asGood, s.goods[round], round-1)
	s.respond(&s.asBad, s.bads[round], round-1)
}

// decide ends the test of a step if its responses are surely not those of good, or surely not those of bad.
func (s *Search) decide(st *step) {
	enough := -math.Log(s.level)
	asBad := stats.AgainstSameChance(s.asGood.asBad(), st.answered.asBad()) >= enough
	asGood := stats.AgainstSameChance(s.asBad.asGood(), st.answered.asGood()) >= enough
	switch {
	case asBad && !asGood:
		st.verdict, st.level = Bad, s.level
	case asGood && !asBad:
		st.verdict, st.level = Good, s.level
	case s.tested >= mostRounds:
		st.verdict = Undecided
	default:
		return
	}
	if s.phase == Halving {
		switch st.verdict {
		case Bad:
			s.high = s.at
		case Good:
			s.low = s.at
		}
	}
	s.endTest()
}

// endTest uses up the level of the present test if it had a response.
func (s *Search) endTest() {
	if s.phase == Halving && s.tested > 0 {
		s.left = max(0, s.left-s.level)
	}
	s.at, s.tested = 0, 0
}

// nextTest takes the next step to test if none is being tested: the one in the middle, and after the answer those that
// could contradict it.
func (s *Search) nextTest() {
	if s.at > 0 || s.phase == Apart || s.phase == Over {
		return
	}
	if s.phase == Halving {
		if s.at = s.middle(s.low, s.high); s.at > 0 {
			// What is left is shared evenly by the decisions that are left. The last one takes all of it.
			s.level = s.left / float64(bits.Len(uint(s.high-s.low-1)))
			return
		}
		s.phase = Checking
	}
	if s.at = s.toCheck(); s.at > 0 {
		s.checks++
		s.level = s.o.Alpha / float64(s.o.Checks)
		return
	}
	s.phase = Over
}

// middle is the step nearest to the middle of two steps that can be tested; 0 if there is none.
func (s *Search) middle(low, high int) int {
	half := (low + high) / 2
	for d := 0; half-d > low || half+d < high; d++ {
		for _, i := range []int{half - d, half + d} {
			if i > low && i < high && s.untested(i) {
				return i
			}
		}
	}
	return 0
}

func (s *Search) untested(i int) bool { return s.steps[i] == nil || s.steps[i].verdict == Untested }

// toCheck is the step in the middle of the longest stretch outside of the answer that nobody looked into; 0 if there is
// none, or if enough were checked. The two sides take turns.
func (s *Search) toCheck() int {
	if s.checks >= s.o.Checks {
		return 0
	}
	sides := [][2]int{{0, s.low}, {s.high, s.o.Steps - 1}}
	if s.checks%2 == 1 {
		sides[0], sides[1] = sides[1], sides[0]
	}
	for _, side := range sides {
		if i := s.longest(side[0], side[1]); i > 0 {
			return i
		}
	}
	return 0
}

// longest is the middle of the longest stretch of untested steps between two tested ones.
func (s *Search) longest(from, to int) (middle int) {
	last, widest := from, 1
	for i := from + 1; i <= to; i++ {
		if i < to && s.untested(i) {
			continue
		}
		if i-last > widest {
			if m := s.middle(last, i); m > 0 {
				middle, widest = m, i-last
			}
		}
		last = i
	}
	return middle
}
