package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Trial is one trial's statistic, its arm and its block.
type Trial struct {
	Arm   string
	Block int
	Value float64
}

// Attribution is the estimated cost of each layer, and how well the costs add up to the differences between arms.
type Attribution struct {
	// Separation is what the design can estimate from the arms that have trials.
	Separation Separation
	// Costs has one entry for each term of Separation, in the same order.
	Costs []Cost
	// Arms has one entry for each arm but the baseline that has trials, in the design's order.
	Arms []Parts
	// Fullest is the index in Arms of the arm that crosses the most layers in total; the first one if there are
	// several, -1 if there is none.
	Fullest int
	// Saturated is true if the terms and refused layers fit any values of the arms exactly. A residual of 0 then
	// proves nothing: testing whether layers add up takes more arms.
	Saturated bool
	// Additivity tests whether the costs add up to what the arms differ by.
	Additivity Additivity
	// Trials and Blocks count the data used: blocks with at least two arms. Freedom is Blocks - 1, the degrees of
	// freedom of the costs' intervals if no trial is missing.
	Trials, Blocks, Freedom int
	// Reason says why there are no costs: ReasonNoTrials, ReasonNoTerms or ReasonUnbalanced. It is empty if there are
	// costs.
	Reason string
}

// The reasons for an attribution without costs.
const (
	// ReasonNoTrials: the baseline or every other arm has no trials in a block that it shares with another arm.
	ReasonNoTrials = "no-trials"
	// ReasonNoTerms: no layer can be separated.
	ReasonNoTerms = "no-terms"
	// ReasonUnbalanced: so many trials failed that the terms cannot be separated within blocks.
	ReasonUnbalanced = "unbalanced"
)

// Cost is what one unit of a term adds to the statistic, in its unit.
type Cost struct {
	Term     Term
	Cost     Quantity
	Interval Interval
	// PValue is from the t-test that rejects exactly if Interval excludes 0. It is not corrected for other costs.
	PValue Quantity
	// Arm is set if the cost depends only on this arm's difference from the baseline: cost = Part * difference. It is
	// empty otherwise.
	Arm  string
	Part float64
	// Freedom is the degrees of freedom of Interval: the number of blocks in which arms differ in the term, minus 1.
	// Missing trials can lower it: a block without the only arm that has a layer says nothing about that layer.
	Freedom int
}

// Detectable is the smallest true cost that is found with probability Power in a table of this many tests, at the level
// of the first step of Holm's procedure: (t(1 - level/2) + t(Power)) * SE, where SE is the cost's standard error.
// Unknown without an interval, or if the estimates from the blocks do not vary.
func (c Cost) Detectable(tests int) Quantity {
	if !c.Interval.Known || c.Interval.Low == c.Interval.High {
		return Quantity{}
	}
	deviation := (c.Interval.High - c.Interval.Low) / 2 / tQuantile(c.Freedom)
	return known(powered(float64(c.Freedom), Level(tests)) * deviation)
}

// Parts splits the difference of one arm from the baseline: Whole = sum of Terms + Unseparated + Residual.
type Parts struct {
	Arm string
	// Pairs is how many blocks have both the arm and the baseline.
	Pairs int
	// Whole is the observed difference: the mean of the paired differences. It is a mean because parts must add up.
	Whole         Quantity
	WholeInterval Interval
	// Terms is the contribution of each term, in the order of Costs: cost * difference in count.
	Terms []float64
	// Unseparated is the contribution of all refused layers together.
	Unseparated float64
	// Residual is the part that the sum of layers does not explain.
	Residual         Quantity
	ResidualInterval Interval
	// ByConstruction is true if least squares fits this arm's difference exactly for any data, so that a residual of
	// 0 proves nothing. The residual then has no interval; only if trials are missing can it differ from 0. It is
	// always true if the attribution is Saturated. Otherwise, look at the residuals of the other arms for layers that
	// do not add up.
	ByConstruction bool
}

// Attribute estimates the cost of each term of the design by ordinary least squares of the trial statistic on the
// counts of the terms, with an effect for each block. It ignores trials of unknown arms and values that are not
// finite or exceed 1e100 in size. If an arm has several trials in a block, the first counts.
//
// Intervals are t-intervals with the standard error of the jackknife over blocks (Efron and Stein, The Jackknife
// Estimate of Variance, Ann. Statist. 9, 1981; the cluster-robust CV3 of MacKinnon, Nielsen and Webb, Cluster-robust
// Inference, J. Econometrics 232, 2023). They allow arms to differ in noise, and trials of a block to depend on each
// other. If no trial is missing, a cost is the mean of the per-block estimates, and its interval is the t-interval of
// that mean.
func Attribute(d Design, baseline string, trials []Trial) Attribution {
	f := newFit(d, trials)
	a := Attribution{
		Separation: f.design.Separate(),
		Fullest:    -1,
		Trials:     f.trials,
		Blocks:     len(f.blocks),
		Freedom:    max(len(f.blocks)-1, 0),
	}
	base := slices.Index(f.design.Arms, baseline)
	if base < 0 || len(f.design.Arms) < 2 {
		a.Reason = ReasonNoTrials
		return a
	}
	f.setColumns(a.Separation)
	if len(a.Separation.Terms) == 0 {
		a.Reason = ReasonNoTerms
	}
	a.Saturated = len(f.columns) == len(f.design.Arms)-1

	all, without := f.estimates(base)
	if len(f.columns) > 0 && all.costs == nil {
		a.Reason = ReasonUnbalanced
	}

	for i, term := range a.Separation.Terms {
		cost := Cost{Term: term}
		if all.costs != nil {
			cost.Cost = known(all.costs[i])
			cost.Freedom = max(f.informing(i)-1, 0)
			of := func(e estimate) float64 {
				if e.costs == nil {
					return math.NaN()
				}
				return e.costs[i]
			}
			cost.Interval = f.jackknife(all.costs[i], cost.Freedom, without, of)
			if cost.Interval.Known {
				cost.PValue = known(tPValue(all.costs[i], f.standardError(without, of), cost.Freedom))
			}
			if arm, part := f.onlyArm(i, base); arm >= 0 {
				cost.Arm, cost.Part = f.design.Arms[arm], part
			}
		}
		a.Costs = append(a.Costs, cost)
	}

	var most float64
	a.Additivity = f.additivity(all)
	if len(a.Separation.Terms) == 0 {
		a.Additivity = Additivity{Freedom: a.Additivity.Freedom, Blocks: a.Additivity.Blocks} // there is no sum to test
	}
	for arm := range f.design.Arms {
		if arm == base {
			continue
		}
		a.Arms = append(a.Arms, f.parts(arm, base, all, without, a))
		var total float64
		for layer := range f.design.Layers {
			total += f.design.count(arm, layer)
		}
		if a.Fullest < 0 || total > most {
			a.Fullest, most = len(a.Arms)-1, total
		}
	}
	a.Additivity.Whole = whole(a.Arms)
	return a
}

// parts splits one arm's difference from the baseline.
func (f *fit) parts(arm, base int, all estimate, without []estimate, a Attribution) Parts {
	p := Parts{Arm: f.design.Arms[arm], Pairs: f.pairs(arm, base)}
	whole := func(e estimate) float64 { return e.whole[arm] }
	p.Whole = known(all.whole[arm])
	// Blocks without a pair do not contribute to the difference. Without them this is the t-interval of the pairs'
	// mean.
	var paired []estimate
	for i, block := range f.blocks {
		if !math.IsNaN(block[arm] - block[base]) {
			paired = append(paired, without[i])
		}
	}
	p.WholeInterval = f.jackknife(all.whole[arm], p.Pairs-1, paired, whole)
	if all.costs == nil {
		return p
	}
	for i := range f.columns {
		part := all.costs[i] * (f.columns[i][arm] - f.columns[i][base])
		if i < len(a.Costs) {
			p.Terms = append(p.Terms, part)
		} else {
			p.Unseparated += part
		}
	}
	residual := func(e estimate) float64 { return f.residual(e, arm, base) }
	p.ByConstruction = f.fitsAlways(arm, base)
	if p.ByConstruction && f.complete() {
		// Any remainder is rounding.
		p.Residual = known(0)
		return p
	}
	p.Residual = known(residual(all))
	p.ResidualInterval = f.jackknife(residual(all), p.Pairs-1, without, residual)
	return p
}

// jackknife gives the t-interval of an estimate from its leave-one-block-out replicates. It is unknown if one of the
// replicates is unknown.
func (f *fit) jackknife(value float64, freedom int, without []estimate, of func(estimate) float64) Interval {
	if freedom < 1 || len(without) < 2 {
		return Interval{}
	}
	quantile, ok := f.quantiles[freedom]
	if !ok {
		quantile = tQuantile(freedom)
		f.quantiles[freedom] = quantile
	}
	half := quantile * f.standardError(without, of)
	return knownInterval(value-half, value+half)
}

// standardError is the jackknife's standard error from at least two blocks; NaN if a replicate is unknown. It allows
// for the trials that were moved.
func (f *fit) standardError(without []estimate, of func(estimate) float64) float64 {
	n := float64(len(without))
	replicates := make([]float64, len(without))
	for i, e := range without {
		replicates[i] = of(e)
	}
	return math.Sqrt((n-1)/n*sumSquares(replicates)) / f.stay
}

// tPValue is the two-sided p-value of value with the standard error deviation.
func tPValue(value, deviation float64, freedom int) float64 {
	if value == 0 {
		return 1
	}
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.CDF(-math.Abs(value)/deviation)
}

// tQuantile is the half-width of a two-sided interval with confidence Confidence, in standard errors.
func tQuantile(freedom int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.Quantile(1 - Alpha/2)
}
