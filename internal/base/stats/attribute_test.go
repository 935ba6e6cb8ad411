package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func threeArms() Design {
	return Design{
		Arms:   []string{"l2", "routed", "vxlan"},
		Layers: []string{"bridge", "router", "vtep"},
		Counts: [][]float64{{1, 0, 0}, {2, 1, 0}, {2, 1, 2}},
	}
}

// TestAttributeByHand: in a saturated design the costs are differences between neighbouring arms.
func TestAttributeByHand(t *testing.T) {
	var trials []Trial
	for block, v := range [][3]float64{{10, 15, 23}, {12, 18, 25}, {11, 15, 22}} {
		trials = append(trials, Trial{"l2", block, v[0]}, Trial{"routed", block, v[1]}, Trial{"vxlan", block, v[2]})
	}
	a := Attribute(threeArms(), "l2", trials)
	if a.Reason != "" || a.Trials != 9 || a.Blocks != 3 || a.Freedom != 2 || !a.Saturated {
		t.Errorf("%+v", a)
	}
	// bridge+router: 5, 6, 4; mean 5, standard deviation 1. VTEPs: 8, 7, 7 for two; mean 11/3 for one, standard
	// deviation 1/sqrt(12). The t quantile for 2 degrees of freedom is 4.302652729911275.
	half := 4.302652729911275 / math.Sqrt(3)
	wantCost(t, a.Costs[0], "bridge+router", 5, half)
	wantCost(t, a.Costs[1], "vtep", 11.0/3, half/math.Sqrt(12))
	full := a.Arms[a.Fullest]
	if full.Arm != "vxlan" || full.Pairs != 3 || !near(full.Whole.Value, 37.0/3) ||
		full.Residual != (Quantity{0, true}) ||
		full.ResidualInterval.Known || !full.ByConstruction || !near(full.Terms[0], 5) || !near(full.Terms[1], 22.0/3) {
		t.Errorf("%+v", full)
	}
	// Wholes 13, 13, 11: standard deviation 2/sqrt(3).
	if i := full.WholeInterval; !near(i.High, 37.0/3+half*2/math.Sqrt(3)) {
		t.Errorf("whole %v", i)
	}
}

func wantCost(t *testing.T, c Cost, name string, cost, half float64) {
	t.Helper()
	if c.Term.Name != name || !near(c.Cost.Value, cost) ||
		!near(c.Interval.Low, cost-half) || !near(c.Interval.High, cost+half) {
		t.Errorf("%s %v %v, want %s %v +- %v", c.Term.Name, c.Cost, c.Interval, name, cost, half)
	}
}

// TestAttributeAgainstReference has two failed trials. The expected costs are the last two parameters of statsmodels
// 0.15's OLS(y, [block dummies, counts]).fit(). The expected intervals are cost +- t(0.975, 4) sqrt(4/5 sum (cost
// without block b - mean of these)^2), with the same OLS for each block left out.
func TestAttributeAgainstReference(t *testing.T) {
	d := Design{
		Arms:   []string{"l2", "routed", "vxlan", "encapsulated"},
		Layers: []string{"bridge", "router", "vtep"},
		Counts: [][]float64{{1, 0, 0}, {2, 1, 0}, {2, 1, 2}, {1, 0, 2}},
	}
	var trials []Trial
	for block, row := range [][]float64{
		{10.1, 15.2, 22.9, 17.4},
		{11.0, 15.7, 24.1, math.NaN()},
		{9.6, 14.9, 22.0, 16.8},
		{10.4, 15.1, 23.8, 18.1},
		{10.9, math.NaN(), 23.5, 17.6},
	} {
		for arm, v := range row {
			trials = append(trials, Trial{d.Arms[arm], block, v})
		}
	}
	a := Attribute(d, "l2", trials)
	for i, want := range [][3]float64{{5.25727273, 5.04156599, 5.47297946}, {3.80136364, 3.45262953, 4.15009774}} {
		c := a.Costs[i]
		got := [3]float64{c.Cost.Value, c.Interval.Low, c.Interval.High}
		if !cmp.Equal(got, want, cmpopts.EquateApprox(0, 1e-8)) {
			t.Errorf("%s: %v %v, want %v", c.Term.Name, c.Cost, c.Interval, want)
		}
	}
	if a.Trials != 18 || a.Blocks != 5 || a.Saturated {
		t.Errorf("%+v", a)
	}
	full := a.Arms[a.Fullest]
	// scipy.stats.t.interval(0.95, 4, ...) of the paired differences.
	if full.Arm != "vxlan" || math.Abs(full.WholeInterval.Low-12.366448322319954) > 1e-9 ||
		!near(full.Whole.Value, 12.86) {
		t.Errorf("%+v", full)
	}
}

// TestRefusedLayersDoNotLeak: x, y and z depend on each other and are refused; their costs must not shift to w.
func TestRefusedLayersDoNotLeak(t *testing.T) {
	d := Design{
		Arms:   []string{"a", "b", "c", "d"},
		Layers: []string{"x", "y", "z", "w"},
		Counts: [][]float64{{0, 0, 0, 0}, {1, 0, 1, 0}, {0, 1, 1, 0}, {1, 0, 1, 1}},
	}
	var trials []Trial
	for block := range 6 {
		for arm, v := range []float64{100, 150, 130, 157} {
			trials = append(trials, Trial{d.Arms[arm], block, v + float64(block)})
		}
	}
	a := Attribute(d, "a", trials)
	if len(a.Costs) != 1 || a.Costs[0].Term.Name != "w" || !near(a.Costs[0].Cost.Value, 7) {
		t.Fatalf("%+v", a.Costs)
	}
	full := a.Arms[a.Fullest]
	if full.Arm != "d" || !near(full.Unseparated, 50) || !near(full.Terms[0], 7) || len(a.Separation.Inseparable) != 1 {
		t.Errorf("%+v", full)
	}
}

// TestInteractionShowsInResiduals: two layers cost more together than the sum of their separate costs.
func TestInteractionShowsInResiduals(t *testing.T) {
	d := Design{
		Arms:   []string{"plain", "a", "b", "aa", "both"},
		Layers: []string{"a", "b"},
		Counts: [][]float64{{0, 0}, {1, 0}, {0, 1}, {2, 0}, {1, 1}},
	}
	var trials []Trial
	for block := range 8 {
		for arm, v := range []float64{100, 110, 120, 120, 160} {
			trials = append(trials, Trial{d.Arms[arm], block, v + math.Sin(float64(block*5+arm))})
		}
	}
	a := Attribute(d, "plain", trials)
	i := slices.IndexFunc(a.Arms, func(p Parts) bool { return p.Arm == "both" })
	both := a.Arms[i]
	if both.ByConstruction || both.Residual.Value < 5 || both.ResidualInterval.Contains(0) {
		t.Errorf("%+v", both)
	}
}

func TestAttributeWithoutAnswer(t *testing.T) {
	oneArm := []Trial{{"l2", 0, 1}, {"l2", 1, 1}}
	apart := []Trial{{"l2", 0, 1}, {"routed", 1, 2}}
	oneBlock := []Trial{{"l2", 0, 1}, {"routed", 0, 2}, {"vxlan", 0, 4}}
	same := threeArms()
	same.Counts = [][]float64{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}
	// Two separable layers, but arms that never share a block with the others.
	islands := []Trial{{"l2", 0, 1}, {"routed", 0, 2}, {"vxlan", 1, 4}, {"vxlan2", 1, 5}}
	four := threeArms()
	four.Arms = append(four.Arms, "vxlan2")
	four.Counts = append(four.Counts, []float64{2, 1, 2})
	for _, test := range []struct {
		name     string
		design   Design
		baseline string
		trials   []Trial
		reason   string
	}{
		{"no trials", threeArms(), "l2", nil, ReasonNoTrials},
		{"one arm", threeArms(), "l2", oneArm, ReasonNoTrials},
		{"no block in common", threeArms(), "l2", apart, ReasonNoTrials},
		{"unknown baseline", threeArms(), "l3", oneBlock, ReasonNoTrials},
		{"alike", same, "l2", oneBlock, ReasonNoTerms},
		{"islands", four, "l2", islands, ReasonUnbalanced},
	} {
		a := Attribute(test.design, test.baseline, test.trials)
		if a.Reason != test.reason {
			t.Errorf("%s: reason %q, want %q", test.name, a.Reason, test.reason)
		}
		for _, c := range a.Costs {
			if c.Cost.Known || c.Interval.Known {
				t.Errorf("%s: claims to know %+v", test.name, c)
			}
		}
	}
	a := Attribute(threeArms(), "l2", oneBlock)
	if !a.Costs[0].Cost.Known || a.Costs[0].Interval.Known || a.Arms[0].WholeInterval.Known {
		t.Errorf("one block has costs and no intervals: %+v", a.Costs)
	}
}

func TestPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDesign(t)
		var trials []Trial
		for block := range rapid.IntRange(0, 8).Draw(t, "blocks") {
			for _, arm := range d.Arms {
				if rapid.IntRange(0, 9).Draw(t, "failed") > 0 {
					trials = append(trials, Trial{arm, block, rapid.Float64Range(0, 100).Draw(t, "value")})
				}
			}
		}
		a := Attribute(d, d.Arms[0], trials)
		for _, p := range a.Arms {
			if !p.Residual.Known {
				continue
			}
			sum := p.Unseparated + p.Residual.Value
			for _, part := range p.Terms {
				sum += part
			}
			if math.Abs(sum-p.Whole.Value) > 1e-6 {
				t.Fatalf("%+v: parts and residual are %v", p, sum)
			}
		}
		shuffled := Attribute(d, d.Arms[0], rapid.Permutation(trials).Draw(t, "order"))
		if diff := cmp.Diff(a, shuffled); diff != "" {
			t.Fatal(diff)
		}
		var scaled []Trial
		for _, trial := range trials {
			// Neither an effect for each block nor a larger unit may change the result.
			scaled = append(scaled, Trial{trial.Arm, trial.Block, 4*trial.Value + 1000*float64(trial.Block)})
		}
		b := Attribute(d, d.Arms[0], scaled)
		for i, c := range a.Costs {
			if !cmp.Equal(b.Costs[i].Cost.Value, 4*c.Cost.Value, cmpopts.EquateApprox(1e-6, 1e-6)) {
				t.Fatalf("cost %v became %v", c.Cost, b.Costs[i].Cost)
			}
		}
	})
}

// TestNothingIsNaN uses values that a broken tool could print.
func TestNothingIsNaN(t *testing.T) {
	wild := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
		0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324,
	}))
	finite := func(t *rapid.T, what string, values ...float64) {
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%s is %v", what, v)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := drawDesign(t)
		var trials []Trial
		var pair Pair
		var values []float64
		for block := range rapid.IntRange(0, 12).Draw(t, "blocks") {
			for _, arm := range d.Arms {
				trials = append(trials, Trial{arm, block, wild.Draw(t, "value")})
			}
			pair.Arm = append(pair.Arm, Value{block, wild.Draw(t, "arm")})
			pair.Baseline = append(pair.Baseline, Value{block, wild.Draw(t, "baseline")})
			values = append(values, pair.Arm[block].Value)
		}
		c := Compare(pair.Arm, pair.Baseline)
		finite(t, "comparison",
			c.Difference.Value, c.Relative.Value, c.RawPValue.Value, c.PValue.Value, c.Detectable.Value)
		// A bound may be infinite only if it is a lost value, and only on its own side.
		for _, i := range []Interval{c.Interval, c.RelativeInterval} {
			if math.IsNaN(i.Low) || math.IsNaN(i.High) || math.IsInf(i.Low, 1) || math.IsInf(i.High, -1) {
				t.Fatalf("interval %v", i)
			}
		}
		s := Summarize(values)
		finite(t, "summary", s.Median.Value, s.Interval.Low, s.Interval.High, s.Mean.Value, s.Stddev.Value,
			s.Min.Value, s.Max.Value, s.Quantile(0.3).Value)
		a := Attribute(d, d.Arms[0], trials)
		for _, cost := range a.Costs {
			finite(t, "cost", cost.Cost.Value, cost.Interval.Low, cost.Interval.High)
		}
		for _, p := range a.Arms {
			finite(t, "terms", p.Terms...)
			finite(t, "parts", p.Whole.Value, p.WholeInterval.Low, p.WholeInterval.High, p.Unseparated,
				p.Residual.Value, p.ResidualInterval.Low)
		}
		effects := BlockEffects(trials)
		var middles []Value
		for _, e := range effects {
			middles = append(middles, Value{e.Block, e.Middle})
		}
		var warnings []Warning
		for _, detect := range []func() (Warning, bool){
			func() (Warning, bool) { return Drift(middles, s.Median.Value) },
			func() (Warning, bool) { return Bimodal(values) },
			func() (Warning, bool) { return ZeroSpread(values) },
		} {
			if w, ok := detect(); ok {
				warnings = append(warnings, w)
			}
		}
		for _, w := range append(warnings, OutlierBlocks(effects, s.Median.Value)...) {
			for name, fact := range w.Facts {
				finite(t, w.Code+" "+name, fact)
			}
		}
	})
}

// TestSolvePositive compares with gonum on matrices X'X.
func TestSolvePositive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.IntRange(1, 6).Draw(t, "columns")
		x := mat.NewDense(p+2, p, nil)
		for i := range p + 2 {
			for j := range p {
				x.Set(i, j, rapid.Float64Range(-1, 1).Draw(t, "x"))
			}
		}
		var normal mat.Dense
		normal.Mul(x.T(), x)
		b := make([]float64, p)
		for i := range b {
			b[i] = rapid.Float64Range(-10, 10).Draw(t, "b")
		}
		got, ok := solvePositive(normal.RawMatrix().Data, b)
		var want mat.VecDense
		err := want.SolveVec(&normal, mat.NewVecDense(p, b))
		if err != nil || mat.Cond(&normal, 2) > 1e8 {
			return // close to singular: either answer is right
		}
		if !ok {
			t.Fatalf("%v is not singular", mat.Formatted(&normal))
		}
		for i := range got {
			if !cmp.Equal(got[i], want.AtVec(i), cmpopts.EquateApprox(1e-5, 1e-5)) {
				t.Fatalf("got %v, want %v", got, want.RawVector().Data)
			}
		}
	})
	if _, ok := solvePositive([]float64{1, 1, 1, 1}, []float64{1, 2}); ok {
		t.Error("a singular matrix was solved")
	}
}
