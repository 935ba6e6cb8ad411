package stats

import (
	"cmp"
	"math"
	"slices"
)

// Value is one trial's statistic and the block that the trial belongs to.
type Value struct {
	Block int
	Value float64
}

// Numbers gives values without their blocks.
func Numbers(values []Value) []float64 {
	var all []float64
	for _, v := range values {
		all = append(all, v.Value)
	}
	return all
}

// Pair is an arm and its baseline. A block counts if both sides have a value in it. If a side has several values in a
// block, the first counts. NaN is no value.
//
// An infinite value is a lost value: the trial ran, but something in it prevented the statistic. +Inf ranks above all
// other trials, -Inf below all; the caller knows which is worse. Two lost values with the same sign differ by 0.
// Medians, their intervals and the sign test need only these ranks. (Giving unobserved values the worst rank: Lachin,
// Controlled Clinical Trials 20, 1999.)
type Pair struct {
	Arm, Baseline []Value
}

// Verdict is the outcome of a comparison.
type Verdict string

// The verdicts. They are about the arm: Higher means that the arm's values are higher than the baseline's.
const (
	Higher       Verdict = "higher"
	Lower        Verdict = "lower"
	NoDifference Verdict = "no-difference"
	// FewBlocks, FewTrials and FewRuns: too few for any result to be significant in the table. SingleTrial: each side
	// has one trial, so there is no interval.
	FewBlocks   Verdict = "too-few-blocks"
	FewTrials   Verdict = "too-few-trials"
	FewRuns     Verdict = "too-few-runs"
	SingleTrial Verdict = "single-trial"
	// NotComparable: the two sides were not compared.
	NotComparable Verdict = "not-comparable"
)

// Alpha is the level of a table of comparisons, Confidence the confidence of their intervals.
const (
	Alpha      = 0.05
	Confidence = 1 - Alpha
)

// Outcome is what a comparison of an arm with its baseline says, whatever its unit is. The kinds of comparisons say
// from how many units on the values are known.
type Outcome struct {
	// Difference is the difference of the arm from the baseline. Unknown also if so many values are lost that there is no
	// median.
	Difference Quantity
	// Interval contains the true difference with at least Confidence.
	Interval Interval
	// Relative is the difference as a share of the baseline; RelativeInterval is its interval. Unknown unless every
	// baseline value is above 0.
	Relative         Quantity
	RelativeInterval Interval
	// Widened says that the intervals were extended to 0 because the correction for the whole table does not exclude
	// 0.
	Widened bool
	// RawPValue is the two-sided p-value; PValue is RawPValue after Holm's correction for the table. Known if any outcome
	// could have been significant.
	RawPValue, PValue Quantity
	// Detectable is the smallest true difference that this comparison finds with probability Power. Unknown with too few
	// values, or if they do not vary.
	Detectable Quantity
	Verdict    Verdict
	// Reason says why there is no verdict on the difference, or none on its size; empty otherwise.
	Reason string
	// MostlyBelow says that most differences are below 0.
	MostlyBelow bool
}

// Comparison is an arm against its baseline, paired within blocks.
//
// Difference is the sample median of the paired differences, arm minus baseline; Relative is the same of the
// differences that are each divided by the baseline of its block. Both are known from one block on. The intervals
// contain the median of the differences' distribution, for any distribution; they are known from 6 blocks on, and so
// are the p-values, which are those of the exact sign test. For Detectable see Noise.Detectable. Reason is
// ReasonNoPairs, ReasonLost or ReasonTooFewBlocks.
type Comparison struct {
	Outcome
	// Blocks is how many blocks have a value on both sides.
	Blocks int
	// BlocksNeeded is how many more blocks would resolve the observed difference: 0 if it is resolved, -1 if unknown
	// or more than MaxBlocks. With too few blocks, it counts up to the fewest that can resolve any difference.
	BlocksNeeded int
	// OneBlock says whether one block decides the verdict.
	OneBlock OneBlock
	// Against is how many blocks contradict the majority: those with the rarer sign, or with no difference.
	Against int
	// Noise is the scatter of the paired differences. It gives the number of blocks needed for other differences.
	Noise Noise
	// Serial describes the dependence between blocks. If they depend on each other, everything above except Blocks
	// uses the smaller effective number Serial.Counted.
	Serial Serial
}

// The reasons for verdicts other than Higher, Lower and NoDifference.
const (
	// ReasonNoPairs goes with NotComparable. ReasonLost: so many values are lost that the difference has no median. It
	// goes with Higher or Lower if the sign is sure all the same, and otherwise with NotComparable.
	ReasonNoPairs = "no-pairs"
	ReasonLost    = "lost"
	// ReasonTooFewBlocks goes with FewBlocks, or with SingleTrial if there is one pair.
	ReasonTooFewBlocks = "too-few-blocks"
)

// Compare compares one arm with its baseline: a table of one.
func Compare(arm, baseline []Value) Comparison {
	return CompareAll([]Pair{{Arm: arm, Baseline: baseline}})[0]
}

// CompareAll compares every pair of a table, in the same order, and corrects their p-values for the size of the
// table.
//
// Estimate, interval and test are one method: the median of the paired differences, its interval from order
// statistics, and the sign test, which rejects exactly if the interval of its level excludes 0. It assumes nothing
// about the distribution of the noise (Conover, sections 3.2 and 3.4). A difference of exactly 0 counts against both
// signs.
//
// A verdict is Higher or Lower if the corrected p-value is at most Alpha. The 95 % interval then excludes 0. The
// converse is not true in a table, so intervals that exclude 0 are extended to 0 if the verdict is NoDifference. An
// interval is never smaller than the interval of this comparison alone, and never contradicts the verdict.
func CompareAll(pairs []Pair) []Comparison {
	table := make([]Comparison, len(pairs))
	for i, pair := range pairs {
		table[i] = compare(pair)
	}
	tests := correct(table, func(c *Comparison) *Outcome { return &c.Outcome })
	for i := range table {
		table[i].decide(tests)
	}
	oneBlock(table)
	return table
}

// compare computes everything that depends on one pair alone.
func compare(pair Pair) Comparison {
	differences, ratios := pair.differences()
	c := Comparison{Blocks: len(differences), BlocksNeeded: -1, Serial: serialOf(differences)}
	slices.Sort(differences)
	slices.Sort(ratios)
	c.Noise = newNoise(differences).counting(c.Serial.Counted)
	if c.Blocks == 0 {
		return c
	}
	c.Difference = known(median(differences)) // unknown if half of the values or more are lost
	c.Interval = countedInterval(differences, c.Serial.Counted, Confidence)
	if len(ratios) == len(differences) {
		c.Relative = known(median(ratios))
		c.RelativeInterval = countedInterval(ratios, c.Serial.Counted, Confidence)
	}
	if criticalCount(c.Serial.Counted, Alpha) >= 0 {
		c.Against, c.MostlyBelow = against(differences)
		c.RawPValue = known(countedSignP(c.Blocks, c.Serial.Counted, c.Against))
	}
	return c
}

// against is how many differences have the rarer sign, or are 0.
func against(differences []float64) (n int, mostlyBelow bool) {
	notAbove, notBelow := 0, 0
	for _, d := range differences {
		if d <= 0 {
			notAbove++
		}
		if d >= 0 {
			notBelow++
		}
	}
	return min(notAbove, notBelow), notAbove > notBelow
}

// sorted gives the paired differences, and the same relative to the baseline, each sorted.
func (p Pair) sorted() (differences, ratios []float64) {
	differences, ratios = p.differences()
	slices.Sort(differences)
	slices.Sort(ratios)
	return differences, ratios
}

// IntervalsAt gives Comparison's Interval and RelativeInterval with the confidence 1 - level, as CompareAll computes
// them, or CompareAnyTime. They are unknown if there are too few blocks for that.
func IntervalsAt(pair Pair, level float64, anyTime bool) (interval, relative Interval) {
	inOrder, _ := pair.differences()
	counted := serialOf(inOrder).Counted
	differences, ratios := pair.sorted()
	if len(differences) == 0 {
		return Interval{}, Interval{}
	}
	k := criticalCount(counted, level)
	if anyTime {
		k = anyTimeCount(counted, level)
	}
	interval = countedOrder(differences, counted, k)
	if len(ratios) == len(differences) {
		relative = countedOrder(ratios, counted, k)
	}
	return interval, relative
}

// decide sets the verdict and the fields that depend on the size of the table.
func (c *Comparison) decide(tests int) {
	c.Noise.tests = tests
	fewest := MinBlocks(tests, Alpha)
	switch {
	case c.Blocks == 0:
		c.Verdict, c.Reason = NotComparable, ReasonNoPairs
		c.BlocksNeeded = fewest
		return
	case !c.Difference.Known:
		if c.signOfLost() {
			c.BlocksNeeded = 0
		}
		return
	case c.Serial.Counted < fewest && !c.significant():
		c.Verdict, c.Reason = FewBlocks, ReasonTooFewBlocks
		if c.Blocks == 1 {
			c.Verdict = SingleTrial
		}
		c.BlocksNeeded = c.Noise.measured(fewest - c.Serial.Counted)
		return
	}
	c.Detectable = c.Noise.Detectable()
	if c.judge() {
		c.BlocksNeeded = 0
		return
	}
	c.BlocksNeeded = c.Noise.BlocksNeeded(c.Difference.Value)
	if c.BlocksNeeded == 0 {
		// By this estimate the present blocks suffice, but they found nothing. At least one more is needed; 0 would
		// mean that the difference is resolved.
		c.BlocksNeeded = 1
	}
}

// significant says whether the test rejects that there is no difference.
func (o *Outcome) significant() bool { return o.PValue.Known && o.PValue.Value <= Alpha }

// judge sets the verdict of a difference by its corrected p-value, and says whether there is one.
func (o *Outcome) judge() (differs bool) {
	switch {
	case !o.significant():
		o.Verdict, o.Widened = NoDifference, reachZero(&o.Interval, &o.RelativeInterval)
		return false
	case o.Difference.Value < 0:
		o.Verdict = Lower
	default:
		o.Verdict = Higher
	}
	return true
}

// signOfLost judges a comparison whose difference has no median, because so many values are lost: the sign can be sure
// without a size. It says whether it is.
func (o *Outcome) signOfLost() bool {
	o.Reason = ReasonLost
	if !o.significant() {
		o.Verdict = NotComparable
		o.Interval, o.RelativeInterval, o.Relative = Interval{}, Interval{}, Quantity{}
		o.RawPValue, o.PValue = Quantity{}, Quantity{}
		return false
	}
	o.Verdict = Higher
	if o.MostlyBelow {
		o.Verdict = Lower
	}
	o.Interval, o.RelativeInterval = o.Interval.oneSided(), o.RelativeInterval.oneSided()
	return true
}

// differences gives the paired differences in the order of their blocks, and the same relative to the baseline. The
// relative ones leave out blocks whose baseline is not above 0.
func (p Pair) differences() (differences, ratios []float64) {
	baseline := make(map[int]float64, len(p.Baseline))
	for _, v := range slices.Backward(p.Baseline) {
		if !math.IsNaN(v.Value) {
			baseline[v.Block] = v.Value
		}
	}
	// Overflow of a float64 is not a lost value.
	overflowed := func(result, a, b float64) bool {
		return math.IsInf(result, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0)
	}
	for _, v := range inBlockOrder(p.Arm) {
		b, ok := baseline[v.Block]
		d := difference(v.Value, b)
		if !ok || math.IsNaN(d) || overflowed(d, v.Value, b) {
			continue
		}
		delete(baseline, v.Block)
		differences = append(differences, d)
		r := d / b
		if math.IsInf(d, 0) || d == 0 && math.IsInf(b, 0) {
			r = d
		}
		if (b > 0 || math.IsInf(b, 0)) && !overflowed(r, v.Value, b) {
			ratios = append(ratios, r)
		}
	}
	return differences, ratios
}

// inBlockOrder sorts values by block; those of one block keep their order.
func inBlockOrder(values []Value) []Value {
	sorted := slices.Clone(values)
	slices.SortStableFunc(sorted, func(a, b Value) int { return cmp.Compare(a.Block, b.Block) })
	return sorted
}

// Holm corrects p-values of one table, so that the probability of any false alarm in it stays below the level (Holm,
// A Simple Sequentially Rejective Multiple Test Procedure, Scand. J. Statist. 6, 1979). The order is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	corrected := make([]float64, len(p))
	largest := 0.0
	for rank, i := range order {
		largest = math.Max(largest, math.Min(1, p[i]*float64(len(p)-rank)))
		corrected[i] = largest
	}
	return corrected
}

// correct corrects the known p-values of a table (Holm). tests is their number, but at least 1.
func correct[T any](table []T, of func(*T) *Outcome) (tests int) {
	var raw []float64
	for i := range table {
		if p := of(&table[i]).RawPValue; p.Known {
			raw = append(raw, p.Value)
		}
	}
	corrected := Holm(raw)
	for i := range table {
		if o := of(&table[i]); o.RawPValue.Known {
			o.PValue, corrected = known(corrected[0]), corrected[1:]
		}
	}
	return max(len(raw), 1)
}

// MinBlocks is the smallest number of blocks that can show a difference at level alpha in a table of this many
// comparisons. With fewer, the p-value is too large even if every block agrees. It is 6 for one comparison at 0.05,
// and 10 for 20.
func MinBlocks(comparisons int, alpha float64) int {
	level := alpha / float64(max(comparisons, 1))
	if !(level > 0) {
		return MaxBlocks
	}
	// P(all n blocks agree) = 2 / 2^n.
	n := 1
	for n < MaxBlocks && 2*math.Pow(0.5, float64(n)) > level {
		n++
	}
	return n
}
