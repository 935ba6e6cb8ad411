package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactPairs is up to how many pairs the distribution of a Mann-Whitney count is reckoned exactly. Beyond, its normal
// approximation with correction for continuity is as good, and errs on the side of too large p-values in the tails.
const exactPairs = 400

// rankCount is the distribution, where both samples come from one population, of the number of pairs in which the value of
// the one sample lies below that of the other (Mann and Whitney, Annals of Mathematical Statistics 18, 1947).
type rankCount struct {
	m, n int
	// below has the probability that the count is at most c, for c up to half of the pairs; nil where it is approximated.
	below []float64
}

// newRankCount reckons the distribution by their recurrence: the largest of all values belongs to the one sample or to the
// other, with the odds of their sizes.
func newRankCount(m, n int) rankCount {
	r := rankCount{m: m, n: n}
	if m < 1 || n < 1 || m*n > exactPairs {
		return r
	}
	half := m * n / 2
	before := make([][]float64, n+1)
	for j := range before {
		before[j] = []float64{1} // of no values of the one sample, none lies above
	}
	for i := 1; i <= m; i++ {
		row := make([][]float64, n+1)
		row[0] = []float64{1}
		for j := 1; j <= n; j++ {
			row[j] = make([]float64, min(i*j, half)+1)
			share := float64(i) / float64(i+j)
			for u := range row[j] {
				// The largest is of the one sample and lies above all j of the other, or it is of the other.
				if u >= j && u-j < len(before[j]) {
					row[j][u] = share * before[j][u-j]
				}
				if u < len(row[j-1]) {
					row[j][u] += (1 - share) * row[j-1][u]
				}
			}
		}
		before = row
	}
	r.below = before[n]
	for u := 1; u < len(r.below); u++ {
		r.below[u] += r.below[u-1]
	}
	return r
}

// p is the two-sided p-value of a count of c or fewer, or of as many that are missing.
func (r rankCount) p(c int) float64 {
	switch {
	case c < 0:
		return 0
	case 2*c >= r.m*r.n:
		return 1
	case r.below != nil:
		return math.Min(1, 2*r.below[c])
	}
	pairs := float64(r.m) * float64(r.n)
	deviation := math.Sqrt(pairs * float64(r.m+r.n+1) / 12)
	return math.Min(1, 2*distuv.UnitNormal.CDF((float64(c)+0.5-pairs/2)/deviation))
}

// MinTrials is the smallest number of trials on each side with which a difference can as a rule be found at level alpha in a
// table of so many unpaired comparisons: with fewer, the p-value is too large even where all trials of one side lie above all of
// the other. 6 for one comparison at 0.05, 11 for 20.
//
// It depends on how the trials scatter. What is assumed is a tenth more than of sides whose trials take turns, once their
// difference is taken out: nine of ten draws of normal noise have less.
func MinTrials(comparisons int, alpha float64) int {
	level := alpha / float64(max(comparisons, 1))
	if !(level > 0) {
		return MaxBlocks
	}
	return 2 + sort.Search(MaxBlocks-2, func(more int) bool {
		n := more + 2
		t := twoSample{m: n, n: n, null: newRankCount(n, n), freedom: float64(2*n - 2)}
		t.deviation = 1.1 * math.Sqrt(float64(n+1)/6) / float64(n)
		return t.p(0) <= level
	})
}
