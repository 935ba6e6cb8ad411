package stats

import (
	"cmp"
	"math"
	"slices"
)

// Point is two statistics of an arm in a block: Y is related to X.
type Point struct {
	Arm   string
	Block int
	X, Y  float64
}

// Slope is the line through the arms of a run: Y = Intercept + Slope * X, for the true X and Y of each arm.
type Slope struct {
	// Slope is unknown without two blocks that have two arms, or if X is the same in all arms.
	Slope Quantity
	// Interval contains the true slope with Confidence. It is unknown with fewer than 6 blocks, and if X may be the same
	// in all arms: any slope would then do.
	Interval Interval
	// Across contains the true slope with Confidence also if the arms do not lie on one line, by as much as they do not
	// (see across). It is never narrower than Interval, and unknown with fewer than three arms.
	Across Interval
	// Intercept is the Y of an arm without any X.
	Intercept         Quantity
	InterceptInterval Interval
	// Off says how far each arm lies from the line through the others, if there are three arms or more. An arm without
	// which there is no line is left out.
	Off []OffLine
	// Blocks is how many blocks were used, Counted their effective number (see Serial).
	Blocks, Counted int
}

// OffLine is how far above the line through the other arms an arm lies, in the unit of Y. The intervals of all arms
// hold together with Confidence (Bonferroni).
type OffLine struct {
	Arm      string
	By       Quantity
	Interval Interval
	// Gain is how much By can be off at most if the Y of each arm is off by anything from 0 to 1 that no interval holds,
	// such as an error of the method: 1 or more, and large for an arm that the line must be drawn out to.
	Gain float64
}

// Surely says that the arm is off the line.
func (o OffLine) Surely() bool { return o.Interval.Known && !o.Interval.Contains(0) }

// leastLeverage is the part of an arm's distance from the line that the line leaves it at least. Below that, the line
// goes wherever the arm is.
const leastLeverage = 1e-3

// SlopeOf relates Y to X over all arms. Both are estimates with noise, so that least squares of Y on X would give too
// flat a line (errors in variables; Fuller, Measurement Error Models, 1987, section 1.1).
//
// Each block gives two contrasts with the same weights w of its arms, which sum to 0: U of X and V of Y. For the true
// slope b, V - b U is a contrast of noise alone, with a median of 0, however noisy X is. So the interval has those b
// for which the sign test on V - b U does not reject: Fieller's method (Fieller, Some Problems in Interval Estimation,
// J. Royal Statist. Soc. B 16, 1954) with the sign test of CompareAll in place of Student's. With two arms, w is the
// difference of the arms, and the interval is the order statistics of the ratios of the two differences. With more, w
// is where each arm lies in X by the medians of the other blocks: an instrument that the noise of the block's own
// trials cannot choose (Durbin, Errors in Variables, Review of the International Statistical Institute 22, 1954; each
// block by the others as in Angrist, Imbens and Krueger, Jackknife Instrumental Variables Estimation, J. Applied
// Econometrics 14, 1999).
//
// The sign test assumes that a contrast of noise is as often above 0 as below. That holds for any noise of two arms
// that is the same in both, and for symmetric noise of more. TestCoverageOfSlope has rates, also for other noise.
//
// Intercept and Off come from contrasts of Y - slope * X that no error of the slope moves: the weights of the intercept
// sum to 1 and give 0 along X, those of Off are the arm's part of what no line explains. Both are medians over the
// blocks, with their order statistics.
//
// Values that are not finite are left out. An arm has one value in a block. anyTime makes the intervals hold at any
// number of blocks.
func SlopeOf(points []Point, anyTime bool) Slope {
	g := gridOf(points)
	s := Slope{}
	var u, v []float64
	var weights [][]float64
	var used []int
	for i := range g.x {
		w := g.weights(i)
		if w == nil {
			continue
		}
		along, of := dot(w, g.x[i]), dot(w, g.y[i])
		if !known(along).Known || !known(of).Known {
			continue
		}
		weights, used = append(weights, w), append(used, i)
		if dot(w, g.middles) < 0 { // the other blocks have the arms the other way round: signs are counted in one direction
			along, of = -along, -of
		}
		u, v = append(u, along), append(v, of)
	}
	s.Blocks, s.Counted = len(used), len(used)
	if s.Blocks < 2 {
		return s
	}
	cut := func(inOrder []float64, level float64) (k, counted int) {
		counted = serialOf(inOrder).Counted
		if k = criticalCount(counted, level); anyTime {
			k = anyTimeCount(counted, level)
		}
		return k, counted
	}
	slope, _ := invertSign(u, v, -1)
	if s.Slope = known(slope); !s.Slope.Known {
		return s
	}
	rest := make([]float64, len(u))
	for i := range u {
		rest[i] = v[i] - slope*u[i]
	}
	k, counted := cut(rest, Alpha)
	s.Counted = counted
	if k >= 0 {
		_, s.Interval = invertSign(u, v, (k+1)*len(u)/counted-1)
	}
	s.Across = g.across(slope, s.Interval)
	middleOf := func(inOrder []float64, level float64) (Quantity, Interval) {
		k, counted := cut(inOrder, level)
		sorted := slices.Sorted(slices.Values(inOrder))
		if k < 0 {
			return known(median(sorted)), Interval{}
		}
		i := countedOrder(sorted, counted, k)
		return known(median(sorted)), knownInterval(i.Low, i.High)
	}
	var heights []float64
	for i, block := range used {
		heights = append(heights, g.height(block, weights[i], slope))
	}
	s.Intercept, s.InterceptInterval = middleOf(heights, Alpha)
	s.Off = g.off(used, slope, middleOf)
	return s
}

// across widens the interval of a slope, which has the noise of the blocks alone, by what the arms' medians differ
// from the line. More blocks do not make that smaller, as arms have something of their own: if it is normal, the slope
// of least squares has Student's distribution with two degrees of freedom fewer than there are arms (Draper and Smith,
// Applied Regression Analysis, 1998, chapter 1). The noise is in the medians too, so that both are not added.
func (g grid) across(slope float64, noise Interval) Interval {
	var x, rest []float64
	for arm, place := range g.middles {
		var of []float64
		for block, own := range g.x {
			if !math.IsNaN(own[arm]) {
				of = append(of, g.y[block][arm]-slope*own[arm])
			}
		}
		if len(of) > 0 {
			slices.Sort(of)
			x, rest = append(x, place), append(rest, median(of))
		}
	}
	freedom := len(x) - 2
	if freedom < 1 || !noise.Known {
		return Interval{}
	}
	half := tQuantile(freedom) * math.Sqrt(sumSquares(rest)/float64(freedom)/sumSquares(x))
	return knownInterval(math.Min(noise.Low, slope-half), math.Max(noise.High, slope+half))
}

// invertSign gives the b for which as many of v - b u are above 0 as below, and the b for which the sign test does not
// reject: more than k contradict either sign. The interval is unknown if k is below 0, or if it would be without bound
// because the signs of u do not tell whether u is 0.
//
// As b rises through v/u, the sign of v - b u changes once. So it takes the count at each of these ratios alone:
// between them, no more contradict.
func invertSign(u, v []float64, k int) (estimate float64, interval Interval) {
	type turn struct {
		at float64
		up bool // u is below 0: v - b u rises with b
	}
	var turns []turn
	above, below, equal := 0, 0, 0
	for i := range u {
		switch {
		case u[i] != 0:
			turns = append(turns, turn{v[i] / u[i], u[i] < 0})
			if u[i] > 0 {
				above++
			} else {
				below++
			}
		case v[i] > 0:
			above++
		case v[i] < 0:
			below++
		default:
			equal++
		}
	}
	if len(turns) == 0 {
		return math.NaN(), Interval{}
	}
	slices.SortFunc(turns, func(x, y turn) int { return cmp.Compare(x.at, y.at) })
	bounded := min(above, below)+equal <= k // to the left
	best, low, high := -1, math.NaN(), math.NaN()
	var first, last float64
	for len(turns) > 0 {
		n := 1
		for n < len(turns) && turns[n].at == turns[0].at {
			n++
		}
		ups := 0
		for _, t := range turns[:n] {
			if t.up {
				ups++
			}
		}
		above, below = above-(n-ups), below-ups
		contradict := min(above, below) + n + equal
		switch at := turns[0].at; {
		case contradict > best:
			best, first, last = contradict, at, at
		case contradict == best:
			last = at
		}
		if contradict > k {
			if math.IsNaN(low) {
				low = turns[0].at
			}
			high = turns[0].at
		}
		above, below = above+ups, below+(n-ups)
		turns = turns[n:]
	}
	estimate = first/2 + last/2
	if bounded = bounded && min(above, below)+equal <= k; k < 0 || !bounded {
		return estimate, Interval{}
	}
	return estimate, knownInterval(low, high)
}

// grid has the values of each block and arm; NaN without one.
type grid struct {
	arms []string
	x, y [][]float64
	// sorted are the values of X of each arm, and middles their medians; NaN without values.
	sorted  [][]float64
	middles []float64
}

// gridOf arranges points by blocks, in the order of their numbers. Arms keep the order in which they first occur.
func gridOf(points []Point) grid {
	var g grid
	var blocks []int
	for _, p := range points {
		if !slices.Contains(g.arms, p.Arm) {
			g.arms = append(g.arms, p.Arm)
		}
		blocks = append(blocks, p.Block)
	}
	slices.Sort(blocks)
	blocks = slices.Compact(blocks)
	g.sorted = make([][]float64, len(g.arms))
	empty := func() []float64 { return slices.Repeat([]float64{math.NaN()}, len(g.arms)) }
	for range blocks {
		g.x, g.y = append(g.x, empty()), append(g.y, empty())
	}
	for _, p := range points {
		if !known(p.X).Known || !known(p.Y).Known {
			continue
		}
		i, _ := slices.BinarySearch(blocks, p.Block)
		arm := slices.Index(g.arms, p.Arm)
		if !math.IsNaN(g.x[i][arm]) {
			continue
		}
		g.x[i][arm], g.y[i][arm] = p.X, p.Y
		g.sorted[arm] = append(g.sorted[arm], p.X)
	}
	for _, values := range g.sorted {
		slices.Sort(values)
		middle := math.NaN()
		if len(values) > 0 {
			middle = median(values)
		}
		g.middles = append(g.middles, middle)
	}
	return g
}

// weights are those of the arms of a block: how far each lies from their middle in X, by the other blocks, over the
// sum of the squares, so that the contrast of a straight line is its slope. Nil if the block has fewer than two arms,
// if the other blocks lack one of them, or if they lie at one place. NaN stands for an arm that the block lacks.
func (g grid) weights(block int) []float64 {
	w := make([]float64, len(g.arms))
	sum, n := 0.0, 0.0
	for arm, own := range g.x[block] {
		w[arm] = math.NaN()
		if math.IsNaN(own) {
			continue
		}
		if len(g.sorted[arm]) < 2 {
			return nil
		}
		w[arm] = g.place(arm, own)
		sum, n = sum+w[arm], n+1
	}
	if n < 2 {
		return nil
	}
	squares := 0.0
	for arm := range w {
		w[arm] -= sum / n
		if !math.IsNaN(w[arm]) {
			squares += w[arm] * w[arm]
		}
	}
	if !known(1 / squares).Known {
		return nil
	}
	for arm := range w {
		w[arm] /= squares
	}
	return w
}

// place is where an arm lies in X by the blocks other than the one in which it has this value. Two arms have one
// contrast, wherever they lie, so all blocks may say it.
func (g grid) place(arm int, own float64) float64 {
	if len(g.arms) == 2 {
		return g.middles[arm]
	}
	return medianWithout(g.sorted[arm], own)
}

// medianWithout is the median of at least two sorted values without one of them.
func medianWithout(sorted []float64, one float64) float64 {
	at, _ := slices.BinarySearch(sorted, one)
	of := func(i int) float64 {
		if i >= at {
			i++
		}
		return sorted[i]
	}
	n := len(sorted) - 1
	if n%2 == 1 {
		return of(n / 2)
	}
	return of(n/2-1)/2 + of(n/2)/2
}

// dot is the sum of products, over the arms that have both.
func dot(weights, values []float64) float64 {
	sum := 0.0
	for arm, w := range weights {
		if !math.IsNaN(w) && !math.IsNaN(values[arm]) {
			sum += w * values[arm]
		}
	}
	return sum
}

// height is Y - slope * X of a block where X is 0, by the line through its arms that has the weights w: the weights of
// the least-squares intercept.
func (g grid) height(block int, w []float64, slope float64) float64 {
	place, n := 0.0, 0.0
	for arm, own := range g.x[block] {
		if math.IsNaN(own) {
			continue
		}
		place += g.place(arm, own)
		n++
	}
	place /= n
	sum := 0.0
	for arm, own := range g.x[block] {
		if !math.IsNaN(own) {
			sum += (1/n - place*w[arm]) * (g.y[block][arm] - slope*own)
		}
	}
	return sum
}

// off says how far arms lie from the line through the others, from the blocks that have all of them.
func (g grid) off(
	used []int, slope float64, middleOf func(inOrder []float64, level float64) (Quantity, Interval),
) []OffLine {
	arms := len(g.arms)
	if arms < 3 {
		return nil
	}
	distances, gains := make([][]float64, arms), make([]float64, arms)
	for _, block := range used {
		if slices.ContainsFunc(g.x[block], math.IsNaN) {
			continue
		}
		w := g.weights(block)
		squares, middle := dot(w, w), 0.0
		rest := make([]float64, arms)
		for arm := range rest {
			rest[arm] = g.y[block][arm] - slope*g.x[block][arm]
			middle += rest[arm] / float64(arms)
		}
		along := dot(w, rest)
		for arm := range rest {
			// What least squares leaves of the arm, and what it leaves of 1 there: the deleted residual is their ratio
			// (Belsley, Kuh and Welsch, Regression Diagnostics, 1980, section 2.1).
			left := 1 - 1/float64(arms) - w[arm]*w[arm]/squares
			if left < leastLeverage {
				continue
			}
			distances[arm] = append(distances[arm], (rest[arm]-middle-w[arm]*along/squares)/left)
			gain := 1.0
			for other := range rest {
				if other != arm { // the weights of the others sum to -1
					gain += max(0, -(1/float64(arms)+w[arm]*w[other]/squares)/left)
				}
			}
			gains[arm] = max(gains[arm], gain)
		}
	}
	tests := 0
	for _, values := range distances {
		if len(values) > 1 {
			tests++
		}
	}
	if arms == 3 {
		tests = min(tests, 1) // three arms have one contrast: their distances are multiples of each other
	}
	var all []OffLine
	for arm, values := range distances {
		if len(values) < 2 {
			continue
		}
		o := OffLine{Arm: g.arms[arm], Gain: gains[arm]}
		o.By, o.Interval = middleOf(values, Level(tests))
		all = append(all, o)
	}
	return all
}
