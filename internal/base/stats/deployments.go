package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Deployed is an arm and its baseline, measured on several deployments: on hosts that were freed and made again in
// between. It holds a pair for each deployment, in the order in which they were made.
type Deployed []Pair

// FewestDeployedBlocks is the smallest number of blocks from which a deployment's difference is taken. A deployment
// with fewer is left out: its median would mostly show the noise of its blocks.
const FewestDeployedBlocks = 4

// FewDeployments is the verdict if fewer than two deployments have a difference: their scatter is then unknown.
const FewDeployments Verdict = "too-few-deployments"

// The reasons that only comparisons of deployments have.
const (
	// ReasonTooFewDeployments goes with FewDeployments.
	ReasonTooFewDeployments = "too-few-deployments"
	// ReasonSameInAll goes with NotComparable: all deployments gave exactly the same difference, because the resolution
	// of the figures is coarser than the differences between deployments. Then it is not known how much a further
	// deployment could differ.
	ReasonSameInAll = "same-in-all-deployments"
)

// DeploymentDifference is what one deployment says.
type DeploymentDifference struct {
	// Blocks is how many blocks have both sides.
	Blocks int
	// Used says that the deployment counts in the comparison: it has at least FewestDeployedBlocks blocks.
	Used bool
	// Difference is the median of the paired differences. Unknown without blocks, or if half of the values are lost.
	Difference Quantity
	// Relative is the median of arm / baseline in the blocks, minus 1. Unknown unless all values are above 0.
	Relative Quantity
}

// DeploymentComparison is an arm against its baseline with the deployment as the unit. The difference and its interval
// apply to any deployment of the two configurations, not only to those that were measured.
//
// In Comparison, Difference is the mean of the deployments' differences, Relative the ratio of the arm to the baseline
// minus 1 (the mean of logarithms), and both intervals are Student's. Blocks counts the blocks of all deployments that
// are used. BlocksNeeded, OneBlock, Noise and Serial are not set.
type DeploymentComparison struct {
	Comparison
	// Each has an entry for each deployment, in the order of Deployed.
	Each []DeploymentDifference
	// Used is how many deployments count. Needed is how many more, with as many blocks, would resolve the observed
	// difference: 0 if it is resolved, -1 if unknown or more than MaxBlocks.
	Used, Needed int
	// Scatter is the scatter within and between deployments.
	Scatter DeploymentScatter
}

// CompareDeployments compares the entries of a table, and corrects their p-values as CompareAll does.
//
// The unit is the deployment. Its difference d is the median of the paired differences of its blocks. The result is
// mean(d) +- t(N-1) s / sqrt(N), where s is the standard deviation of the N values of d. Blocks are never pooled over
// deployments, because blocks of one deployment share whatever is particular about its hosts. Deployments have equal
// weights, also if some have lost blocks. The relative difference is the same of the logarithms of arm / baseline. If
// only one of the two intervals excludes 0, the larger p-value counts.
//
// If arms have hosts of their own, a deployment's hosts of two arms are independent draws. The same formula then allows
// each arm its own scatter; it is Welch's with the fewest degrees of freedom.
func CompareDeployments(table []Deployed) []DeploymentComparison {
	compared := make([]DeploymentComparison, len(table))
	units := make([]deploymentUnits, len(table))
	for i, d := range table {
		compared[i], units[i] = compareDeployments(d)
	}
	tests := correct(compared, func(c *DeploymentComparison) *Outcome { return &c.Outcome })
	for i := range compared {
		compared[i].decide(units[i], tests)
	}
	return compared
}

// EstimateDeployments is the change of an arm against its baseline, absolute and relative, for one of several checks,
// computed as in CompareDeployments. Trials of the estimates counts deployments.
func EstimateDeployments(d Deployed, checks int) (change, relative Estimate) {
	c, units := compareDeployments(d)
	level := Level(checks)
	of := func(m changeOf) Estimate {
		e := Estimate{Trials: c.Used, Lost: units.lost, missing: max(1, 2-c.Used)}
		if !m.known || units.lost {
			return e
		}
		t := units.t()
		e.Value, e.Interval = known(m.at(0)), t.interval(m, level)
		e.needed = func(difference float64) int {
			if m.logarithmic {
				difference = math.Abs(math.Log1p(difference))
			}
			return t.needed(difference, m, level)
		}
		return e
	}
	return of(units.absolute), of(units.logarithmic)
}

// deploymentUnits are the deployments' differences, and values computed from them.
type deploymentUnits struct {
	differences           []float64
	absolute, logarithmic changeOf
	lost, same            bool
}

// t is the t method for one side of N values.
func (u deploymentUnits) t() runT {
	n := len(u.differences)
	t := runT{m: n, n: n, least: n, ofOne: true, absolute: u.absolute, logarithmic: u.logarithmic, lost: u.lost}
	if n > 1 && !u.same && !u.lost {
		t.freedom = float64(n - 1)
	}
	return t
}

// compareDeployments computes everything that depends on one entry alone.
func compareDeployments(d Deployed) (DeploymentComparison, deploymentUnits) {
	c := DeploymentComparison{Comparison: Comparison{BlocksNeeded: -1}, Needed: -1}
	var u deploymentUnits
	var logs []float64
	var blocks [][]float64
	for _, pair := range d {
		differences, ratios := pair.differences()
		one := DeploymentDifference{Blocks: len(differences), Used: len(differences) >= FewestDeployedBlocks}
		slices.Sort(differences)
		if one.Blocks > 0 {
			one.Difference = known(median(differences))
		}
		var log Quantity
		if len(ratios) == len(differences) && one.Blocks > 0 {
			log = medianLog(ratios)
		}
		if log.Known {
			one.Relative = known(math.Expm1(log.Value))
		}
		c.Each = append(c.Each, one)
		if !one.Used {
			continue
		}
		c.Used++
		c.Blocks += one.Blocks
		u.lost = u.lost || !one.Difference.Known
		u.differences = append(u.differences, one.Difference.Value)
		blocks = append(blocks, differences)
		if log.Known {
			logs = append(logs, log.Value)
		}
	}
	if c.Used == 0 || u.lost {
		return c, u
	}
	u.absolute = meanChange(u.differences)
	u.same = slices.Min(u.differences) == slices.Max(u.differences)
	if len(logs) == c.Used {
		u.logarithmic = meanChange(logs)
		u.logarithmic.logarithmic = true
	}
	t := u.t()
	c.Difference, c.Interval = known(u.absolute.at(0)), t.interval(u.absolute, Alpha)
	if u.logarithmic.known {
		c.Relative, c.RelativeInterval = known(u.logarithmic.at(0)), t.interval(u.logarithmic, Alpha)
	}
	if t.freedom > 0 {
		c.RawPValue = t.p()
	}
	c.Scatter = scatterOf(u.differences, blocks)
	return c, u
}

// meanChange is the mean of values with its standard error; 0 for one value.
func meanChange(values []float64) changeOf {
	c := changeOf{value: meanOf(values), known: known(meanOf(values)).Known}
	if n := len(values); n > 1 {
		c.deviation = math.Sqrt(sumSquares(values) / float64(n-1) / float64(n))
	}
	return c
}

// medianLog is the median of log(1 + ratio); unknown if it is a lost value or an arm's value is not above 0.
func medianLog(ratios []float64) Quantity {
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		switch {
		case math.IsInf(r, 0):
			logs[i] = r
		case r <= -1:
			return Quantity{}
		default:
			logs[i] = math.Log1p(r)
		}
	}
	slices.Sort(logs)
	return known(median(logs))
}

// decide sets the verdict and the fields that depend on the size of the table.
func (c *DeploymentComparison) decide(u deploymentUnits, tests int) {
	level := Level(tests)
	c.Scatter.level = level
	switch {
	case u.lost:
		c.Verdict, c.Reason = NotComparable, ReasonLost
		return
	case c.Used < 2:
		c.Verdict, c.Reason, c.Needed = FewDeployments, ReasonTooFewDeployments, 2-c.Used
		return
	case u.same:
		c.Verdict, c.Reason = NotComparable, ReasonSameInAll
		return
	}
	t := u.t()
	c.Detectable = t.detectable(level)
	c.Needed = 0
	if !c.judge() {
		c.Needed = t.needed(math.Abs(c.Difference.Value), u.absolute, level)
	}
}

// DeploymentScatter divides the scatter of the deployments' differences into the scatter of blocks and the scatter of
// deployments.
type DeploymentScatter struct {
	// Within is the scatter of one block's difference within a deployment: the standard deviation of a deployment's
	// median is Within / sqrt(blocks). Unknown if values are lost or no deployment has 2 blocks.
	Within Quantity
	// Between is the standard deviation of the deployments' true differences, 0 if blocks alone explain the scatter.
	// BetweenInterval is its 95 % interval. Unknown with fewer than 2 deployments.
	Between         Quantity
	BetweenInterval Interval
	// Share is the part of the variance of a deployment's difference that comes from the deployment, 0 to 1.
	Share Quantity
	level float64
}

// scatterOf divides the variance of the deployments' medians. blocks are the sorted differences of each deployment.
//
// The variance of a median within its deployment is estimated from the scatter of all blocks about the medians of their
// deployments. The rest of the variance of the medians is the variance between deployments. Its interval is the one of
// Williams and Tukey (Williams, A Confidence Interval for Variance Components, Biometrika 49, 1962).
func scatterOf(medians []float64, blocks [][]float64) DeploymentScatter {
	var s DeploymentScatter
	var residuals []float64
	for _, sorted := range blocks {
		centre, n := median(sorted), float64(len(sorted))
		for _, v := range sorted {
			// Values scatter less about their own median than about the true one.
			residuals = append(residuals, (v-centre)*math.Sqrt(n/(n-1)))
		}
	}
	slices.Sort(residuals)
	n, freedom, within, one := float64(len(medians)), 0.0, 0.0, 0.0
	for _, sorted := range blocks {
		v := medianVariance(residuals, len(sorted))
		if !v.Known {
			return s
		}
		within += v.Value / n
		one += v.Value * float64(len(sorted)) / n
		freedom += float64(len(sorted)-1) / 2 // a median's variance is estimated about half as precisely as a mean's
	}
	s.Within = known(math.Sqrt(one))
	if len(medians) < 2 {
		return s
	}
	total := sumSquares(medians) / (n - 1)
	between := math.Max(0, total-within)
	s.Between = known(math.Sqrt(between))
	if between+within > 0 {
		s.Share = known(between / (between + within))
	}
	tail := Alpha / 2
	end := func(p float64) float64 {
		f := distuv.F{D1: n - 1, D2: freedom}.Quantile(p)
		chi := distuv.ChiSquared{K: n - 1}.Quantile(p)
		return math.Sqrt(math.Max(0, (n-1)*(total-within*f)/chi))
	}
	s.BetweenInterval = knownInterval(end(1-tail), end(tail))
	return s
}

// medianVariance is the variance of the median of n draws from sorted values: the weight of a value is the probability
// that it is that median (after Maritz and Jarrett, A Note on Estimating the Variance of the Sample Median, JASA 73,
// 1978). Unknown without values, or if one is lost.
func medianVariance(sorted []float64, n int) Quantity {
	m := len(sorted)
	if m == 0 || n < 1 || !known(sorted[0]).Known || !known(sorted[m-1]).Known {
		return Quantity{}
	}
	weights := distuv.Beta{Alpha: float64(n+1) / 2, Beta: float64(n+1) / 2}
	var mean, square, below float64
	for i, v := range sorted {
		upTo := weights.CDF(float64(i+1) / float64(m))
		w := upTo - below
		below = upTo
		mean += w * v
		square += w * v * v
	}
	return known(math.Max(0, square-mean*mean))
}

// A DeploymentPlan is a number of deployments and of blocks in each.
type DeploymentPlan struct{ Deployments, Blocks int }

// fewestPlannedBlocks is the smallest number of blocks of a plan: with fewer, one lost block makes a deployment
// worthless.
const fewestPlannedBlocks = 6

// standardError is the expected standard error of a plan's mean difference.
func (s DeploymentScatter) standardError(p DeploymentPlan) float64 {
	b, w := s.Between.Value, s.Within.Value
	return math.Sqrt((b*b + w*w/float64(p.Blocks)) / float64(p.Deployments))
}

// finds says whether a plan finds a true difference with probability Power.
func (s DeploymentScatter) finds(p DeploymentPlan, difference float64) bool {
	return p.Deployments > 1 && powered(float64(p.Deployments-1), s.level)*s.standardError(p) <= math.Abs(difference)
}

// planned says whether plans can be made.
func (s DeploymentScatter) planned() bool {
	return s.Within.Known && s.Between.Known && s.level > 0 && s.Within.Value+s.Between.Value > 0
}

// MoreDeployments is the plan with these blocks in each deployment, and the fewest deployments that find a true
// difference with probability Power; false if unknown or more than MaxBlocks.
func (s DeploymentScatter) MoreDeployments(difference float64, blocks int) (DeploymentPlan, bool) {
	p := DeploymentPlan{Deployments: 2, Blocks: max(blocks, 1)}
	if !s.planned() {
		return p, false
	}
	for ; p.Deployments <= MaxBlocks; p.Deployments++ {
		if s.finds(p, difference) {
			return p, true
		}
		if next := s.atLeast(p, difference); next > p.Deployments+1 {
			p.Deployments = next - 1
		}
	}
	return p, false
}

// atLeast is a number of deployments below which no plan finds the difference, whatever its degrees of freedom.
func (s DeploymentScatter) atLeast(p DeploymentPlan, difference float64) int {
	if difference == 0 {
		return MaxBlocks + 1
	}
	p.Deployments = 1
	ratio := powered(1e6, s.level) * s.standardError(p) / math.Abs(difference)
	return int(math.Min(ratio*ratio, MaxBlocks+1))
}

// MoreBlocks is the plan with this many deployments, and the fewest blocks in each that find a true difference with
// probability Power. It is false if no number of blocks does, because the deployments themselves differ too much.
func (s DeploymentScatter) MoreBlocks(difference float64, deployments int) (DeploymentPlan, bool) {
	p := DeploymentPlan{Deployments: deployments, Blocks: fewestPlannedBlocks}
	if !s.planned() || deployments < 2 {
		return p, false
	}
	bound := difference / powered(float64(deployments-1), s.level)
	rest := bound*bound*float64(deployments) - s.Between.Value*s.Between.Value
	if !(rest > 0) {
		return p, false
	}
	if blocks := math.Ceil(s.Within.Value * s.Within.Value / rest); blocks > fewestPlannedBlocks {
		if blocks > MaxBlocks {
			return p, false
		}
		p.Blocks = int(blocks)
	}
	return p, true
}

// Cheapest is the plan that finds a true difference with probability Power at the lowest price, for what a deployment
// and a block cost in the same unit: deployments * (deployment + blocks * block). It tries some numbers of blocks from
// 6 to 100, and for each of them takes the fewest deployments. Apart from the degrees of freedom, the best number is
// sqrt(cost of a deployment / cost of a block) * Within / Between (Kalibera and Jones 2013).
func (s DeploymentScatter) Cheapest(difference, deployment, block float64) (best DeploymentPlan, ok bool) {
	if !(block > 0) || !(deployment >= 0) {
		return DeploymentPlan{}, false
	}
	lowest := math.Inf(1)
	for _, blocks := range []int{fewestPlannedBlocks, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100} {
		p, found := s.MoreDeployments(difference, blocks)
		if price := float64(p.Deployments) * (deployment + float64(blocks)*block); found && price < lowest {
			best, ok, lowest = p, true, price
		}
	}
	return best, ok
}
