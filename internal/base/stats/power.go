package stats

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Power is the probability of finding a detectable difference.
const Power = 0.8

// MaxBlocks is the largest number of blocks that a search considers.
const MaxBlocks = 10000

// Noise is the scatter of the paired differences of a comparison, and the size of its table: everything needed to say
// which differences can be found.
//
// The scatter is a kernel density estimate with normal kernels at the deviations of the differences from their median
// and at their mirror images. The assumed noise is thus symmetric, but can have several modes or heavy tails. With
// few blocks the kernels are wide, and the estimate is close to a normal distribution.
//
// If trials are rounded to a step, a true difference x below the step is rounded to 0 in a share of 1 - x/step of the
// blocks, and differences of 0 count against both signs.
type Noise struct {
	// blocks is the effective number of blocks, measuredBlocks the actual number, which is larger if blocks depend on
	// each other.
	blocks, measuredBlocks, tests int
	deviations                    []float64
	bandwidth                     float64
	// step is what the trials are rounded to; 0 if no two differences are equal.
	step float64
}

// bandwidthFactor is c in the kernel's bandwidth, h = c * scale * n^(-1/5). Silverman's 1.06 makes the detectable
// difference too large. With 0.8 the power at it is closest to Power (TestPowerAtDetectable).
const bandwidthFactor = 0.8

// mostScales bounds what one difference adds to the scale, in robust standard deviations: the median absolute deviation
// divided by normalMAD, its value for a standard normal distribution. Without it a few stalled trials widen the kernels
// of all others, and Detectable is up to 1.6 times too large (TestBaselinesPredictLaterRuns).
const (
	mostScales = 3
	normalMAD  = 0.6744897501960817
)

// absolute gives the sorted absolute values.
func absolute(values []float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = math.Abs(v)
	}
	slices.Sort(all)
	return all
}

// newNoise estimates the scatter of sorted differences. It is unknown with fewer than 2 differences, or if all are
// equal.
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
	// A lost value can outweigh any difference with its own sign. It stays among the deviations, but does not count
	// for their scale.
	rest := finite(deviations)
	if len(rest) < 2 {
		return noise
	}
	noise.step = stepOf(sorted)
	most := mostScales * median(absolute(rest)) / normalMAD
	if most == 0 { // more than half of the differences are equal, as trials are rounded
		most = math.Inf(1)
	}
	for _, d := range rest {
		sum += math.Min(math.Abs(d), most)
	}
	// For a normal distribution, standard deviation = sqrt(pi/2) * mean absolute deviation.
	scale := math.Sqrt(math.Pi/2) * sum / float64(len(rest)-1)
	bandwidth := bandwidthFactor * scale * math.Pow(float64(len(sorted)), -0.2)
	if known(bandwidth).Known && bandwidth > 0 {
		noise.deviations, noise.bandwidth = deviations, bandwidth
	}
	return noise
}

// stepOf is the smallest distance between sorted differences if some of them are equal, up to the rounding of a
// float64; 0 if none are.
func stepOf(sorted []float64) float64 {
	step, equal := math.Inf(1), false
	rest := finite(sorted)
	least := 1e-9 * math.Max(math.Abs(rest[0]), math.Abs(rest[len(rest)-1]))
	for i := 1; i < len(rest); i++ {
		if gap := rest[i] - rest[i-1]; gap <= least {
			equal = true
		} else {
			step = math.Min(step, gap)
		}
	}
	if !equal || math.IsInf(step, 1) {
		return 0
	}
	return step
}

// counting sets the effective number of blocks.
func (n Noise) counting(blocks int) Noise {
	n.blocks = blocks
	return n
}

// measured converts a number of additional effective blocks to blocks that must be measured.
func (n Noise) measured(more int) int {
	if n.blocks == 0 || n.blocks == n.measuredBlocks {
		return more
	}
	return int(math.Ceil(float64(more) * float64(n.measuredBlocks) / float64(n.blocks)))
}

// Detectable is the smallest true difference that these blocks find with probability Power at the level of one
// comparison of the table: Alpha divided by the number of comparisons, the level of the first step of Holm's
// procedure. Unknown with too few blocks, or if the differences do not vary.
//
// The sign test rejects if at most k blocks have the wrong sign, where k is the critical count of its level. Its
// power is Power if each block has the wrong sign with probability q, where q is the (1 - Power) quantile of
// Beta(k+1, n-k). The result is the shift that leaves the share q of the noise on the wrong side of 0.
func (n Noise) Detectable() Quantity {
	q := n.mostWrong()
	if !q.Known || n.bandwidth == 0 {
		return Quantity{}
	}
	return n.shiftFor(q.Value)
}

// mostWrong is the share of blocks with the wrong sign up to which the sign test has Power. Unknown with too few
// blocks.
func (n Noise) mostWrong() Quantity {
	k := criticalCount(n.blocks, n.level())
	if k < 0 {
		return Quantity{}
	}
	return known(distuv.Beta{Alpha: float64(k + 1), Beta: float64(n.blocks - k)}.Quantile(1 - Power))
}

// shiftFor is the shift that leaves the share q of the noise on the wrong side of 0. Unknown if so many values are lost
// that no shift does.
func (n Noise) shiftFor(q float64) Quantity {
	low, high := 0.0, n.bandwidth
	if n.wrongSign(math.MaxFloat64/2) > q {
		return Quantity{}
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

// BlocksNeeded is how many more blocks find a true difference of this size with probability Power: 0 if the present
// ones do, -1 if unknown or more than MaxBlocks.
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
	// Power is not monotonic in the number of blocks, because the critical count is a whole number. The search finds
	// a number that is enough; a smaller one can be enough too.
	more := n.measured(sort.Search(MaxBlocks+1, enough))
	if more > MaxBlocks {
		return -1
	}
	return more
}

func (n Noise) level() float64 { return Alpha / float64(max(n.tests, 1)) }

// wrongSign is the probability that one block has the wrong sign if the true difference is shift.
func (n Noise) wrongSign(shift float64) float64 {
	if n.step == 0 {
		return n.below(-shift)
	}
	const parts = 4 // the mean over the positions of the values between two steps
	var sum float64
	for i := range parts {
		sum += n.below((float64(i)+0.5)/parts*n.step - shift)
	}
	return sum / parts
}

// below is the probability that the noise of one block is below a limit.
func (n Noise) below(limit float64) float64 {
	var sum float64
	for _, d := range n.deviations {
		sum += math.Erfc((-limit-d)/(n.bandwidth*math.Sqrt2)) + math.Erfc((-limit+d)/(n.bandwidth*math.Sqrt2))
	}
	return sum / float64(4*len(n.deviations))
}
