package history

import (
	"math"
	"slices"
)

// minSegment is the fewest runs on either side of a change.
const minSegment = 2

// split is how a stretch of runs divides best: at first, and for a pair also at second, counted from the start of the stretch.
type split struct {
	first, second int // second is 0 for a single cut
	// score is minus the logarithm of how likely chance gives as large a deviation there; of a pair, less the penalty.
	score float64
}

// scanner looks for the best split of a stretch of runs: one cut, or a segment that differs from what is on both sides of it, as
// in circular binary segmentation (Olshen, Venkatraman, Lucito, Wigler, Circular binary segmentation for the analysis of array-based
// DNA copy number data, Biostatistics 5, 2004).
//
// Deviations of parts of different lengths are made comparable by their probabilities, which are exact for parts of a few runs. In
// standard deviations they would not be: ranks are bounded, so the ranks of three runs of fifty never deviate by more than 2.9,
// however rare it is that they are the three highest.
type scanner struct {
	n int
	// prefix holds the sums of the scores up to each run.
	prefix []int
	// surprise is, for parts of few runs, minus the logarithm of the probability of each deviation; nil for others.
	surprise [][]float64
	// lengths are those of the segments that are looked at, penalty what each has to be better by than a single cut.
	lengths []int
	penalty []float64
}

// newScanner makes a scanner for stretches of n runs.
func newScanner(n int) *scanner {
	c := &scanner{n: n, prefix: make([]int, n+1), surprise: make([][]float64, fewRuns+1)}
	for m := minSegment; m <= min(fewRuns, n/2); m++ {
		c.surprise[m] = surprises(n, m)
	}
	c.lengths = segmentLengths(n)
	for _, m := range c.lengths {
		c.penalty = append(c.penalty, pairPenalty(n, m))
	}
	return c
}

// segmentLengths are the lengths of segments that are looked at. They grow by a fifth each, and those of what is left outside do
// too: a segment whose length lies between two of them still has nearly all of its deviation, and the number of sums grows with
// n log n instead of n^2.
func segmentLengths(n int) []int {
	var lengths []int
	for m := minSegment; m <= n/2; m = max(m+1, m*6/5) {
		if m <= n-2*minSegment {
			lengths = append(lengths, m)
		}
		if m >= 2*minSegment {
			lengths = append(lengths, n-m)
		}
	}
	slices.Sort(lengths)
	return slices.Compact(lengths)
}

// pairPenalty is what the score of a segment of m of n runs is lowered by. About n/m segments of that length do not overlap, and
// the best of them deviates as far about that many times as often as one alone (Dümbgen, Spokoiny, Multiscale testing of
// qualitative hypotheses, Annals of Statistics 29, 2001). A constant comes on top, so that pairs hardly cost single cuts power.
func pairPenalty(n, m int) float64 {
	return morePairs + math.Log(float64(n)/float64(min(m, n-m)))
}

// morePairs was chosen by simulation: with half of it single cuts are found less often, with more short segments are.
const morePairs = 3.0

// best finds the split with the highest score.
func (c *scanner) best(scores []int) split {
	s := c.bestSingle(scores)
	for l, m := range c.lengths {
		from, to := c.prefix[minSegment:c.n-m-minSegment+1], c.prefix[minSegment+m:]
		to = to[:len(from)]
		at, most := 0, 0
		for i, before := range from {
			if d := max(to[i]-before, before-to[i]); d > most {
				at, most = i, d
			}
		}
		if score := c.score(m, most) - c.penalty[l]; score > s.score {
			s = split{first: minSegment + at, second: minSegment + at + m, score: score}
		}
	}
	return s
}

// bestSingle is best without pairs. It leaves the sums in prefix.
func (c *scanner) bestSingle(scores []int) split {
	sum := 0
	for i, score := range scores {
		sum += score
		c.prefix[i+1] = sum
	}
	var s split
	many, most := 0, 0.0 // the best of those that are as good as normal
	for k := minSegment; k <= c.n-minSegment; k++ {
		d := max(c.prefix[k], -c.prefix[k])
		if m := min(k, c.n-k); m <= fewRuns {
			if score := c.surprise[m][d]; score > s.score {
				s = split{first: k, score: score}
			}
		} else if z := float64(d) * float64(d) / float64(k*(c.n-k)); z > most {
			many, most = k, z
		}
	}
	if many > 0 {
		if score := c.score(many, max(c.prefix[many], -c.prefix[many])); score > s.score {
			s = split{first: many, score: score}
		}
	}
	return s
}

// score is minus the logarithm of the probability that the scores of m of the runs add up to d or more, up or down.
func (c *scanner) score(m, d int) float64 {
	if few := min(m, c.n-m); few <= fewRuns {
		return c.surprise[few][d]
	}
	return normalSurprise(float64(d) / math.Sqrt(float64(m)*float64(c.n-m)*float64(c.n+1)/3))
}

// refine moves the cuts of a pair to where the segment between them stands out most; its length no longer has to be one of the
// lengths. The sums are those of the last best.
func (c *scanner) refine(s split) split {
	at := func(from, to int) float64 {
		d := c.prefix[to] - c.prefix[from]
		return c.score(to-from, max(d, -d)) - pairPenalty(c.n, to-from)
	}
	best := at(s.first, s.second)
	for moved := true; moved; {
		moved = false
		for i := minSegment; i <= s.second-minSegment; i++ {
			if score := at(i, s.second); score > best {
				s.first, best, moved = i, score, true
			}
		}
		for j := s.first + minSegment; j <= c.n-minSegment; j++ {
			if score := at(s.first, j); score > best {
				s.second, best, moved = j, score, true
			}
		}
	}
	return s
}

// fewRuns is up to how many runs the distribution of their rank sum is taken as it is, and not as normal.
const fewRuns = 12

// surprises gives, for each deviation d of the sum of m of the scores 1-n, 3-n ... n-1, minus the logarithm of the probability of
// |sum| >= d. How many of the choices have each sum are the coefficients of a Gaussian binomial (Mann, Whitney, On a test of
// whether one of two random variables is stochastically larger than the other, Annals of Mathematical Statistics 18, 1947). Sums in
// between, which only ties give, have the values in between.
func surprises(n, m int) []float64 {
	most := m * (n - m)
	ways := make([]float64, most+1) // of the rank sum above the least one
	ways[0] = 1
	for i := 1; i <= m; i++ { // times (1 - q^(n-m+i)), divided by (1 - q^i)
		for s := most; s >= n-m+i; s-- {
			ways[s] -= ways[s-(n-m+i)]
		}
		for s := i; s <= most; s++ {
			ways[s] += ways[s-i]
		}
	}
	all := 1.0
	for i := range m {
		all = all * float64(n-i) / float64(i+1)
	}
	surprise := make([]float64, most+1)
	tail := 0.0
	for s := 0; 2*s <= most; s++ {
		tail += ways[s]
		surprise[most-2*s] = -math.Log(min(1, 2*tail/all))
	}
	for d := most - 1; d > 0; d -= 2 {
		surprise[d] = (surprise[d-1] + surprise[d+1]) / 2
	}
	return surprise
}

// normalSurprise is minus the logarithm of the probability that a normal variable deviates by z standard deviations or more.
func normalSurprise(z float64) float64 {
	if z > 30 { // where the probability is too small for a float64
		return z*z/2 + math.Log(z*math.Sqrt(math.Pi/2))
	}
	return -math.Log(math.Erfc(z / math.Sqrt2))
}

// rankScores gives each value twice its rank, less what makes the sum 0. Equal values share the mean of their ranks.
func rankScores(values []float64) []int {
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
	scores := make([]int, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			scores[k] = i + j - len(values)
		}
		i = j
	}
	return scores
}
