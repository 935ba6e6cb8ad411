package history

import (
	"math/rand/v2"
	"slices"
)

// Change points are found by segmentation with a rank test. For each place where a stretch of runs can be cut in two, and for
// each segment that has runs on both sides, it is asked how far its rank sum deviates from what chance gives; the cut, or the
// pair of cuts, that stands out most is the candidate (see scanner). Single cuts alone do not see what goes up and comes down
// again: both halves then hold some of either level. The candidate's p-value comes from putting the runs into random orders and
// looking for the best split in each (Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed. 2005): it is exact
// whatever the distribution, with ties too, and it allows for the choice among all cuts and all pairs. Where there is a change,
// the parts are searched in the same way, the level divided among them: so the levels of the stretches without a change never add
// up to more than the whole one. A cut that was found while others were still unknown can stand a few runs beside its place, which
// then looks like a change of its own; so each is looked for again between its neighbours, moved, or dropped.

// permutations is how many random orders are looked at. With the series itself they make 2,000.
const permutations = 1999

// cut is where a series moves: before the value of that index.
type cut struct {
	at            int
	pValue, level float64
	// paired says that this cut and the next were found together, as the ends of a segment.
	paired bool
}

// findCuts finds all changes of a series. The level is the probability of any false one. The result is always the same for
// the same values.
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

// maxRounds bounds how often the cuts are looked for again; they settle after one or two.
const maxRounds = 10

// settle looks for each cut again between its neighbours, until nothing moves.
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

// settleOne looks for the cut of that index between its neighbours. A segment of a few runs may stand out from both sides
// and from neither alone: then the pair is looked for again. It gives what takes the place of how many cuts.
func settleOne(values []float64, cuts []cut, i int) (again []cut, of int) {
	end := func(j int) int { // of the stretch before the cut of index j
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

// findSplit finds the change that stands out most in a stretch of the values, if its p-value is at most the level: one cut or,
// where pairs are looked for too, the two ends of a segment. It gives none where there is no such change.
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
	// Beyond so many orders as good as this one, the p-value is above the level.
	most := int(level*(permutations+1)) - 1
	r := rand.New(rand.NewPCG(20261121, uint64(n)))
	asGood := 0
	for range permutations {
		r.Shuffle(n, func(i, j int) { scores[i], scores[j] = scores[j], scores[i] })
		if best(scores).score >= observed.score {
			if asGood++; asGood > most {
				return nil
			}
		}
	}
	p := float64(asGood+1) / (permutations + 1)
	if p > level {
		return nil
	}
	if place.second == 0 {
		return []cut{{at: from + place.first, pValue: p, level: level}}
	}
	return []cut{{at: from + place.first, pValue: p, level: level, paired: true}, {at: from + place.second, pValue: p, level: level}}
}

// fewestRuns is how many runs it takes for a change to be found at all at the level: from there on, halves that do not
// overlap are rare enough by chance.
func fewestRuns(level float64) int {
	for n := 2 * minSegment; ; n++ {
		if bestPossible(n) <= level && bestPossible(n+1) <= level {
			return n
		}
	}
}

// bestPossible is about the smallest p-value that n runs can have: that of two halves that do not overlap, in either
// direction, and for an odd number with either half the longer.
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
