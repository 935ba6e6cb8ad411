package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// singularPivot is the smallest share of a column's sum of squares that the columns before it may leave unexplained.
// Below it the normal equations count as singular.
const singularPivot = 1e-10

// maxValue bounds the values that are fitted, so that products do not overflow.
const maxValue = 1e100

// fit is the least squares problem: trials by block, and the columns that explain them.
type fit struct {
	// design has only the arms that have trials.
	design Design
	// blocks holds each block's value of each arm, NaN where it is missing. Every block has at least two.
	blocks [][]float64
	trials int
	// stay is the share of trials that were not moved; see table.winsorise.
	stay float64
	// columns holds the counts in each arm: first the columns of the terms, then as many refused layers as are needed
	// to hold all others constant. Without the latter, their cost would shift to the terms.
	columns [][]float64
	spans   []float64
	// quantiles caches tQuantile, which takes longer than all the rest of an interval.
	quantiles map[int]float64
}

// estimate is the result of all trials, or of all blocks but one: the cost of each column (nil if not determined) and
// whole, the mean paired difference of each arm from the baseline (NaN if there is none).
type estimate struct {
	costs, whole []float64
}

// newFit groups the trials by block. Blocks with one arm contain no difference and are left out. Trials that lie far
// off are moved (table.winsorise), and several trials of an arm in a block are then averaged: a block's value is a mean
// for every arm, so that arms with different numbers of trials have the same expectation, whatever the noise.
func newFit(d Design, trials []Trial) *fit {
	arms := make(map[string]int, len(d.Arms))
	for i, name := range d.Arms {
		if _, ok := arms[name]; !ok {
			arms[name] = i
		}
	}
	values := make(map[int][][]float64)
	var order []int
	for _, t := range trials {
		arm, ok := arms[t.Arm]
		if !ok || !(math.Abs(t.Value) <= maxValue) {
			continue
		}
		row, ok := values[t.Block]
		if !ok {
			row = make([][]float64, len(d.Arms))
			values[t.Block] = row
			order = append(order, t.Block)
		}
		row[arm] = append(row[arm], t.Value)
	}
	slices.Sort(order)

	f := &fit{design: Design{Layers: d.Layers}, quantiles: map[int]float64{}, stay: 1}
	seen := make([]bool, len(d.Arms))
	var rows table
	for _, block := range order {
		var present []int
		for arm, v := range values[block] {
			if len(v) > 0 {
				present = append(present, arm)
			}
		}
		if len(present) < 2 {
			continue
		}
		for _, arm := range present {
			seen[arm] = true
		}
		f.trials += len(present)
		rows = append(rows, values[block])
	}
	for arm, ok := range seen {
		if !ok {
			continue
		}
		counts := make([]float64, len(d.Layers))
		for layer := range counts {
			counts[layer] = d.count(arm, layer)
		}
		f.design.Arms = append(f.design.Arms, d.Arms[arm])
		f.design.Counts = append(f.design.Counts, counts)
	}
	if len(rows) == 0 {
		return f
	}
	var kept table
	for _, row := range rows {
		var of [][]float64
		for arm, v := range row {
			if seen[arm] {
				of = append(of, v)
			}
		}
		kept = append(kept, of)
	}
	f.stay = kept.winsorise()
	f.blocks = kept.means()
	return f
}

// setColumns chooses the columns: the terms, and refused layers that are independent of the columns chosen before.
func (f *fit) setColumns(s Separation) {
	var taken []int
	inTerm := make(map[string]bool)
	for _, t := range s.Terms {
		f.columns = append(f.columns, t.Counts)
		// Layers of one term are in proportion: any of them represents it.
		taken = append(taken, slices.Index(f.design.Layers, t.Layers[0]))
		for _, layer := range t.Layers {
			inTerm[layer] = true
		}
	}
	for layer, name := range f.design.Layers {
		if inTerm[name] || f.design.span(layer) == 0 {
			continue
		}
		if with := append(slices.Clone(taken), layer); len(f.design.circuits(with)) == 0 {
			taken = with
			f.columns = append(f.columns, f.design.column(layer))
		}
	}
	for _, column := range f.columns {
		f.spans = append(f.spans, slices.Max(column)-slices.Min(column))
	}
}

// complete says that no trial is missing.
func (f *fit) complete() bool { return f.trials == len(f.blocks)*len(f.design.Arms) }

// pairs is how many blocks have both arms.
func (f *fit) pairs(arm, base int) int {
	n := 0
	for _, block := range f.blocks {
		if !math.IsNaN(block[arm] - block[base]) {
			n++
		}
	}
	return n
}

// informing is how many blocks have arms that differ in a column.
func (f *fit) informing(column int) int {
	n := 0
	for _, block := range f.blocks {
		low, high := math.Inf(1), math.Inf(-1)
		for arm, v := range block {
			if !math.IsNaN(v) {
				low, high = math.Min(low, f.columns[column][arm]), math.Max(high, f.columns[column][arm])
			}
		}
		if high > low {
			n++
		}
	}
	return n
}

// sums is the contribution of one or more blocks to the estimates: the normal equations, and the sum and number of
// the paired differences of each arm from the baseline.
type sums struct {
	normal, right, whole, pairs []float64
}

// newSums makes zero sums for p columns and a number of arms.
func newSums(p, arms int) sums {
	return sums{make([]float64, p*p), make([]float64, p), make([]float64, arms), make([]float64, arms)}
}

// add adds sign * other.
func (s sums) add(other sums, sign float64) {
	add := func(to, from []float64) {
		for i, v := range from {
			to[i] += sign * v
		}
	}
	add(s.normal, other.normal)
	add(s.right, other.right)
	add(s.whole, other.whole)
	add(s.pairs, other.pairs)
}

// estimates gives the estimate from all blocks, and those without each block in turn.
func (f *fit) estimates(base int) (all estimate, without []estimate) {
	p, arms := len(f.columns), len(f.design.Arms)
	total := newSums(p, arms)
	each := make([]sums, len(f.blocks))
	for i, block := range f.blocks {
		each[i] = f.blockSums(block, base)
		total.add(each[i], 1)
	}
	for _, block := range each {
		rest := newSums(p, arms)
		rest.add(total, 1)
		rest.add(block, -1)
		without = append(without, f.solve(rest))
	}
	return f.solve(total), without
}

// blockSums is one block's contribution. Subtracting the block's mean from its values and counts removes the block
// effect (Frisch and Waugh, Econometrica 1, 1933).
func (f *fit) blockSums(block []float64, base int) sums {
	p := len(f.columns)
	s := newSums(p, len(block))
	var present []int
	for arm, v := range block {
		if math.IsNaN(v) {
			continue
		}
		present = append(present, arm)
		if !math.IsNaN(block[base]) {
			s.whole[arm] = v - block[base]
			s.pairs[arm] = 1
		}
	}
	centred := func(column []float64, span float64) []float64 {
		values := make([]float64, len(present))
		for i, arm := range present {
			values[i] = column[arm] / span
		}
		mean := meanOf(values)
		for i := range values {
			values[i] -= mean
		}
		return values
	}
	y := centred(block, 1)
	x := make([][]float64, p)
	for i, column := range f.columns {
		x[i] = centred(column, f.spans[i])
	}
	for i := range x {
		s.right[i] = floats.Dot(x[i], y)
		for j := range x {
			s.normal[i*p+j] = floats.Dot(x[i], x[j])
		}
	}
	return s
}

// solve computes the estimate from sums.
func (f *fit) solve(s sums) estimate {
	e := estimate{whole: make([]float64, len(s.whole))}
	for arm := range e.whole {
		// Without a pair this is 0/0, NaN.
		e.whole[arm] = s.whole[arm] / s.pairs[arm]
	}
	p := len(f.columns)
	if p == 0 {
		e.costs = []float64{}
		return e
	}
	solution, ok := solvePositive(s.normal, s.right)
	if !ok {
		return e
	}
	e.costs = make([]float64, p)
	for i := range e.costs {
		e.costs[i] = solution[i] / f.spans[i]
	}
	return e
}

// solvePositive solves a symmetric positive definite system by Cholesky factorisation; a holds the matrix by rows. It
// is false if the matrix is singular. It is written here and not taken from a general library because a jackknife
// solves one small system for each block.
func solvePositive(a, b []float64) ([]float64, bool) {
	p := len(b)
	factor := slices.Clone(a)
	if !factorise(factor, p) {
		return nil, false
	}
	x := slices.Clone(b)
	forward(factor, x)
	for i := p - 1; i >= 0; i-- {
		for k := i + 1; k < p; k++ {
			x[i] -= factor[k*p+i] * x[k]
		}
		x[i] /= factor[i*p+i]
	}
	return x, true
}

// factorise overwrites the lower half of a symmetric matrix of p rows with its Cholesky factor (Golub and Van Loan,
// Matrix Computations, 4th ed. 2013, section 4.2). It is false if the matrix is singular.
func factorise(a []float64, p int) bool {
	for i := range p {
		diagonal := a[i*p+i]
		for j := range i + 1 {
			sum := a[i*p+j]
			for k := range j {
				sum -= a[i*p+k] * a[j*p+k]
			}
			if j < i {
				a[i*p+j] = sum / a[j*p+j]
				continue
			}
			if !(sum > singularPivot*diagonal) {
				return false
			}
			a[i*p+i] = math.Sqrt(sum)
		}
	}
	return true
}

// forward overwrites b with the solution x of L x = b, where L is the factor's lower half.
func forward(factor, b []float64) {
	p := len(b)
	for i := range p {
		for k := range i {
			b[i] -= factor[i*p+k] * b[k]
		}
		b[i] /= factor[i*p+i]
	}
}

// onlyArm returns the arm if the cost of a column depends only on this arm's difference from the baseline in a
// complete block: cost = part * difference. The arm is -1 if the cost depends on more.
func (f *fit) onlyArm(column, base int) (arm int, part float64) {
	arm = -1
	for i := range f.design.Arms {
		if i == base {
			continue
		}
		unit := make([]float64, len(f.design.Arms))
		unit[i] = 1
		e := f.solve(f.blockSums(unit, base))
		switch {
		case e.costs == nil:
			return -1, 0
		case math.Abs(e.costs[column])*f.spans[column] <= separationTolerance:
		case arm >= 0:
			return -1, 0
		default:
			arm, part = i, 1/(f.columns[column][i]-f.columns[column][base])
		}
	}
	return arm, part
}

// residual is the part of an arm's difference from the baseline that the estimate does not explain; NaN without
// costs.
func (f *fit) residual(e estimate, arm, base int) float64 {
	if e.costs == nil {
		return math.NaN()
	}
	rest := e.whole[arm]
	for i, column := range f.columns {
		rest -= e.costs[i] * (column[arm] - column[base])
	}
	return rest
}

// fitsAlways says whether the residual of an arm's difference is 0 in a complete block for any values. The residual
// is linear in the values; its weights are the projection of the contrast off the columns. With the contrast itself
// as the values, the residual is the squared length of that projection.
func (f *fit) fitsAlways(arm, base int) bool {
	contrast := make([]float64, len(f.design.Arms))
	contrast[arm], contrast[base] = 1, -1
	return f.residual(f.solve(f.blockSums(contrast, base)), arm, base) <= separationTolerance
}
