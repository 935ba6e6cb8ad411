package history

import (
	"math/rand/v2"
	"slices"
)

// Changes are found by segmentation with a rank test.
//
// Candidates: a stretch of runs can be cut in two, or a segment can be cut out of its middle. For each such split, the
// scanner compares the rank sum of one part with its distribution under chance. The split with the largest deviation is
// the candidate. Single cuts are not enough: if a level goes up and comes back, both halves hold runs of both levels.
//
// Test: the p-value of the candidate is a permutation p-value, from the best splits of the same runs in random orders
// (Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed. 2005). It is exact for any distribution,
// also with ties, and it accounts for the choice among all splits.
//
// Recursion: after a change, the parts are searched in the same way. They share the level, so that the levels of all
// stretches without a change never add up to more than the level of the series.
//
// Settling: a cut that was found before its neighbours were known may be some runs beside its true place. So each cut
// is searched again between its neighbours, and moved or dropped.

// permutations is the number of random orders for a test at a level: so many that ten of them may be as good as the
// observed one, if that takes at most 20,000 orders, and at least two.
func permutations(level float64) int {
	return int(max(1_999, min(19_999, 10/level), min(199_999, 2/level)))
}

// cut is a change of a series' level: it is before the value with the index at.
type cut struct {
	at            int
	pValue, level float64
	// paired says that this cut and the next one were found together, as the ends of a segment.
	paired bool
}

// findCuts finds all changes of a series. The level is the largest probability of any false change. The result depends
// on the values only: the random orders are always the same.
func findCuts(values []float64, level float64) []cut {
	var cuts []cut
	var search func(from, to int, level float64)
	search = func(from, to int, level float64) {
		found := findSplit(values, from, to, level, true)
		share := level / float64(len(found)+1)
		for _, c := range found {
			search(from, c.at, share)
			cuts = append(cuts, c)
			from = c.at
		}
		if len(found) > 0 {
			search(from, to, share)
		}
	}
	search(0, len(values), level)
	return settle(values, cuts)
}

// maxRounds is the largest number of rounds of settle. Usually it takes one or two.
const maxRounds = 10

// settle searches each cut again between its neighbours, until no cut moves.
func settle(values []float64, cuts []cut) []cut {
	for range maxRounds {
		moved := false
		for i := 0; i < len(cuts); i++ {
			again, of := settleOne(values, cuts, i)
			if len(again) < of || again[0].at != cuts[i].at {
				moved = true
			}
			cuts = slices.Replace(cuts, i, i+of, again...)
			i += len(again) - 1
		}
		if !moved {
			break
		}
	}
	return cuts
}

// settleOne searches cut i again between its neighbours. A short segment may differ clearly from both sides together,
// but not from either side alone; then the pair is searched again. The cuts in again replace the number of cuts in of.
func settleOne(values []float64, cuts []cut, i int) (again []cut, of int) {
	end := func(j int) int { // the end of the stretch before cut j
		if j < len(cuts) {
			return cuts[j].at
		}
		return len(values)
	}
	from := 0
	if i > 0 {
		from = cuts[i-1].at
	}
	c := cuts[i]
	if again = findSplit(values, from, end(i+1), c.level, false); len(again) > 0 {
		again[0].paired = c.paired
		return again, 1
	}
	if c.paired && i+1 < len(cuts) {
		if again = findSplit(values, from, end(i+2), c.level, true); len(again) == 2 {
			return again, 2
		}
	}
	return nil, 1
}

// findSplit finds the clearest change in a stretch of the values: one cut or, with pairs, also the two ends of a
// segment. It gives none if the p-value is above the level.
func findSplit(values []float64, from, to int, level float64, pairs bool) []cut {
	n := to - from
	if n < fewestRuns(level) {
		return nil
	}
	scores := rankScores(values[from:to])
	c := newScanner(n)
	best := c.bestSingle
	if pairs {
		best = c.best
	}
	observed := best(scores)
	if observed.score == 0 {
		return nil
	}
	place := observed
	if observed.second > 0 {
		place = c.refine(observed)
	}
	// If more orders than this are as good as the observed one, the p-value is above the level.
	orders := permutations(level)
	most := int(level*float64(orders+1)) - 1
	r := rand.New(rand.NewPCG(20261121, uint64(n)))
	asGood := 0
	for range orders {
		r.Shuffle(n, func(i, j int) { scores[i], scores[j] = scores[j], scores[i] })
		if best(scores).score >= observed.score {
			if asGood++; asGood > most {
				return nil
			}
		}
	}
	p := float64(asGood+1) / float64(orders+1)
	if p > level {
		return nil
	}
	first := cut{at: from + place.first, pValue: p, level: level, paired: place.second > 0}
	if !first.paired {
		return []cut{first}
	}
	return []cut{first, {at: from + place.second, pValue: p, level: level}}
}

// fewestRuns is the smallest number of runs in which any change can be found at the level: with fewer runs, even two
// halves without overlap occur too often by chance.
func fewestRuns(level float64) int {
	for n := 2 * minSegment; ; n++ {
		if bestPossible(n) <= level && bestPossible(n+1) <= level {
			return n
		}
	}
}

// longEnough is the number of runs in which the clearest change is surely found at the level: p-values of random orders
// scatter, so that it takes a little more than fewestRuns.
func longEnough(level float64) int { return fewestRuns(0.7 * level) }

// bestPossible is about the smallest p-value that n runs can have: the probability of two halves without overlap, in
// either direction, and if n is odd with either half the longer one.
func bestPossible(n int) float64 {
	arrangements := 1.0
	for i := range n / 2 {
		arrangements = arrangements * float64(n-i) / float64(i+1)
	}
	if n%2 == 1 {
		return 4 / arrangements
	}
	return 2 / arrangements
}
