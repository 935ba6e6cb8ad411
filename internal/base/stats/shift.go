package stats

import (
	"math"
	"sort"
)

// shift is the set of all differences between a value of one sample and a value of the other. They are never stored:
// with sorted samples they can be counted.
type shift struct {
	// above and below are sorted.
	above, below []float64
	// of is the difference between a value of above and one of below. It increases with the first and decreases with
	// the second.
	of func(above, below float64) float64
}

// pairs is how many differences there are.
func (s shift) pairs() int { return len(s.above) * len(s.below) }

// count is the number of differences below v, or at most v if orEqual is set.
func (s shift) count(v float64, orEqual bool) int {
	total, from := 0, 0
	for _, a := range s.above {
		for from < len(s.below) {
			d := s.of(a, s.below[from])
			if d < v || orEqual && d == v {
				break
			}
			from++
		}
		total += len(s.below) - from
	}
	return total
}

// at is the k-th smallest difference, k from 1.
func (s shift) at(k int) float64 {
	low := ordered(s.of(s.above[0], s.below[len(s.below)-1]))
	high := ordered(s.of(s.above[len(s.above)-1], s.below[0]))
	for low < high {
		middle := low + (high-low)/2
		if s.count(unordered(middle), true) >= k {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return unordered(low) + 0 // turns a negative zero into 0
}

// median is the median of all differences: for plain differences, the estimate of Hodges and Lehmann (Annals of
// Mathematical Statistics 34, 1963).
func (s shift) median() float64 {
	pairs := s.pairs()
	low := s.at((pairs + 1) / 2)
	if pairs%2 == 1 {
		return low
	}
	return low/2 + s.at(pairs/2+1)/2
}

// wrong is the share of pairs that would have the wrong sign if the true difference were the given one. The noise is
// the differences around their median and their mirror images, so it is symmetric.
func (s shift) wrong(centre, difference float64) float64 {
	beyond := s.count(centre-difference, true) + s.pairs() - s.count(centre+difference, false)
	return float64(beyond) / float64(2*s.pairs())
}

// deviation is the standard error of the share of pairs whose difference is above the given value, and its degrees of
// freedom. It allows each sample its own scatter and distribution (Brunner and Munzel, Biometrical Journal 42, 2000;
// DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988). Unknown if a sample has one value.
func (s shift) deviation(at float64) (deviation, freedom float64, known bool) {
	m, n := len(s.below), len(s.above)
	if m < 2 || n < 2 {
		return 0, 0, false
	}
	share := func(size int, first, last int) float64 { return (float64(first) + float64(last)) / 2 / float64(size) }
	ofBelow, ofAbove := make([]float64, m), make([]float64, n)
	for i, b := range s.below {
		ofBelow[i] = share(n,
			n-sort.Search(n, func(j int) bool { return s.of(s.above[j], b) > at }),
			n-sort.Search(n, func(j int) bool { return s.of(s.above[j], b) >= at }))
	}
	for j, a := range s.above {
		ofAbove[j] = share(m,
			sort.Search(m, func(i int) bool { return s.of(a, s.below[i]) <= at }),
			sort.Search(m, func(i int) bool { return s.of(a, s.below[i]) < at }))
	}
	below := sumSquares(ofBelow) / float64(m-1) / float64(m)
	above := sumSquares(ofAbove) / float64(n-1) / float64(n)
	variance := below + above
	if variance == 0 {
		return 0, float64(m + n - 2), true
	}
	// Satterthwaite, Biometrics Bulletin 2, 1946.
	freedom = variance * variance / (below*below/float64(m-1) + above*above/float64(n-1))
	return math.Sqrt(variance), freedom, true
}

// ordered maps numbers to integers in the same order; unordered is its inverse.
func ordered(v float64) uint64 {
	b := math.Float64bits(v)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func unordered(b uint64) float64 {
	if b>>63 == 1 {
		return math.Float64frombits(b &^ (1 << 63))
	}
	return math.Float64frombits(^b)
}
