package stats

import (
	"math"
	"slices"
)

// winsorDeviations is how many robust standard deviations a trial may lie from where its arm and its block put it,
// before it is moved to that distance. docs/adr/0078-robust-layers.md says why 4. With more than winsorBlocks blocks it
// is more: moving skewed trials makes a mean smaller, and the mean of many blocks is known well enough to show that.
const (
	winsorDeviations = 4
	winsorBlocks     = 12
)

// A half of normal values lie within normalHalf standard deviations of their centre, and four fifths within
// normalFifths.
const (
	normalHalf   = 0.67449
	normalFifths = 1.28155
)

// polishRounds is how often the effects of arms and blocks are estimated in turn. They change little after the first.
const polishRounds = 4

// rounding is the share of the largest distance below which another is taken for an error of rounding.
const rounding = 1e-12

// table has the values of each block and arm. An arm can have several in a block, or none.
type table [][][]float64

// means gives the mean of each block and arm; NaN without a value.
func (t table) means() [][]float64 {
	rows := make([][]float64, len(t))
	for i, block := range t {
		rows[i] = make([]float64, len(block))
		for arm, values := range block {
			rows[i][arm] = math.NaN()
			if len(values) > 0 {
				rows[i][arm] = meanOf(values)
			}
		}
	}
	return rows
}

// winsorise moves values that lie more than winsorDeviations robust standard deviations from the sum of the effects of
// their arm and block to that distance. The effects are medians (Tukey's median polish; Tukey, Exploratory Data
// Analysis, 1977, chapter 11), so a value that is far off does not move them.
//
// The standard deviation comes from the median distance of the arm, because longer paths are noisier, but is at least
// that from four fifths of the distances of all arms. The median of an arm alone would depend on chance: if values have
// two modes, it is the distance within a mode in some arms and the distance between the modes in others.
//
// It returns the share of values that stay, at least 0.8. Standard errors from the moved values are to be divided by
// it: they see less scatter than there is (Tukey and McLaughlin, Sankhya A 25, 1963, for winsorised means).
func (t table) winsorise() (stay float64) {
	arms, blocks := t.polish()
	residuals := make([][]float64, len(arms))
	var all []float64
	for i, block := range t {
		for arm, values := range block {
			for _, v := range values {
				r := math.Abs(v - arms[arm] - blocks[i])
				residuals[arm], all = append(residuals[arm], r), append(all, r)
			}
		}
	}
	pooled := robustDeviation(all, 0.8, normalFifths)
	if least := rounding * all[len(all)-1]; pooled <= least { // a tool rounds coarsely: about a step of the tool
		pooled = above(all, least)
	}
	moved := 0
	deviations := winsorDeviations * math.Pow(math.Max(1, float64(len(t))/winsorBlocks), 0.25)
	for arm := range arms {
		limit := deviations * math.Max(pooled, robustDeviation(residuals[arm], 0.5, normalHalf))
		for i, block := range t {
			for k, v := range block[arm] {
				if r := v - arms[arm] - blocks[i]; math.Abs(r) > limit {
					block[arm][k] = arms[arm] + blocks[i] + math.Copysign(limit, r)
					moved++
				}
			}
		}
	}
	return 1 - float64(moved)/float64(len(all))
}

// polish estimates the effect of each arm and of each block.
func (t table) polish() (arms, blocks []float64) {
	arms, blocks = make([]float64, len(t[0])), make([]float64, len(t))
	for range polishRounds {
		// Blocks come first, so that their effects do not influence those of the arms, however large they are.
		for i, block := range t {
			var values []float64
			for arm, of := range block {
				if len(of) > 0 {
					values = append(values, middle(slices.Clone(of))-arms[arm])
				}
			}
			blocks[i] = middle(values)
		}
		for arm := range arms {
			var values []float64
			for i, block := range t {
				for _, v := range block[arm] {
					values = append(values, v-blocks[i])
				}
			}
			arms[arm] = middle(values)
		}
	}
	return arms, blocks
}

// middle sorts the values and returns their median; 0 for none.
func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return median(values)
}

// robustDeviation is the standard deviation of normal values of which the share lies within the given number of
// standard deviations of the centre; 0 for none. It sorts the distances.
func robustDeviation(distances []float64, share, within float64) float64 {
	if len(distances) == 0 {
		return 0
	}
	slices.Sort(distances)
	return distances[int(share*float64(len(distances)))] / within
}

// above is the smallest of sorted distances that exceeds a bound; 0 for none.
func above(distances []float64, bound float64) float64 {
	for _, d := range distances {
		if d > bound {
			return d
		}
	}
	return 0
}
