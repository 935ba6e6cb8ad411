package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// driftLevel is the level at which drift is looked for, over all arms of a workload together.
const driftLevel = 0.01

// trend is how a series rises or falls over the blocks.
type trend struct {
	sorted []Value
	// p is that of the Mann-Kendall test; first and last are the medians of the first and the last third of the values.
	p, first, last float64
}

// trendOf looks at the finite values in the order of their blocks; false where there are fewer than 8 or more than
// MaxBlocks.
func trendOf(values []Value) (trend, bool) {
	sorted := slices.DeleteFunc(inBlockOrder(values), func(v Value) bool { return !known(v.Value).Known })
	n := len(sorted)
	if n < minSeries || n > MaxBlocks {
		return trend{}, false
	}
	var rises float64
	for i, a := range sorted {
		for _, b := range sorted[i+1:] {
			switch {
			case b.Block == a.Block:
			case b.Value > a.Value:
				rises++
			case b.Value < a.Value:
				rises--
			}
		}
	}
	third := (n + 2) / 3
	return trend{sorted, kendallP(rises, sorted), medianOf(sorted[:third]), medianOf(sorted[n-third:])}, true
}

func medianOf(values []Value) float64 {
	numbers := make([]float64, len(values))
	for i, v := range values {
		numbers[i] = v.Value
	}
	slices.Sort(numbers)
	return median(numbers)
}

// Drift warns where values rise or fall over the blocks: the Mann-Kendall test (Mann, Econometrica 13, 1945; Kendall,
// Rank Correlation Methods, 1948) rejects at 0.01, and the change from the first block to the last is at least 2 % of
// level, the statistic's typical size. The change is the median slope between pairs (Sen, JASA 63, 1968) times the
// number of blocks between. Facts: blocks, change (in the statistic's unit), relative (to level), p_value, first, last
// (medians of the first and the last third of the values; a relative change is to be taken of these: that of level can
// be below -100 %).
func Drift(values []Value, level float64) (Warning, bool) {
	t, ok := trendOf(values)
	if !ok || t.p >= driftLevel {
		return Warning{}, false
	}
	change := medianSlope(t.sorted) * float64(t.sorted[len(t.sorted)-1].Block-t.sorted[0].Block)
	relative := change / math.Abs(level)
	if !known(relative).Known || math.Abs(relative) < notable {
		return Warning{}, false
	}
	return Warning{CodeDrift, map[string]float64{
		"blocks": float64(len(t.sorted)), "change": change, "relative": relative, "p_value": t.p, "first": t.first, "last": t.last,
	}}, true
}

// CommonDrift is a drift that most arms share. Pairing within blocks takes what they share out of the differences.
type CommonDrift struct {
	// First and Last are the medians of the first and the last third of the blocks, as parts of each arm's own median.
	First, Last float64
	PValue      float64
	// Arms share the drift; Others do not, or not clearly.
	Arms, Others []string
}

// Relative is how far the last third of the blocks lies above the first, as a part of the first: never below -1.
func (d CommonDrift) Relative() float64 { return d.Last/d.First - 1 }

// FindCommonDrift looks for a drift of all arms together, in the median over the arms of a block's values, each as a
// part of its arm's own median. It asks that the Mann-Kendall test rejects at 0.01, that the change is at least 2 %,
// and that more than half of the arms move in the same direction by at least half as much, and rejects at 0.05 for each
// of them; else it is not common. None where an arm's median is not above 0.
func FindCommonDrift(trials []Trial) (CommonDrift, bool) {
	arms, byArm := trialsByArm(trials)
	byBlock := make(map[int][]float64)
	for _, arm := range arms {
		centre := medianOf(byArm[arm])
		if !(centre > 0) {
			return CommonDrift{}, false
		}
		for i := range byArm[arm] {
			v := &byArm[arm][i]
			v.Value /= centre
			byBlock[v.Block] = append(byBlock[v.Block], v.Value)
		}
	}
	var common []Value
	for block, values := range byBlock {
		slices.Sort(values)
		common = append(common, Value{block, median(values)})
	}
	t, ok := trendOf(common)
	d := CommonDrift{First: t.first, Last: t.last, PValue: t.p}
	if !ok || t.p >= driftLevel || !known(d.Relative()).Known || math.Abs(d.Relative()) < notable {
		return CommonDrift{}, false
	}
	half := math.Log(t.last/t.first) / 2
	for _, arm := range arms {
		own, ok := trendOf(byArm[arm])
		if change := math.Log(own.last / own.first); ok && own.p < Alpha && change/half >= 1 {
			d.Arms = append(d.Arms, arm)
		} else {
			d.Others = append(d.Others, arm)
		}
	}
	return d, len(d.Arms) > len(d.Others)
}

// ArmDrift is a drift of an arm's paired differences from the baseline: the difference itself changes during the run.
type ArmDrift struct {
	Arm string
	// First and Last are the medians of the differences in the first and the last third of the blocks, in the
	// statistic's unit.
	First, Last float64
	// PValue is corrected for the number of arms (Holm).
	PValue float64
}

// FindArmDrifts looks for drift in each arm's paired differences: the Mann-Kendall test rejects at 0.01, corrected for
// the number of arms, and the change is at least 2 % of the median of the arm or of the baseline, whichever is larger
// in size.
func FindArmDrifts(trials []Trial, baseline string) []ArmDrift {
	arms, byArm := trialsByArm(trials)
	var tested []ArmDrift
	var raw, levels []float64
	for _, arm := range arms {
		if arm == baseline {
			continue
		}
		t, ok := trendOf(Pair{Arm: byArm[arm], Baseline: byArm[baseline]}.inOrder())
		if !ok {
			continue
		}
		tested = append(tested, ArmDrift{Arm: arm, First: t.first, Last: t.last})
		raw = append(raw, t.p)
		levels = append(levels, math.Max(math.Abs(medianOf(byArm[arm])), math.Abs(medianOf(byArm[baseline]))))
	}
	var found []ArmDrift
	for i, p := range Holm(raw) {
		d := tested[i]
		d.PValue = p
		if p < driftLevel && math.Abs(d.Last-d.First) >= notable*levels[i] && d.Last != d.First {
			found = append(found, d)
		}
	}
	return found
}

// inOrder gives the paired differences with their blocks.
func (p Pair) inOrder() []Value {
	baseline := make(map[int]float64, len(p.Baseline))
	for _, v := range slices.Backward(p.Baseline) {
		baseline[v.Block] = v.Value
	}
	var differences []Value
	for _, v := range p.Arm {
		if b, ok := baseline[v.Block]; ok && known(v.Value-b).Known {
			differences = append(differences, Value{v.Block, v.Value - b})
			delete(baseline, v.Block)
		}
	}
	return differences
}

// trialsByArm sorts the finite values by arm; the arms are in the order of their first trials.
func trialsByArm(trials []Trial) (arms []string, byArm map[string][]Value) {
	byArm = make(map[string][]Value)
	for _, t := range trials {
		if !known(t.Value).Known {
			continue
		}
		if byArm[t.Arm] == nil {
			arms = append(arms, t.Arm)
		}
		byArm[t.Arm] = append(byArm[t.Arm], Value{t.Block, t.Value})
	}
	return arms, byArm
}

// maxSloped is of how many values the slopes between all pairs are looked at: half a million. The slopes of MaxBlocks
// would take 400 MB.
const maxSloped = 1000

// medianSlope is the median slope between pairs of values, NaN where all are of one block. Of more than maxSloped
// values it takes some that are evenly spread.
func medianSlope(sorted []Value) float64 {
	step := (len(sorted) + maxSloped - 1) / maxSloped
	var slopes []float64
	for i := 0; i < len(sorted); i += step {
		for j := i + step; j < len(sorted); j += step {
			if a, b := sorted[i], sorted[j]; a.Block != b.Block {
				slopes = append(slopes, (b.Value-a.Value)/float64(b.Block-a.Block))
			}
		}
	}
	if len(slopes) == 0 {
		return math.NaN()
	}
	slices.Sort(slopes)
	return median(slopes)
}

// kendallP is the two-sided p-value of Mann-Kendall's S, from its normal approximation with the correction for
// continuity and ties (Kendall, chapter 4). It is close from about 8 values on.
func kendallP(s float64, values []Value) float64 {
	part := func(n float64) float64 { return n * (n - 1) * (2*n + 5) }
	variance := part(float64(len(values)))
	tied := make(map[float64]float64)
	for _, v := range values {
		tied[v.Value]++
	}
	for _, n := range tied {
		variance -= part(n)
	}
	if variance <= 0 {
		return 1
	}
	z := math.Max(math.Abs(s)-1, 0) / math.Sqrt(variance/18)
	return 2 * distuv.UnitNormal.CDF(-z)
}
