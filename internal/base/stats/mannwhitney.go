package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactPairs is the largest number of pairs for which the distribution of the Mann-Whitney count is computed exactly.
// Beyond it the normal approximation with continuity correction is used. It is then as good, and its errors in the
// tails make p-values too large.
const exactPairs = 400

// rankCount is the distribution of the Mann-Whitney count if both samples come from one population: the number of
// pairs in which the value of the first sample is below the value of the second (Mann and Whitney, Annals of
// Mathematical Statistics 18, 1947).
type rankCount struct {
	m, n int
	// below[c] is P(count <= c), for c up to half of the pairs; nil if it is approximated.
	below []float64
}

// newRankCount computes the distribution by the recurrence of Mann and Whitney: the largest of all i+j values belongs
// to the sample of size i with probability i/(i+j).
func newRankCount(m, n int) rankCount {
	r := rankCount{m: m, n: n}
	if m < 1 || n < 1 || m*n > exactPairs {
		return r
	}
	half := m * n / 2
	before := make([][]float64, n+1)
	for j := range before {
		before[j] = []float64{1} // with no values in the first sample, the count is 0
	}
	for i := 1; i <= m; i++ {
		row := make([][]float64, n+1)
		row[0] = []float64{1}
		for j := 1; j <= n; j++ {
			row[j] = make([]float64, min(i*j, half)+1)
			share := float64(i) / float64(i+j)
			for u := range row[j] {
				// The largest value is in the first sample and above all j of the second, or it is in the second.
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

// p is the two-sided p-value of a count of at most c, or at least m*n - c.
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

// MinTrials is the smallest number of trials on each side that can, as a rule, show a difference at level alpha in a
// table of this many unpaired comparisons. With fewer, the p-value is too large even if all trials of one side are
// above all of the other. It is 6 for one comparison at 0.05, and 11 for 20.
//
// The exact number depends on the scatter of the trials. The assumed standard error is 1.1 times the error of two
// sides whose trials alternate once their difference is subtracted. Nine of ten draws of normal noise have less.
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
