package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// driftLevel is the level of the tests for drift, for all arms of a workload together.
const driftLevel = 0.01

// trend describes how a series rises or falls over the blocks.
type trend struct {
	sorted []Value
	// p is the p-value of the Mann-Kendall test; first and last are the medians of the first and the last third of
	// the values.
	p, first, last float64
}

// trendOf tests the finite values in the order of their blocks. It is false with fewer than 8 values or more than
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
	numbers := Numbers(values)
	slices.Sort(numbers)
	return median(numbers)
}

// Drift warns if values rise or fall over the blocks: the Mann-Kendall test (Mann, Econometrica 13, 1945; Kendall,
// Rank Correlation Methods, 1948) rejects at 0.01, and the change from the first block to the last is at least 2 % of
// level, the statistic's typical size. change = median slope between pairs (Sen, JASA 63, 1968) * (last block - first
// block).
//
// Facts: blocks, change (in the statistic's unit), relative (to level), p_value, first, last (medians of the first
// and the last third of the values). Use first and last for a relative change in messages: relative can be below -100
// %.
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
		"blocks": float64(len(t.sorted)), "change": change, "relative": relative,
		"p_value": t.p, "first": t.first, "last": t.last,
	}}, true
}

// CommonDrift is a drift that most arms share. Pairing within blocks removes it from the differences.
type CommonDrift struct {
	// First and Last are the medians of the first and the last third of the blocks, relative to each arm's own
	// median.
	First, Last float64
	// Arms have the drift clearly. Others are the other arms.
	Arms, Others []string
}

// Relative = Last/First - 1, at least -1.
func (d CommonDrift) Relative() float64 { return d.Last/d.First - 1 }

// FindCommonDrift looks for a drift of all arms together. It takes each value relative to its arm's median, and the
// median over the arms in each block. A common drift requires that the Mann-Kendall test rejects at 0.01 and that the
// change is at least 2 %. In more than half of the arms, the arm's own test must also reject at 0.05, with a change in
// the same direction of at least half the size. Nothing is found if an arm's median is not above 0.
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
	d := CommonDrift{First: t.first, Last: t.last}
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

// ArmDrift is a drift of an arm's paired differences from the baseline: the difference changes during the run.
type ArmDrift struct {
	Arm string
	// First and Last are the medians of the differences in the first and the last third of the blocks, in the
	// statistic's unit.
	First, Last float64
}

// FindArmDrifts looks for drift in each arm's paired differences. The Mann-Kendall test must reject at 0.01,
// corrected for the number of arms, and the change must be at least 2 % of the median of the arm or of the baseline,
// whichever is larger in size.
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

// trialsByArm groups the finite values by arm; the arms are in the order of their first trials.
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

// maxSloped is the largest number of values for which all pairs are compared: half a million slopes. All slopes of
// MaxBlocks values would take 400 MB.
const maxSloped = 1000

// medianSlope is the median slope between pairs of values; NaN if all are in one block. With more than maxSloped
// values it uses an evenly spaced subset.
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

// kendallP is the two-sided p-value of Mann-Kendall's S, from the normal approximation with corrections for
// continuity and ties (Kendall, chapter 4). The approximation is close from about 8 values on.
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
