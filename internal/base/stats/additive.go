package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Additivity is a test of whether the costs of the layers add up to the differences between arms.
type Additivity struct {
	// Freedom is the number of independent contrasts that can contradict the sum of layers: arms - 1 - columns, where
	// columns are the terms and the refused layers held constant. With 0 nothing can be tested.
	Freedom int
	// Blocks is how many blocks the test uses.
	Blocks int
	// PValue is the probability of a contradiction at least this large if the layers add up. It is unknown without
	// terms, with Freedom 0, and with fewer than 6 blocks.
	PValue Quantity
	// Arms are the arms that contradict the sum most, in the design's order: one, or several that the design cannot
	// tell apart.
	Arms []Deviation
	// Within is the size of deviation that surely no arm exceeds, and AtLeast the size that surely some arm exceeds,
	// each with the confidence Confidence, in the statistic's unit. AtLeast is 0 if perhaps no arm deviates. Both are
	// unknown if fewer than 6 blocks have all arms.
	Within, AtLeast Quantity
	// Whole is the size of the largest difference between an arm and the baseline; unknown if it may be 0.
	Whole Quantity
}

// Deviation says how far an arm lies above the sum of its layers, in the statistic's unit, assuming that only this
// arm deviates.
type Deviation struct {
	Arm string
	By  float64
}

// Rejected says that the layers do not add up, at the level Alpha.
func (a Additivity) Rejected() bool { return a.PValue.Known && a.PValue.Value <= Alpha }

// The sign test on blocks. With fewer than minSignBlocks it cannot reject. All sign assignments are tried up to
// maxAllSigns blocks; with more blocks, drawnSigns assignments are drawn.
const (
	minSignBlocks = 6
	maxAllSigns   = 12
	drawnSigns    = 999
)

// additivity tests whether the arms' means lie in the space of block effects and columns.
//
// Each block gives contrasts of its arms that no block effect and no layer cost can influence. If the layers add up,
// their mean is 0, whatever the noise of each arm. The statistic is Hotelling's: T = s' C^-1 s, where s is the sum of
// the contrasts over all blocks and C is their sum of squares about 0. Its distribution comes from flipping the signs
// of whole blocks. If the noise is symmetric, both signs of a block's contrasts are equally likely, so the level is
// exact with unequal variances, dependence within blocks and heavy tails (Fisher, The Design of Experiments, 1935,
// section 21; Lehmann and Romano, Testing Statistical Hypotheses, 3rd ed. 2005, section 15.2). C is taken about 0
// because sign flips do not change it then. It is shrunk towards equal variances without correlation, more strongly
// with fewer blocks, so that fewer blocks than contrasts suffice (this target: Ledoit and Wolf, J. Multivariate
// Analysis 88, 2004). TestLevelOfAdditivity and TestPowerOfAdditivity measure its level and power.
func (f *fit) additivity(all estimate) Additivity {
	basis := f.residualSpace()
	a := Additivity{Freedom: len(basis), Blocks: len(f.blocks)}
	if len(f.columns) == 0 || all.costs == nil || a.Freedom == 0 || a.Blocks < minSignBlocks {
		return a
	}
	contrasts := f.contrasts(basis, all)
	factor, ok := contrastFactor(contrasts)
	if !ok { // every block fits the layers exactly
		a.PValue, a.Within, a.AtLeast = known(1), known(0), known(0)
		return a
	}
	whitened := make([][]float64, len(contrasts))
	sum := make([]float64, a.Freedom)
	for i, z := range contrasts {
		whitened[i] = slices.Clone(z)
		forward(factor, whitened[i])
		floats.Add(sum, whitened[i])
	}
	a.PValue = known(signShare(whitened, floats.Dot(sum, sum)))

	// The best linear test for each arm against the alternative that only this arm deviates.
	var most float64
	statistics, deviations := make([]float64, len(f.design.Arms)), make([]float64, len(f.design.Arms))
	for arm := range f.design.Arms {
		along := make([]float64, a.Freedom)
		for i, direction := range basis {
			along[i] = direction[arm]
		}
		if floats.Norm(along, 2) < noContrast {
			continue
		}
		forward(factor, along)
		gain := floats.Dot(along, along)
		statistics[arm] = math.Abs(floats.Dot(along, sum)) / math.Sqrt(gain)
		deviations[arm] = floats.Dot(along, sum) / gain / float64(a.Blocks)
		most = math.Max(most, statistics[arm])
	}
	for arm, v := range statistics {
		if most > 0 && v >= most*(1-separationTolerance) {
			a.Arms = append(a.Arms, Deviation{f.design.Arms[arm], deviations[arm]})
		}
	}
	f.sizes(&a, basis)
	return a
}

// residualSpace is an orthonormal basis of the arm means that a common level and the columns cannot explain.
func (f *fit) residualSpace() [][]float64 {
	arms := len(f.design.Arms)
	var spanned [][]float64
	add := func(v []float64) bool {
		length := floats.Norm(v, 2)
		for range 2 { // a second pass removes what rounding left of the first
			for _, s := range spanned {
				floats.AddScaled(v, -floats.Dot(s, v), s)
			}
		}
		rest := floats.Norm(v, 2)
		if !(rest > 1e-6*length) {
			return false
		}
		floats.Scale(1/rest, v)
		spanned = append(spanned, v)
		return true
	}
	ones := make([]float64, arms)
	for i := range ones {
		ones[i] = 1
	}
	add(ones)
	for i, column := range f.columns {
		scaled := slices.Clone(column)
		floats.Scale(1/f.spans[i], scaled)
		add(scaled)
	}
	explained := len(spanned)
	for arm := range arms {
		unit := make([]float64, arms)
		unit[arm] = 1
		add(unit)
	}
	return spanned[explained:]
}

// contrasts gives each block's residuals along the basis. An arm that is missing in a block has the residual 0 there
// and adds nothing.
func (f *fit) contrasts(basis [][]float64, e estimate) [][]float64 {
	var all [][]float64
	residuals := make([]float64, len(f.design.Arms))
	for _, block := range f.blocks {
		var sum, n float64
		for arm, v := range block {
			residuals[arm] = v
			for i, column := range f.columns {
				residuals[arm] -= e.costs[i] * column[arm]
			}
			if !math.IsNaN(v) {
				sum += residuals[arm]
				n++
			}
		}
		for arm, v := range block {
			residuals[arm] -= sum / n
			if math.IsNaN(v) {
				residuals[arm] = 0
			}
		}
		z := make([]float64, len(basis))
		for i, direction := range basis {
			z[i] = floats.Dot(direction, residuals)
		}
		all = append(all, z)
	}
	return all
}

// contrastFactor is the Cholesky factor of (1-w) S + w mean(diag S) I, where S is the contrasts' sum of squares about
// 0, w = q / (q + blocks), and q is the number of contrasts. It is false if all contrasts are 0.
func contrastFactor(contrasts [][]float64) ([]float64, bool) {
	q, n := len(contrasts[0]), len(contrasts)
	squares := make([]float64, q*q)
	var trace float64
	for _, z := range contrasts {
		for i := range z {
			for j := range z {
				squares[i*q+j] += z[i] * z[j]
			}
			trace += z[i] * z[i]
		}
	}
	part := float64(q) / float64(q+n)
	floats.Scale(1-part, squares)
	for i := range q {
		squares[i*q+i] += part * trace / float64(q)
	}
	return squares, trace > 0 && factorise(squares, q)
}

// signShare is the share of sign assignments to blocks for which the squared length of the sum is at least observed.
// With many blocks the assignments are drawn from a fixed seed.
func signShare(blocks [][]float64, observed float64) float64 {
	n := len(blocks)
	bound := observed * (1 - separationTolerance)
	sum := make([]float64, len(blocks[0]))
	// add adds up to 64 blocks; bit i of bits is the sign of block i.
	add := func(blocks [][]float64, bits uint64) {
		for _, block := range blocks {
			sign := float64(int(bits&1)*2 - 1)
			bits >>= 1
			for i, v := range block {
				sum[i] += sign * v
			}
		}
	}
	count := 0
	if n <= maxAllSigns {
		ways := 1 << (n - 1)
		for way := range ways {
			copy(sum, blocks[n-1]) // flipping all signs keeps the length, so half of the assignments suffice
			add(blocks[:n-1], uint64(way))
			if floats.Dot(sum, sum) >= bound {
				count++
			}
		}
		return float64(count) / float64(ways)
	}
	random := rand.New(rand.NewPCG(uint64(n), uint64(len(sum))))
	for range drawnSigns {
		clear(sum)
		for chunk := range slices.Chunk(blocks, 64) {
			add(chunk, random.Uint64())
		}
		if floats.Dot(sum, sum) >= bound {
			count++
		}
	}
	return float64(count+1) / float64(drawnSigns+1)
}
