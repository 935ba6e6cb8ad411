package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// dependents are series of differences with their true median. The number of "AR" is the correlation of neighbours, the
// number of "sticky" the probability of keeping the mode; otherwise a mode is drawn.
var dependents = []struct {
	name   string
	median float64
	draw   func(r *rand.Rand, n int) []float64
}{
	{"independent, normal", 0, func(r *rand.Rand, n int) []float64 { return autoregressive(r, n, 0) }},
	{"independent, log-normal", 1, func(r *rand.Rand, n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = math.Exp(r.NormFloat64())
		}
		return values
	}},
	{"AR 0.3", 0, func(r *rand.Rand, n int) []float64 { return autoregressive(r, n, 0.3) }},
	{"AR 0.5", 0, func(r *rand.Rand, n int) []float64 { return autoregressive(r, n, 0.5) }},
	{"sticky 0.5", 1, func(r *rand.Rand, n int) []float64 { return sticky(r, n, 0.5) }},
	{"sticky 0.7", 1, func(r *rand.Rand, n int) []float64 { return sticky(r, n, 0.7) }},
}

func autoregressive(r *rand.Rand, n int, correlation float64) []float64 {
	values := make([]float64, n)
	v := r.NormFloat64()
	for i := range values {
		values[i] = v
		v = correlation*v + math.Sqrt(1-correlation*correlation)*r.NormFloat64()
	}
	return values
}

func sticky(r *rand.Rand, n int, stay float64) []float64 {
	values := make([]float64, n)
	mode := float64(2 * r.IntN(2))
	for i := range values {
		values[i] = mode + 0.5*r.NormFloat64()
		if r.Float64() > stay {
			mode = float64(2 * r.IntN(2))
		}
	}
	return values
}

// TestCoverageOfDependentBlocks: how often the interval contains the true median, and how much wider it is than an
// interval that ignores dependence. The bounds for dependent series are for 10 blocks and for 20 or more; wrong is 0.06
// less. docs/statistics.md has all figures.
func TestCoverageOfDependentBlocks(t *testing.T) {
	t.Parallel()
	right := map[string][2]float64{
		"AR 0.3": {0.93, 0.90}, "AR 0.5": {0.865, 0.89}, "sticky 0.5": {0.80, 0.79}, "sticky 0.7": {0.61, 0.68},
	}
	for _, d := range dependents {
		for _, n := range []int{10, 15, 20, 30, 40, 80} {
			r := rand.New(rand.NewPCG(50, uint64(n)))
			s := newSimulation(t)
			what := fmt.Sprintf("%s, %d blocks: ", d.name, n)
			bounds, dependent := right[d.name]
			var held, rejected *rate
			switch {
			case !dependent:
				held, rejected = s.rate(what+"held", 0.945, 0.91), s.rate(what+"rejected", 0.05, 0.09)
			case n == 10:
				held = s.rate(what+"held", bounds[0], bounds[0]-0.06)
			case n >= 20:
				held = s.rate(what+"held", bounds[1], bounds[1]-0.06)
			default:
				held = s.rate(what+"held", 0.5, math.NaN())
			}
			if dependent {
				rejected = s.rate(what+"rejected", 0.5, math.NaN())
			}
			plain := s.rate(what+"held, dependence ignored", 0.5, math.NaN())
			var width, plainWidth float64
			s.run(func() {
				differences := d.draw(r, n)
				var p Pair
				for block, v := range differences {
					p.Arm, p.Baseline = append(p.Arm, Value{block, 100 + v}), append(p.Baseline, Value{block, 100})
				}
				c := compare(p)
				held.add(c.Interval.Contains(d.median))
				rejected.add(c.Serial.PValue.Value <= Alpha)
				slices.Sort(differences)
				alone := medianInterval(differences, Confidence)
				plain.add(alone.Contains(d.median))
				width, plainWidth = width+c.Interval.High-c.Interval.Low, plainWidth+alone.High-alone.Low
				if n < FewestCorrected && c.Serial.Counted < n {
					t.Fatalf("%seffective number %d", what, c.Serial.Counted)
				}
			})
			t.Logf("%swidth %.2f", what, width/plainWidth)
			if held.hits < plain.hits {
				t.Errorf("%sheld in %d of %d, and in %d if dependence is ignored", what,
					held.hits, held.draws, plain.hits)
			}
			// The mean width of independent series is 1.09 at most, with a standard error of 0.015.
			if !dependent && width > 1.15*plainWidth {
				t.Errorf("%swidth %.3f", what, width/plainWidth)
			}
		}
	}
}

// TestBartels: the ranks 1 to 10 in order have 9 steps of 1 and a sum of squares of 82.5, so half the ratio is 0.0545.
// TestCoverageOfDependentBlocks tests the level.
func TestBartels(t *testing.T) {
	s := serialOf([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	if !s.PValue.Known || s.PValue.Value > 0.001 || s.Counted != 10 || math.Abs(s.Correlation-0.9) > 1e-12 {
		t.Errorf("%+v", s)
	}
	up := serialOf([]float64{1, 10, 2, 9, 3, 8, 4, 7, 5, 6})
	if up.PValue.Value < 0.95 || up.Correlation != 0 {
		t.Errorf("negative dependence is not tested for: %+v", up)
	}
	// Ties share their ranks: 1.5 1.5 3 4 ...
	if got := midranks([]float64{7, 3, 3, 9}); !slices.Equal(got, []float64{3, 1.5, 1.5, 4}) {
		t.Errorf("%v", got)
	}
	for _, few := range [][]float64{nil, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}} {
		if s := serialOf(few); s.PValue.Known || s.Counted != len(few) {
			t.Errorf("%v: %+v", few, s)
		}
	}
}

// TestCountedAgrees: for any effective number of blocks, the test rejects at a level exactly if the interval of that
// level excludes 0. If the effective number is the number of blocks, the interval is medianInterval.
func TestCountedAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 1))
	for range 2000 {
		n := 15 + r.IntN(60)
		counted := fewestCounted + r.IntN(n-fewestCounted+1)
		values := drawDifferences(r, n, r.Float64(), noises[0].draw)
		notAbove, _ := slices.BinarySearch(values, 0)
		for _, level := range []float64{0.05, 0.01} {
			interval := countedInterval(values, counted, 1-level)
			p := countedSignP(n, counted, min(notAbove, n-notAbove))
			if rejects := p <= level; interval.Known && rejects == interval.Contains(0) {
				t.Fatalf("%d of %d, level %g: p %g, interval %+v", counted, n, level, p, interval)
			}
			if counted == n && interval != medianInterval(values, 1-level) {
				t.Fatalf("%d blocks", n)
			}
		}
	}
}

// TestDependentBlocksCountAsFewer: with a smaller effective number, less is detected and more blocks are needed.
func TestDependentBlocksCountAsFewer(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 3))
	var arm, baseline []Value
	for block, v := range autoregressive(r, 40, 0.7) {
		arm, baseline = append(arm, Value{block, 100.1 + v}), append(baseline, Value{block, 100})
	}
	// the order of blocks counts, not the order of trials
	r.Shuffle(len(arm), func(i, j int) { arm[i], arm[j] = arm[j], arm[i] })
	c := Compare(arm, baseline)
	if c.Serial.Counted >= c.Blocks || c.Blocks != 40 || c.Serial.Counted > 25 {
		t.Fatalf("%+v", c.Serial)
	}
	independent := slices.Clone(arm)
	blocks := r.Perm(len(arm))
	for i := range independent {
		independent[i].Block = blocks[i]
	}
	plain := Compare(independent, baseline)
	if plain.Serial.Counted < 40 {
		t.Fatalf("%+v", plain.Serial)
	}
	if c.Difference != plain.Difference || c.Interval.High-c.Interval.Low <= plain.Interval.High-plain.Interval.Low ||
		c.Detectable.Value <= plain.Detectable.Value {
		t.Errorf("%+v\nin another order %+v", c, plain)
	}
	if a, b := c.Noise.BlocksNeeded(0.3), plain.Noise.BlocksNeeded(0.3); a <= b {
		t.Errorf("%d more blocks where they depend, %d where not", a, b)
	}
	change, _ := EstimatePaired(Pair{Arm: arm, Baseline: baseline}, 1)
	if change.Interval.High-change.Interval.Low < c.Interval.High-c.Interval.Low-1e-12 && !c.Widened {
		t.Errorf("the gate's interval %+v is narrower than the comparison's %+v", change.Interval, c.Interval)
	}
}
