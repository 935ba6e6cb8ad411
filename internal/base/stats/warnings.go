package stats

import (
	"math"
	"slices"
)

// Warning is something that a reader of the numbers must know. The function that returns a warning documents its
// Facts.
type Warning struct {
	Code  string
	Facts map[string]float64
}

// The codes of warnings.
const (
	CodeDrift        = "drift"
	CodeArmDrift     = "arm-drift"
	CodeBlocksDepend = "blocks-depend"
	CodeBimodal      = "bimodal"
	CodeOutlierBlock = "outlier-block"
	CodeZeroSpread   = "zero-spread"
)

// minSeries is the fewest values from which a trend or a distribution is judged.
const minSeries = 8

// notable is the smallest effect that causes a warning, relative to the level of the statistic.
const notable = 0.02

// ZeroSpread warns if two or more trials gave exactly the same value: the clock or the tool's rounding is coarser
// than the differences between trials. Facts: trials, value.
func ZeroSpread(values []float64) (Warning, bool) {
	s := Summarize(values)
	if s.Count < 2 || s.Min.Value != s.Max.Value {
		return Warning{}, false
	}
	return Warning{CodeZeroSpread, map[string]float64{"trials": float64(s.Count), "value": s.Min.Value}}, true
}

// BlockEffect is the offset of a block from the others.
type BlockEffect struct {
	Block int
	// Middle is the median over the arms of the block's offsets from the arms' medians.
	Middle float64
	// Shared is the largest offset that more than half of the arms have in one direction; 0 if there is none. With two
	// arms both have it, so that one trial that stalled in one of them is no offset of the block.
	Shared float64
}

// BlockEffects gives the offset of each block, in the order of blocks. OutlierBlocks reads it.
func BlockEffects(trials []Trial) []BlockEffect {
	byArm := make(map[string][]float64)
	for _, t := range trials {
		byArm[t.Arm] = append(byArm[t.Arm], t.Value)
	}
	centre := make(map[string]float64, len(byArm))
	for arm, values := range byArm {
		centre[arm] = Summarize(values).Median.Value
	}
	byBlock := make(map[int][]float64)
	for _, t := range trials {
		if off := t.Value - centre[t.Arm]; known(off).Known {
			byBlock[t.Block] = append(byBlock[t.Block], off)
		}
	}
	var effects []BlockEffect
	for block, values := range byBlock {
		slices.Sort(values)
		effects = append(effects, BlockEffect{block, median(values), shared(values)})
	}
	slices.SortFunc(effects, func(a, b BlockEffect) int { return a.Block - b.Block })
	return effects
}

// shared is the largest offset that more than half of the sorted values have, in one direction; 0 if there is none.
func shared(sorted []float64) float64 {
	majority := len(sorted)/2 + 1
	if low := sorted[len(sorted)-majority]; low > 0 {
		return low // as many values as the majority are at least this
	}
	return math.Min(0, sorted[majority-1])
}

// outlierThreshold is how many robust standard deviations an outlier block differs from the median of the block
// effects, at least.
const outlierThreshold = 6

// OutlierBlocks warns of single blocks in which most arms differ from their medians by more than 6 robust standard
// deviations of the blocks' Middle (1.4826 times the median absolute deviation) and by at least 2 % of level. There is
// one warning for each block, in the order given. Facts: block, effect (in the statistic's unit), relative (to level),
// distance (in robust standard deviations).
func OutlierBlocks(effects []BlockEffect, level float64) []Warning {
	middles := make([]float64, len(effects))
	for i, e := range effects {
		middles[i] = e.Middle
	}
	s := Summarize(middles)
	if s.Count < minSeries {
		return nil
	}
	var deviations []float64
	for _, v := range s.sorted {
		deviations = append(deviations, math.Abs(v-s.Median.Value))
	}
	spread := 1.4826 * Summarize(deviations).Median.Value
	if spread == 0 {
		return nil
	}
	var warnings []Warning
	for _, e := range effects {
		off := e.Shared - s.Median.Value
		relative := off / math.Abs(level)
		if math.Abs(off) > outlierThreshold*spread && known(relative).Known && known(off/spread).Known &&
			math.Abs(relative) >= notable {
			warnings = append(warnings, Warning{CodeOutlierBlock, map[string]float64{
				"block": float64(e.Block), "effect": off, "relative": relative, "distance": off / spread,
			}})
		}
	}
	return warnings
}

// Bimodal warns if an arm's trials fall into two groups. It takes the widest gap between neighbours that leaves at
// least a fifth of the trials, and at least 3, on each side. The gap must be wider than bimodalGap times the standard
// deviation inside the groups, and at least 2 % of the median. TestDetectorFalseAlarms measures how often noise with
// one mode triggers it.
// Facts: trials, below, above (how many are on each side), low, high (the groups' medians), gap.
func Bimodal(values []float64) (Warning, bool) {
	s := Summarize(values)
	if s.Count < minSeries {
		return Warning{}, false
	}
	split, gap, ratio := widestGap(s.sorted)
	if ratio <= bimodalGap(s.Count) || gap < notable*math.Abs(s.Median.Value) {
		return Warning{}, false
	}
	return Warning{CodeBimodal, map[string]float64{
		"trials": float64(s.Count), "below": float64(split), "above": float64(s.Count - split),
		"low": median(s.sorted[:split]), "high": median(s.sorted[split:]), "gap": gap,
	}}, true
}

// widestGap finds the widest gap that leaves enough values on both sides. It returns how many values are below it,
// its width, and the width divided by the pooled standard deviation inside the two groups.
func widestGap(sorted []float64) (below int, gap, ratio float64) {
	n := len(sorted)
	side := max(3, (n+4)/5)
	for i := side; i <= n-side; i++ {
		if g := sorted[i] - sorted[i-1]; g > gap {
			below, gap = i, g
		}
	}
	if gap == 0 {
		return 0, 0, 0
	}
	squares := sumSquares(sorted[:below]) + sumSquares(sorted[below:])
	if squares == 0 {
		return below, gap, math.MaxFloat64
	}
	return below, gap, gap / math.Sqrt(squares/float64(n-2))
}

// bimodalGap is the limit for the widest gap, in standard deviations inside the groups. n trials with one mode stay
// below it in at least 98 of 100 cases. It is larger for few trials, whose gaps are wide. It is fitted to simulations
// of normal, uniform, log-normal and heavy-tailed noise.
func bimodalGap(n int) float64 { return math.Max(2, 50/float64(n)) }
