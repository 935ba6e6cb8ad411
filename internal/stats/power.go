package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Power is the probability with which a detectable difference is found.
const Power = 0.8

// MaxBlocks bounds how many blocks are thought of.
const MaxBlocks = 10000

// Noise is how the paired differences of a comparison scatter, and the table that it stands in: all that it takes to say which
// differences could have been found.
//
// The scatter is a kernel estimate: normal bumps on the deviations of the differences from their median and on the
// mirror images of these, so that the assumed noise is symmetric but of any other shape, with two modes or heavy tails. With few
// blocks the bumps are wide, and the estimate is close to a normal distribution.
type Noise struct {
	// blocks is what the blocks count as, measuredBlocks how many there are: more, where they depend on each other.
	blocks, measuredBlocks, tests int
	deviations                    []float64
	bandwidth                     float64
}

// bandwidthFactor stands before scale * n^(-1/5) in the kernel's bandwidth. Silverman's 1.06 makes the detectable difference
// too large; with this one the power at it is closest to Power (TestPowerAtDetectable).
const bandwidthFactor = 0.8

// newNoise estimates the scatter of sorted differences. With fewer than 2, or where all are equal, nothing is known of it.
func newNoise(sorted []float64) Noise {
	noise := Noise{blocks: len(sorted), measuredBlocks: len(sorted), tests: 1}
	if len(sorted) < 2 || sorted[0] == sorted[len(sorted)-1] {
		return noise
	}
	centre, sum := median(sorted), 0.0
	if !known(centre).Known {
		return noise
	}
	deviations := make([]float64, len(sorted))
	for i, v := range sorted {
		deviations[i] = v - centre
	}
	// A lost value is noise that takes any difference for its own sign: it stays among the deviations, and out of their scale.
	rest := finite(deviations)
	if len(rest) < 2 {
		return noise
	}
	for _, d := range rest {
		sum += math.Abs(d)
	}
	// A normal distribution's standard deviation is sqrt(pi/2) times its mean absolute deviation.
	scale := math.Sqrt(math.Pi/2) * sum / float64(len(rest)-1)
	bandwidth := bandwidthFactor * scale * math.Pow(float64(len(sorted)), -0.2)
	if known(bandwidth).Known && bandwidth > 0 {
		noise.deviations, noise.bandwidth = deviations, bandwidth
	}
	return noise
}

// counting gives the noise where the blocks count as so many independent ones.
func (n Noise) counting(blocks int) Noise {
	n.blocks = blocks
	return n
}

// measured is how many more blocks must be measured for so many more that count.
func (n Noise) measured(more int) int {
	if n.blocks == 0 || n.blocks == n.measuredBlocks {
		return more
	}
	return int(math.Ceil(float64(more) * float64(n.measuredBlocks) / float64(n.blocks)))
}

// Detectable is the smallest true difference that these blocks find with the probability Power at the level of one
// comparison of the table: Alpha divided by the number of comparisons, what Holm's procedure asks of the first. Unknown
// where the blocks are too few, or where the differences do not vary at all.
//
// The sign test rejects where at most k of the blocks have the wrong sign, k the critical count of its level. The probability
// of that is Power where each block has the wrong sign with probability q, a quantile of the beta distribution; the answer is
// the shift that leaves the share q of the noise on the wrong side of 0.
func (n Noise) Detectable() Quantity {
	k := criticalCount(n.blocks, n.level())
	if k < 0 || n.bandwidth == 0 {
		return Quantity{}
	}
	q := distuv.Beta{Alpha: float64(k + 1), Beta: float64(n.blocks - k)}.Quantile(1 - Power)
	low, high := 0.0, n.bandwidth
	if n.wrongSign(math.MaxFloat64/2) > q {
		return Quantity{} // more values are lost than the test can bear
	}
	for n.wrongSign(high) > q {
		high *= 2
	}
	for range 40 {
		if middle := low + (high-low)/2; n.wrongSign(middle) > q {
			low = middle
		} else {
			high = middle
		}
	}
	return known(high)
}

// BlocksNeeded is how many more blocks find a true difference of this size with the probability Power: 0 where these
// ones already do, -1 where that is not known or more than MaxBlocks.
func (n Noise) BlocksNeeded(difference float64) int {
	difference = math.Abs(difference)
	if n.bandwidth == 0 || !known(difference).Known || difference == 0 {
		return -1
	}
	wrong := n.wrongSign(difference)
	enough := func(more int) bool {
		blocks := n.blocks + more
		k := criticalCount(blocks, n.level())
		return k >= 0 && distuv.Binomial{N: float64(blocks), P: wrong}.CDF(float64(k)) >= Power
	}
	if enough(0) {
		return 0
	}
	// Power dips slightly now and then as blocks are added, because the critical count is a whole number. What the search finds is
	// enough in any case; it may miss an earlier peak.
	more := n.measured(sort.Search(MaxBlocks+1, enough))
	if more > MaxBlocks {
		return -1
	}
	return more
}

func (n Noise) level() float64 { return Alpha / float64(max(n.tests, 1)) }

// wrongSign is the probability that one block has the wrong sign where the true difference is shift.
func (n Noise) wrongSign(shift float64) float64 {
	var sum float64
	for _, d := range n.deviations {
		sum += math.Erfc((shift-d)/(n.bandwidth*math.Sqrt2)) + math.Erfc((shift+d)/(n.bandwidth*math.Sqrt2))
	}
	return sum / float64(4*len(n.deviations))
}
