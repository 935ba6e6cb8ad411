package history

import (
	"cmp"
	"math"
	"slices"
)

// minSegment is the smallest number of runs on either side of a change.
const minSegment = 2

// split is a way to divide a stretch of runs: at first, and for a pair also at second, counted from the start of the
// stretch.
type split struct {
	first, second int // second is 0 for a single cut
	// score is minus the natural logarithm of the probability of such a deviation by chance, minus the penalty of a
	// pair.
	score float64
}

// scanner looks for the best split of a stretch of runs: one cut, or a segment that differs from both sides, as in
// circular binary segmentation (Olshen, Venkatraman, Lucito, Wigler, Circular binary segmentation for the analysis of
// array-based DNA copy number data, Biostatistics 5, 2004).
//
// Deviations of parts with different lengths are compared by their probabilities, which are exact for short parts.
// Standard deviations would not be comparable, because ranks are bounded: the ranks of three of fifty runs never
// deviate by more than 2.9 standard deviations, although it is rare that they are the three highest.
type scanner struct {
	n int
	// prefix holds the sum of the scores before each run.
	prefix []int
	// surprise[runs][deviation] is minus the logarithm of the probability of a deviation, for parts of at most fewRuns
	// runs.
	surprise [][]float64
	// lengths are the lengths of the segments to try, penalty the penalty of each.
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

// segmentLengths are the lengths of the segments to try. Each is a fifth longer than the one before, and so are the
// lengths of the rest outside of the segment. A segment with a length in between still has nearly all of its deviation,
// and the work grows with n log n instead of n^2.
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

// pairPenalty is subtracted from the score of a segment of m of n runs. There are about n/m segments of this length
// without overlap, so that one of them reaches a score by chance about n/m times as often as a single one (Dümbgen,
// Spokoiny, Multiscale testing of qualitative hypotheses, Annals of Statistics 29, 2001). The constant morePairs keeps
// the power for single cuts.
func pairPenalty(n, m int) float64 {
	return morePairs + math.Log(float64(n)/float64(min(m, n-m)))
}

// morePairs was chosen by simulation. With half of it, single cuts are found less often; with more, short segments.
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

// bestSingle is best without pairs. It also fills prefix.
func (c *scanner) bestSingle(scores []int) split {
	sum := 0
	for i, score := range scores {
		sum += score
		c.prefix[i+1] = sum
	}
	var s split
	many, most := 0, 0.0 // the best cut with many runs on both sides, where the sum is normally distributed
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

// score is minus the logarithm of the probability that the absolute sum of the scores of m runs is d or more.
func (c *scanner) score(m, d int) float64 {
	if few := min(m, c.n-m); few <= fewRuns {
		return c.surprise[few][d]
	}
	return normalSurprise(float64(d) / math.Sqrt(float64(m)*float64(c.n-m)*float64(c.n+1)/3))
}

// refine moves the two cuts of a pair until the score is highest. The length of the segment need not be one of the
// lengths. It uses the sums of the last call of best.
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

// fewRuns is the largest number of runs for which the exact distribution of the rank sum is used instead of the normal
// distribution.
const fewRuns = 12

// surprises gives minus the logarithm of the probability of |sum| >= d, for each d, where sum is the sum of m of the n
// scores 1-n, 3-n ... n-1. The numbers of choices with each sum are the coefficients of a Gaussian binomial (Mann,
// Whitney, On a test of whether one of two random variables is stochastically larger than the other, Annals of
// Mathematical Statistics 18, 1947). Sums in between are only possible with ties; their values are interpolated.
func surprises(n, m int) []float64 {
	most := m * (n - m)
	ways := make([]float64, most+1) // by how much the rank sum is above its minimum
	ways[0] = 1
	for i := 1; i <= m; i++ { // multiply by 1 - q^(n-m+i), divide by 1 - q^i
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

// normalSurprise is minus the logarithm of the probability that a normal variable deviates by at least z standard
// deviations.
func normalSurprise(z float64) float64 {
	if z > 30 { // the probability is too small for a float64: use the asymptotic expansion
		return z*z/2 + math.Log(z*math.Sqrt(math.Pi/2))
	}
	return -math.Log(math.Erfc(z / math.Sqrt2))
}

// rankScores gives each value twice its rank minus n+1, so that the sum is 0. Equal values have the mean of their
// ranks.
func rankScores(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
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
