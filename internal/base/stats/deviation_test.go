package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestDeviationFromSumByHand has three arms of one layer: what b lies above the line between a and c, and the intervals
// of that.
func TestDeviationFromSumByHand(t *testing.T) {
	d := additiveDesigns[0].design
	var trials []Trial
	var lies []float64
	for block := range 8 {
		x := float64(block%3) - 1
		a, b, c := 10.0+x/10, 21.0+x/5, 30.0-x/10
		trials = append(trials, Trial{"a", block, a}, Trial{"b", block, b}, Trial{"c", block, c})
		lies = append(lies, b-(a+c)/2)
	}
	got := Attribute(d, "a", trials).Additivity
	mean := meanOf(lies)
	error1 := math.Sqrt(sumSquares(lies) / 7 / 8)
	// If a or c alone deviates, it does so by twice as much. Student's quantiles of 0.95 and 0.975 with 7 degrees of
	// freedom are 1.894578605 and 2.364624252.
	within, least := 2*(mean+1.894578605*error1), 2*(mean-2.364624252*error1)
	if math.Abs(got.Within.Value-within) > 1e-6 || math.Abs(got.AtLeast.Value-least) > 1e-6 ||
		math.Abs(got.Whole.Value-20+0.05) > 0.1 {
		t.Errorf("%+v, want within %v, at least %v", got, within, least)
	}
	for _, arm := range got.Arms {
		if want := map[string]float64{"a": -2 * mean, "b": mean, "c": -2 * mean}[arm.Arm]; math.Abs(arm.By-want) > 1e-9 {
			t.Errorf("%+v, want %v", arm, want)
		}
	}
	for margin, want := range map[float64]Fit{0.05: FitBeyond, 0.1: FitUnknown, 0.2: FitWithin} {
		if fit := got.Fit(margin); fit != want {
			t.Errorf("margin %v: %s, want %s", margin, fit, want)
		}
	}
}

// An interaction whose size the blocks do not tell is not beyond the margin, and not within it. Without a whole, the
// margin has no size.
func TestFitOfUnknownSizes(t *testing.T) {
	a := Additivity{PValue: known(0.001), Within: known(2), AtLeast: known(0.2), Whole: known(20)}
	if fit := a.Fit(0.05); fit != FitUnknown {
		t.Errorf("%+v: %s", a, fit)
	}
	a.Whole = Quantity{}
	if fit := a.Fit(0.05); fit != FitUnknown {
		t.Errorf("%+v: %s", a, fit)
	}
	// So many trials are missing that only the test of signs says that layers do not add up.
	if fit := (Additivity{PValue: known(0.001)}).Fit(0.05); fit != FitBeyond {
		t.Errorf("no sizes: %s", fit)
	}
}

// TestSizesOfDeviations: how often Within is at least the largest deviation, and AtLeast at most that, if one arm or
// none deviates.
func TestSizesOfDeviations(t *testing.T) {
	t.Parallel()
	for _, d := range additiveDesigns {
		for _, blocks := range []int{6, 12, 40} {
			r := rand.New(rand.NewPCG(43, uint64(blocks)))
			s := newSimulation(t)
			within := s.rate(fmt.Sprintf("%s, %d blocks: within", d.name, blocks), 0.93, 0.88)
			least := s.rate(fmt.Sprintf("%s, %d blocks: at least", d.name, blocks), 0.93, 0.88)
			s.run(func() {
				for i, noise := range additiveNoises() {
					for _, by := range []float64{0, 2} {
						arm := (i + len(d.design.Arms)/2) % len(d.design.Arms)
						trials := drawOverlay(r, d.design, make([]float64, len(d.design.Layers)), blocks, 0, noise)
						for k := range trials {
							if trials[k].Arm == d.design.Arms[arm] {
								trials[k].Value += by
							}
						}
						a := Attribute(d.design, d.design.Arms[0], trials).Additivity
						if by > 0 {
							within.add(a.Within.Value >= by)
						} else {
							least.add(a.AtLeast.Value == 0)
						}
					}
				}
			})
		}
	}
}
