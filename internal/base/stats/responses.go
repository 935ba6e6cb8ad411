package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Tests of responses, each of which is yes or no, that hold at any time.

// A Tally counts responses.
type Tally struct{ Yes, All int }

// The alternatives that AgainstSameChance bets on: the reference says yes seldom, and the other mostly. They are the
// parameters of Beta distributions; the other has the mirrored ones. With them two or three responses decide if twenty
// or ten of the reference are all no.
const (
	seldomYes = 0.5
	seldomNo  = 4
)

// AgainstSameChance is the evidence, as a natural logarithm, against the hypothesis that both tallies count responses
// of the same chance of yes. If the hypothesis is true, it ever reaches log(1/level) with a probability of at most the
// level, however often somebody looks, and however they choose which response comes next. It is large if the reference
// says yes seldom and the other mostly.
//
// It is the logarithm of a ratio of two likelihoods of the responses. The numerator is under the alternatives, each with
// a Beta distribution of its chance. The denominator is under the chance, shared by both, that fits best. With the true
// chance as denominator the ratio would be a martingale with expectation 1; the chance that fits best only makes it
// smaller (Wasserman, Ramdas and Balakrishnan, Universal inference, PNAS 117, 2020; Ville 1939).
func AgainstSameChance(reference, other Tally) float64 {
	yes, all := float64(reference.Yes+other.Yes), float64(reference.All+other.All)
	if all == 0 {
		return 0
	}
	same := xlogx(yes/all) + xlogx(1-yes/all)
	return marginal(reference, seldomYes, seldomNo) + marginal(other, seldomNo, seldomYes) - all*same
}

// marginal is the logarithm of the likelihood of responses whose chance of yes has a Beta distribution.
func marginal(t Tally, yes, no float64) float64 {
	return mathext.Lbeta(yes+float64(t.Yes), no+float64(t.All-t.Yes)) - mathext.Lbeta(yes, no)
}

// xlogx is x log x, which is 0 at 0.
func xlogx(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return x * math.Log(x)
}

// AnyTimeSigns is the p-value at any time of the hypothesis that values above and below a number are equally likely,
// with both sides counted: at most the level, ever, with a probability of at most the level. Values that equal the
// number count on the rarer side.
func AnyTimeSigns(above, below, equal int) float64 {
	n := above + below + equal
	if n == 0 {
		return 1
	}
	return anyTimeP(n, min(n-max(above, below), n/2))
}
