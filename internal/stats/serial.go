package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Serial says whether the paired differences of a comparison depend on those of the blocks before.
type Serial struct {
	// PValue is that of the rank von Neumann test against positive dependence. Unknown with fewer than 10 blocks, or
	// where all differences are equal.
	PValue Quantity
	// Correlation is the rank correlation of neighbouring blocks, at least 0.
	Correlation float64
	// Counted is how many independent blocks the intervals, tests and the power of the comparison reckon with: all of
	// them, or fewer where the test rejects at the level Alpha and there are at least 15.
	Counted int
}

// The fewest blocks that are tested for dependence, those from which an interval allows for it, and what they count as
// at the least: what an interval of one comparison takes.
const (
	minSerial     = 10
	minCorrected  = 15
	fewestCounted = 6
)

// Reduced says that the intervals of so many blocks count them as fewer.
func (s Serial) Reduced(blocks int) bool { return s.Counted < blocks }

// serialOf looks at differences in the order of their blocks.
//
// The test is Bartels's (The Rank Version of von Neumann's Ratio Test for Randomness, JASA 77, 1982): the squared steps
// from rank to rank over the squared distances from the mean rank, with his approximation by a beta distribution. It
// assumes nothing of the shape of the noise. Half the ratio is 1 less the rank correlation r of neighbours, here with a
// correction for the bias of few blocks. n values whose correlation falls off by the factor r from block to block tell
// as much about their centre as n (1-r) / (1+r) independent ones (Bayley and Hammersley, Suppl. J. Royal Statist. Soc.
// 8, 1946).
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

// midranks gives each value its rank from 1; equal values share the mean of theirs.
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

// countedInterval is medianInterval where the values count as fewer independent ones: the same share of them is cut off
// on either side as of so few.
func countedInterval(sorted []float64, counted int, confidence float64) Interval {
	k := criticalCount(counted, 1-confidence)
	if k < 0 {
		return Interval{}
	}
	k = (k+1)*len(sorted)/counted - 1
	return Interval{Low: sorted[k], High: sorted[len(sorted)-1-k], Known: true}
}

// countedSignP is signP where n differences count as fewer. It rejects exactly where countedInterval excludes 0.
func countedSignP(n, counted, k int) float64 {
	return signP(counted, ((k+1)*counted+n-1)/n-1)
}
