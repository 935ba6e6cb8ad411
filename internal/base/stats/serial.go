package stats

import (
	"maps"
	"math"
	"math/rand/v2"
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

// FewestCorrected is the fewest blocks for which intervals are corrected for dependence.
const FewestCorrected = 15

// minSerial is the fewest blocks that are tested for dependence, and fewestCounted the smallest effective number: as
// many as an interval of one comparison needs.
const (
	minSerial     = 10
	fewestCounted = 6
)

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
	if n >= FewestCorrected && s.PValue.Value <= Alpha {
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

// orders is the number of random orders of the blocks in SerialTogether.
const orders = 999

// SerialTogether tests whether the paired differences of a run depend on those of the blocks before, in all comparisons
// together: a state that lasts several blocks seldom concerns a single arm, and one comparison of 12 blocks shows it
// in every third run at most. It gives the mean rank correlation of neighbouring blocks over the pairs, at least 0, and
// the p-value: the share of random orders of the blocks, the same for all pairs, with a mean at least as large. So the
// comparisons of a run may depend on each other. It takes 10 blocks; pairs with fewer are left out.
func SerialTogether(pairs []Pair) Serial {
	var all [][]Value // ranks less their mean, divided by the root of their sum of squares
	blocks := map[int]int{}
	for _, p := range pairs {
		if ranks := p.centredRanks(); ranks != nil {
			all = append(all, ranks)
			for _, v := range ranks {
				blocks[v.Block] = 0
			}
		}
	}
	s := Serial{Counted: len(blocks)}
	if len(all) == 0 {
		return s
	}
	for i, block := range slices.Sorted(maps.Keys(blocks)) {
		blocks[block] = i
	}
	at := make([]float64, len(blocks)) // the ranks of one pair in the order of the blocks; NaN for none
	mean := func(order []int) float64 {
		var sum float64
		for _, ranks := range all {
			for i := range at {
				at[i] = math.NaN()
			}
			for _, v := range ranks {
				at[order[blocks[v.Block]]] = v.Value
			}
			before := math.NaN()
			for _, rank := range at {
				if math.IsNaN(rank) {
					continue
				}
				if !math.IsNaN(before) {
					sum += before * rank
				}
				before = rank
			}
		}
		return sum / float64(len(all))
	}
	order := make([]int, len(blocks))
	for i := range order {
		order[i] = i
	}
	observed := mean(order)
	r := rand.New(rand.NewPCG(20261124, uint64(len(blocks))))
	asLarge := 1
	for range orders {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if mean(order) >= observed-1e-12 {
			asLarge++
		}
	}
	s.PValue = known(float64(asLarge) / (orders + 1))
	s.Correlation = math.Max(0, observed)
	return s
}

// centredRanks gives the ranks of the differences with their blocks, less their mean and with a sum of squares of 1;
// nil if there are too few, or if they do not vary.
func (p Pair) centredRanks() []Value {
	values := p.inOrder()
	if len(values) < minSerial {
		return nil
	}
	var squares float64
	for i, rank := range midranks(Numbers(values)) {
		values[i].Value = rank - float64(len(values)+1)/2
		squares += values[i].Value * values[i].Value
	}
	if squares == 0 {
		return nil
	}
	for i := range values {
		values[i].Value /= math.Sqrt(squares)
	}
	return values
}
