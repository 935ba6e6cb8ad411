package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// dependents are series of differences with their true median. Neighbours of "AR" have the correlation; a mode of
// "sticky" is kept with that probability and drawn anew otherwise.
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

// TestCoverageOfDependentBlocks has how often the interval holds the true median, and how much wider it is than one
// that takes the blocks for independent.
func TestCoverageOfDependentBlocks(t *testing.T) {
	runs := simulationRuns(t, 400)
	least := map[string]float64{"AR 0.3": 0.88, "AR 0.5": 0.86, "sticky 0.5": 0.76, "sticky 0.7": 0.66}
	for _, d := range dependents {
		for _, n := range []int{10, 15, 20, 30, 40, 80} {
			r := rand.New(rand.NewPCG(50, uint64(n)))
			held, plain, reduced, alarms := 0, 0, 0, 0
			var width, plainWidth float64
			for range runs {
				differences := d.draw(r, n)
				var p Pair
				for block, v := range differences {
					p.Arm, p.Baseline = append(p.Arm, Value{block, 100 + v}), append(p.Baseline, Value{block, 100})
				}
				c := Compare(p.Arm, p.Baseline)
				if c.Interval.Contains(d.median) {
					held++
				}
				slices.Sort(differences)
				alone := medianInterval(differences, Confidence)
				if alone.Contains(d.median) {
					plain++
				}
				width, plainWidth = width+c.Interval.High-c.Interval.Low, plainWidth+alone.High-alone.Low
				if c.Serial.Reduced(n) {
					reduced++
				}
				if c.Serial.PValue.Value <= Alpha {
					alarms++
				}
			}
			share := func(count int) float64 { return float64(count) / float64(runs) }
			t.Logf("%s, %d blocks: held %.3f, without allowing for dependence %.3f; rejected %.3f, width %.2f", d.name, n, share(held),
				share(plain), share(alarms), width/plainWidth)
			if held < plain {
				t.Errorf("%s, %d blocks: allowing for dependence held less often, %d against %d", d.name, n, held, plain)
			}
			bound, dependent := least[d.name]
			switch {
			case !dependent && (share(held) < 0.93 || share(alarms) > 0.05+4*math.Sqrt(0.0475/float64(runs)) || width > 1.15*plainWidth):
				t.Errorf("%s, %d blocks: held %.3f, rejected %.3f, width %.3f", d.name, n, share(held), share(alarms), width/plainWidth)
			case dependent && n >= 20 && share(held) < bound:
				t.Errorf("%s, %d blocks: held %.3f", d.name, n, share(held))
			case n < minCorrected && reduced > 0:
				t.Errorf("%s, %d blocks: counted as fewer", d.name, n)
			}
		}
	}
}

// TestBartels: the ranks 1 to 10 in order have 9 steps of 1, and squares of 82.5; half the ratio is 0.0545. That the
// level is right is in TestCoverageOfDependentBlocks.
func TestBartels(t *testing.T) {
	s := serialOf([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	if !s.PValue.Known || s.PValue.Value > 0.001 || s.Counted != 10 || math.Abs(s.Correlation-0.9) > 1e-12 {
		t.Errorf("%+v", s)
	}
	up := serialOf([]float64{1, 10, 2, 9, 3, 8, 4, 7, 5, 6})
	if up.PValue.Value < 0.95 || up.Correlation != 0 {
		t.Errorf("neighbours that differ more than others are no cause for concern: %+v", up)
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

// TestCountedAgrees: the test rejects at a level exactly where the interval of that level excludes 0, however few the
// blocks count as, and blocks that count in full have the plain ones.
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

// TestDependentBlocksCountAsFewer: fewer blocks show less, and more of them have to be measured.
func TestDependentBlocksCountAsFewer(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 3))
	var arm, baseline []Value
	for block, v := range autoregressive(r, 40, 0.7) {
		arm, baseline = append(arm, Value{block, 100.1 + v}), append(baseline, Value{block, 100})
	}
	r.Shuffle(len(arm), func(i, j int) { arm[i], arm[j] = arm[j], arm[i] }) // the order of blocks counts, not that of trials
	c := Compare(arm, baseline)
	if !c.Serial.Reduced(c.Blocks) || c.Blocks != 40 || c.Serial.Counted > 25 {
		t.Fatalf("%+v", c.Serial)
	}
	independent := slices.Clone(arm)
	blocks := r.Perm(len(arm))
	for i := range independent {
		independent[i].Block = blocks[i]
	}
	plain := Compare(independent, baseline)
	if plain.Serial.Reduced(40) {
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
