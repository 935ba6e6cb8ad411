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

// Attribution says what each layer costs, and how far the costs add up to what the arms differ by.
type Attribution struct {
	// Separation is what the design can estimate from the arms that have trials.
	Separation Separation
	// Costs has one entry for each term of Separation, in the same order.
	Costs []Cost
	// Arms has one entry for each arm but the baseline that has trials, in the design's order.
	Arms []Parts
	// Fullest is the index in Arms of the arm that crosses the most layers in total, the first of several; -1 where there is none.
	Fullest int
	// Saturated says that the terms and refused layers can fit any figures of the arms exactly, so that a residual of 0 proves
	// nothing. It takes more arms than that to check whether layers add up.
	Saturated bool
	// Additivity tests whether the costs add up to what the arms differ by.
	Additivity Additivity
	// Trials and Blocks are what the costs rest on: blocks with at least two arms. Freedom is the degrees of freedom of
	// the intervals of the costs where no trial is missing: Blocks - 1.
	Trials, Blocks, Freedom int
	// Reason says why there are no costs: ReasonNoTrials, ReasonNoTerms or ReasonUnbalanced; empty where there are.
	Reason string
}

// The reasons for an attribution without costs.
const (
	// ReasonNoTrials: the baseline or every other arm has no trials in a block that it shares with another arm.
	ReasonNoTrials = "no-trials"
	// ReasonNoTerms: no layer can be separated.
	ReasonNoTerms = "no-terms"
	// ReasonUnbalanced: so many trials failed that what the design separates is not separable within blocks.
	ReasonUnbalanced = "unbalanced"
)

// Cost is what one unit of a term adds to the statistic, in its unit.
type Cost struct {
	Term     Term
	Cost     Quantity
	Interval Interval
	// PValue is that of the t-test which rejects exactly where Interval excludes 0. It is of this cost alone.
	PValue Quantity
	// Arm is the one arm whose difference from the baseline is all that the cost rests on, where the design is so; then the cost is
	// Part times that difference. Empty otherwise.
	Arm  string
	Part float64
	// Freedom is the degrees of freedom of Interval: one less than the blocks in which arms differ in the term. Where trials are
	// missing these can be fewer than all: an arm that alone has a layer says nothing of it where it is absent.
	Freedom int
}

// Parts takes apart the difference of one arm from the baseline: Whole is the sum of Terms, Unseparated and Residual.
type Parts struct {
	Arm string
	// Pairs is how many blocks have both the arm and the baseline.
	Pairs int
	// Whole is the difference as observed: the mean of the paired differences. (A mean, because parts must add up.)
	Whole         Quantity
	WholeInterval Interval
	// Terms is what each term contributes: its cost times the difference in count, in the order of Costs.
	Terms []float64
	// Unseparated is what the refused layers contribute together.
	Unseparated float64
	// Residual is what the sum of layers leaves unexplained.
	Residual         Quantity
	ResidualInterval Interval
	// ByConstruction says that the least squares fit meets this arm's difference whatever the trials say, so that a residual of 0
	// proves nothing. The residual then has no interval, unless trials are missing: it is what these leave. Always so where the
	// attribution is Saturated; otherwise look for layers that do not add up in the residuals of the other arms.
	ByConstruction bool
}

// Attribute estimates what each term of the design costs: ordinary least squares of the trial statistic on the counts of
// the terms, with an effect for each block. Trials of unknown arms, without a finite value, or with one beyond 1e100 are left out; of several
// trials of one arm in one block the first counts.
//
// Intervals are t-intervals on the jackknife over blocks (Efron and Stein, The Jackknife Estimate of Variance, Ann. Statist.
// 9, 1981; the cluster-robust CV3 of MacKinnon, Nielsen and Webb, Cluster-robust Inference, J. Econometrics 232, 2023). They
// allow arms to differ in noise and the trials of a block to depend on each other. Where no trial is missing, a cost is the
// mean of what each block says for itself, and its interval the t-interval of that mean.
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
			cost.Interval = jackknife(all.costs[i], cost.Freedom, without, of)
			if cost.Interval.Known {
				cost.PValue = known(tPValue(all.costs[i], standardError(without, of), cost.Freedom))
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
		a.Additivity.PValue = Quantity{} // nothing is said that could fail to add up
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
	return a
}

// parts takes one arm's difference from the baseline apart.
func (f *fit) parts(arm, base int, all estimate, without []estimate, a Attribution) Parts {
	p := Parts{Arm: f.design.Arms[arm], Pairs: f.pairs(arm, base)}
	whole := func(e estimate) float64 { return e.whole[arm] }
	p.Whole = known(all.whole[arm])
	// The blocks without a pair say nothing of the whole. Without them this is the t-interval of the mean of the pairs.
	var paired []estimate
	for i, block := range f.blocks {
		if !math.IsNaN(block[arm] - block[base]) {
			paired = append(paired, without[i])
		}
	}
	p.WholeInterval = jackknife(all.whole[arm], p.Pairs-1, paired, whole)
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
		// What arithmetic leaves over is rounding.
		p.Residual = known(0)
		return p
	}
	p.Residual = known(residual(all))
	p.ResidualInterval = jackknife(residual(all), p.Pairs-1, without, residual)
	return p
}

// jackknife gives the t-interval of an estimate from what it is without each block in turn. Unknown where one of those is.
func jackknife(value float64, freedom int, without []estimate, of func(estimate) float64) Interval {
	if freedom < 1 || len(without) < 2 {
		return Interval{}
	}
	half := tQuantile(freedom) * standardError(without, of)
	return knownInterval(value-half, value+half)
}

// standardError is the jackknife's, of two blocks or more; NaN where an estimate without some block is unknown.
func standardError(without []estimate, of func(estimate) float64) float64 {
	n := float64(len(without))
	replicates := make([]float64, len(without))
	for i, e := range without {
		replicates[i] = of(e)
	}
	mean := meanOf(replicates)
	var squares float64
	for _, r := range replicates {
		squares += (r - mean) * (r - mean)
	}
	return math.Sqrt((n - 1) / n * squares)
}

// tPValue is the two-sided p-value of an estimate with such a standard error.
func tPValue(value, deviation float64, freedom int) float64 {
	if value == 0 {
		return 1
	}
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.CDF(-math.Abs(value)/deviation)
}

// tQuantile is how many standard errors a two-sided interval of the confidence Confidence reaches.
func tQuantile(freedom int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.Quantile(1 - Alpha/2)
}
