package history

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Change points are found by binary segmentation with a rank test. For each place where a stretch of runs can be cut in two, the
// rank sum of the first part is compared with what chance gives (Wilcoxon, Individual Comparisons by Ranking Methods,
// Biometrics Bulletin 1, 1945); the cut with the largest standardised deviation is the candidate, as in Pettitt, A
// Non-Parametric Approach to the Change-Point Problem, Applied Statistics 28, 1979. Its p-value comes from putting the runs into
// random orders and looking for the best cut in each (Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed.
// 2005): it is exact whatever the distribution, with ties too, and it allows for the choice among all cuts. Where there is a
// change, both parts are searched in the same way, each at half the level: so the levels of the stretches without a change
// never add up to more than the whole one. A cut that was found while others were still unknown can stand a few runs beside its
// place, which then looks like a change of its own; so each is looked for again between its neighbours, moved, or dropped.

const (
	// permutations is how many random orders are looked at. With the series itself they make 2,000.
	permutations = 1999
	// minSegment is the fewest runs on either side of a change.
	minSegment = 2
)

// cut is where a series moves: before the value of that index.
type cut struct {
	at            int
	pValue, level float64
}

// findCuts finds all changes of a series. The level is the probability of any false one. The result is always the same for
// the same values.
func findCuts(values []float64, level float64) []cut {
	var cuts []cut
	var search func(from, to int, level float64)
	search = func(from, to int, level float64) {
		c, ok := findCut(values, from, to, level)
		if !ok {
			return
		}
		search(from, c.at, level/2)
		cuts = append(cuts, c)
		search(c.at, to, level/2)
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
			from, to := 0, len(values)
			if i > 0 {
				from = cuts[i-1].at
			}
			if i+1 < len(cuts) {
				to = cuts[i+1].at
			}
			c, ok := findCut(values, from, to, cuts[i].level)
			if !ok {
				cuts = slices.Delete(cuts, i, i+1)
				i--
				moved = true
				continue
			}
			moved = moved || c.at != cuts[i].at
			cuts[i] = c
		}
		if !moved {
			break
		}
	}
	return cuts
}

// findCut finds the change that stands out most in a stretch of the values, if its p-value is at most the level.
func findCut(values []float64, from, to int, level float64) (cut, bool) {
	n := to - from
	if n < fewestRuns(level) {
		return cut{}, false
	}
	ranks := midranks(values[from:to])
	at, observed := bestCut(ranks)
	if observed == 0 {
		return cut{}, false
	}
	// Beyond so many orders as good as this one, the p-value is above the level.
	most := int(level*(permutations+1)) - 1
	r := rand.New(rand.NewPCG(20261121, uint64(n)))
	asGood := 0
	for range permutations {
		r.Shuffle(n, func(i, j int) { ranks[i], ranks[j] = ranks[j], ranks[i] })
		// The order of additions differs, so that equal sums may differ in their last bits.
		if _, z := bestCut(ranks); z >= observed*(1-1e-12) {
			if asGood++; asGood > most {
				return cut{}, false
			}
		}
	}
	p := float64(asGood+1) / (permutations + 1)
	return cut{from + at, p, level}, p <= level
}

// bestCut gives the cut whose rank sum deviates most from what chance gives, in standard deviations.
func bestCut(ranks []float64) (at int, best float64) {
	n := float64(len(ranks))
	sum := 0.0
	for i, rank := range ranks[:len(ranks)-minSegment] {
		sum += rank
		k := float64(i + 1)
		if i+1 < minSegment {
			continue
		}
		if z := math.Abs(sum-k*(n+1)/2) / math.Sqrt(k*(n-k)*(n+1)/12); z > best {
			at, best = i+1, z
		}
	}
	return at, best
}

// midranks ranks values from 1; equal ones share the mean of their ranks.
func midranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	ranks := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			ranks[k] = float64(i+1+j) / 2
		}
		i = j
	}
	return ranks
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
