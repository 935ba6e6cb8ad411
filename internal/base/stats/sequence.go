package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Intervals and tests that hold at any time: also if somebody looks after each block, and stops when it suits.
//
// The one-sided test of "at most half of the differences are above m" bets on the signs, one block after the other. A
// bettor who believes that the share q is above one half multiplies its stake by 2q for a difference above m, and by
// 2(1-q) otherwise. If the hypothesis is true the expected stake never grows, so that it ever reaches 1/level with a
// probability of at most the level (Ville 1939). Here q has the Beta(a, a) distribution above one half, so that the
// stake after s of n differences above m is
//
//	2^n * 2 * B(a+s, a+n-s) / B(a, a) * P(Beta(a+s, a+n-s) > 1/2)
//
// (mixtures of likelihood ratios: Robbins, Statistical Methods Related to the Law of the Iterated Logarithm, Annals of
// Mathematical Statistics 41, 1970; confidence sequences: Howard, Ramdas, McAuliffe and Sekhon, Time-Uniform,
// Nonparametric, Nonasymptotic Confidence Sequences, Annals of Statistics 49, 2021). Both sides are tested at half of
// the level, and all m that are not rejected are an interval between order statistics, for any distribution, as in
// medianInterval. Like that one it assumes that blocks are independent.

// betPrior is a. With 1/2 seven blocks that agree suffice at 5 %, with 1 eight.
const betPrior = 0.5

// anyTimeP is the p-value at any time of n differences of which k have the rarer sign, or are 0: at most the level at
// any n, ever, with a probability of at most the level if both signs are equally likely.
func anyTimeP(n, k int) float64 {
	with, against := betPrior+float64(n-k), betPrior+float64(k)
	log := float64(n+1)*math.Ln2 + mathext.Lbeta(with, against) - mathext.Lbeta(betPrior, betPrior) +
		math.Log1p(-distuv.Beta{Alpha: with, Beta: against}.CDF(0.5))
	return math.Min(1, 2*math.Exp(-log))
}

// anyTimeCount is criticalCount at any time: the largest k with anyTimeP(n, k) <= alpha; -1 if there is none.
func anyTimeCount(n int, alpha float64) int {
	k := -1
	for k < n/2 && anyTimeP(n, k+1) <= alpha {
		k++
	}
	return k
}

// MinBlocksAnyTime is MinBlocks for CompareAnyTime: 7 for one comparison at 0.05.
func MinBlocksAnyTime(comparisons int, alpha float64) int {
	level := alpha / float64(max(comparisons, 1))
	n := 1
	for n < mostSummed && anyTimeP(n, 0) > level {
		n++
	}
	return n
}

// CompareAnyTime is CompareAll for a run that is looked at while it goes on, or that ends when somebody likes what they
// see: intervals, p-values and verdicts hold at any number of blocks. They are wider: what CompareAll finds in 12
// blocks takes 16. There is no Detectable, BlocksNeeded and OneBlock.
func CompareAnyTime(pairs []Pair) []Comparison {
	table := make([]Comparison, len(pairs))
	for i, pair := range pairs {
		c := compare(pair)
		c.RawPValue, c.Interval, c.RelativeInterval = Quantity{}, Interval{}, Interval{}
		if c.Difference.Known {
			differences, ratios := pair.sorted()
			counted := c.Serial.Counted
			c.Interval = countedOrder(differences, counted, anyTimeCount(counted, Alpha))
			if len(ratios) == len(differences) {
				c.RelativeInterval = countedOrder(ratios, counted, anyTimeCount(counted, Alpha))
			}
			c.Against, c.MostlyBelow = against(differences)
			if counted >= MinBlocksAnyTime(1, Alpha) {
				c.RawPValue = known(anyTimeP(counted, countedAgainst(c.Blocks, counted, c.Against)))
			}
		}
		table[i] = c
	}
	tests := correct(table, func(c *Comparison) *Outcome { return &c.Outcome })
	for i := range table {
		table[i].decideAnyTime(tests)
	}
	return table
}

// decideAnyTime sets the verdict.
func (c *Comparison) decideAnyTime(tests int) {
	c.Noise.tests = tests
	fewest := MinBlocksAnyTime(tests, Alpha)
	switch {
	case c.Blocks == 0:
		c.Verdict, c.Reason, c.BlocksNeeded = NotComparable, ReasonNoPairs, fewest
	case !c.Difference.Known:
		c.Verdict, c.Reason = NotComparable, ReasonLost
	case c.Serial.Counted < fewest && !c.significant():
		c.Verdict, c.Reason = FewBlocks, ReasonTooFewBlocks
		c.BlocksNeeded = c.Noise.measured(fewest - c.Serial.Counted)
	default:
		c.judge()
	}
}
