package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Serial describes whether the paired differences of a comparison depend on those of earlier blocks.
type Serial struct {
	// PValue is the p-value of the rank von Neumann test against positive dependence. Unknown with fewer than 10
	// blocks, or if all differences are equal.
	PValue Quantity
	// Correlation is the rank correlation of neighbouring blocks, at least 0.
	Correlation float64
	// Counted is the effective number of blocks, which the intervals, tests and power of the comparison use. It is
	// the number of blocks, or less if the test rejects at the level Alpha and there are at least 15.
	Counted int
}

// minSerial is the fewest blocks that are tested for dependence, minCorrected the fewest for which the interval is
// corrected, and fewestCounted the smallest effective number: as many as an interval of one comparison needs.
const (
	minSerial     = 10
	minCorrected  = 15
	fewestCounted = 6
)

// Reduced says that the effective number is below the number of blocks.
func (s Serial) Reduced(blocks int) bool { return s.Counted < blocks }

// serialOf tests differences in the order of their blocks.
//
// The test is Bartels's (The Rank Version of von Neumann's Ratio Test for Randomness, JASA 77, 1982), with his
// approximation by a beta distribution. The statistic is RVN = sum (R(i) - R(i-1))^2 / sum (R(i) - mean R)^2, where R
// are ranks, so the test assumes nothing about the distribution of the noise. The rank correlation of neighbours is r
// = 1 - RVN/2, here multiplied by 1 + 4/n to correct the bias with few blocks. The effective number of blocks is n
// (1-r) / (1+r), for a correlation that falls by the factor r from block to block (Bayley and Hammersley, Suppl. J.
// Royal Statist. Soc. 8, 1946).
func serialOf(inOrder []float64) Serial {
	n := len(inOrder)
	s := Serial{Counted: n}
	if n < minSerial {
		return s
	}
	ranks := midranks(inOrder)
	var steps, squares float64
	for i, r := range ranks {
		off := r - float64(n+1)/2
		squares += off * off
		if i > 0 {
			steps += (r - ranks[i-1]) * (r - ranks[i-1])
		}
	}
	if squares == 0 {
		return s
	}
	ratio, size := steps/squares, float64(n)
	shape := 5*size*(size+1)*(size-1)*(size-1)/(2*(size-2)*(5*size*size-2*size-9)) - 0.5
	s.PValue = known(distuv.Beta{Alpha: shape, Beta: shape}.CDF(math.Min(ratio/4, 1)))
	s.Correlation = math.Min(math.Max(0, (1-ratio/2)*(1+4/size)), 0.9)
	if n >= minCorrected && s.PValue.Value <= Alpha {
		s.Counted = max(fewestCounted, int(size*(1-s.Correlation)/(1+s.Correlation)))
	}
	return s
}

// midranks gives each value its rank, counted from 1; equal values share their mean rank.
func midranks(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	ranks := make([]float64, len(values))
	for i, v := range values {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last < len(sorted) && sorted[last] == v {
			last++
		}
		ranks[i] = float64(first+last+1) / 2
	}
	return ranks
}

// countedInterval is medianInterval for an effective number of values below len(sorted): it cuts off the same share
// of values on each side as for counted values.
func countedInterval(sorted []float64, counted int, confidence float64) Interval {
	return countedOrder(sorted, counted, criticalCount(counted, 1-confidence))
}

// countedOrder cuts off the same share of sorted values on each side as cutting off the k+1 outermost of counted values
// does; unknown if k is -1.
func countedOrder(sorted []float64, counted, k int) Interval {
	if k < 0 {
		return Interval{}
	}
	k = (k+1)*len(sorted)/counted - 1
	return Interval{Low: sorted[k], High: sorted[len(sorted)-1-k], Known: true}
}

// countedAgainst is how many of counted differences contradict, if k of n do.
func countedAgainst(n, counted, k int) int { return ((k+1)*counted+n-1)/n - 1 }

// countedSignP is signP for n differences with the effective number counted. It rejects exactly if countedInterval
// excludes 0.
func countedSignP(n, counted, k int) float64 {
	return signP(counted, countedAgainst(n, counted, k))
}
