package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// drifting draws arms at a level of 100 with a noise of 2. changes are their relative changes from the first block to
// the last.
func drifting(r *rand.Rand, blocks int, changes ...float64) []Trial {
	var trials []Trial
	for block := range blocks {
		effect := 2 * r.NormFloat64()
		for i, change := range changes {
			value := 100*(1+change*float64(block)/float64(blocks-1)) + effect + 2*r.NormFloat64()
			trials = append(trials, Trial{fmt.Sprintf("arm%d", i), block, value})
		}
	}
	return trials
}

// TestDriftOfOneArm: a drift of one arm is reported for that arm only, however many others there are.
func TestDriftOfOneArm(t *testing.T) {
	r := rand.New(rand.NewPCG(40, 1))
	for _, arms := range []int{2, 3, 8} {
		for _, alone := range []int{1, arms - 1} {
			changes := make([]float64, arms)
			changes[alone] = 0.3
			trials := drifting(r, 12, changes...)
			if d, ok := FindCommonDrift(trials); ok {
				t.Errorf("%d arms: arm %d drifts alone, and is said to be common: %+v", arms, alone, d)
			}
			found := FindArmDrifts(trials, "arm0")
			if len(found) != 1 || found[0].Arm != fmt.Sprintf("arm%d", alone) ||
				math.Abs(found[0].Last-found[0].First-20) > 8 {
				t.Errorf("%d arms: arm %d drifts by 30, found %+v", arms, alone, found)
			}
		}
	}
}

// TestDriftOfTheBaseline: a drift of the baseline alone changes every difference.
func TestDriftOfTheBaseline(t *testing.T) {
	trials := drifting(rand.New(rand.NewPCG(40, 2)), 12, 0.3, 0, 0, 0)
	if d, ok := FindCommonDrift(trials); ok {
		t.Errorf("%+v", d)
	}
	found := FindArmDrifts(trials, "arm0")
	if len(found) != 3 || found[0].Last >= found[0].First {
		t.Errorf("%+v", found)
	}
}

// TestDriftOfAllArms: pairing removes a common drift. If most arms drift, they are named.
func TestDriftOfAllArms(t *testing.T) {
	r := rand.New(rand.NewPCG(40, 3))
	trials := drifting(r, 12, 0.3, 0.3, 0.3, 0.3)
	d, ok := FindCommonDrift(trials)
	if !ok || len(d.Arms) != 4 || len(d.Others) != 0 || math.Abs(d.Relative()-0.19) > 0.06 {
		t.Errorf("%v %+v", ok, d)
	}
	if found := FindArmDrifts(trials, "arm0"); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	trials = drifting(r, 12, 0.3, 0.3, 0, 0.3)
	d, ok = FindCommonDrift(trials)
	if !ok || !slices.Equal(d.Others, []string{"arm2"}) {
		t.Errorf("%v %+v", ok, d)
	}
	if found := FindArmDrifts(trials, "arm0"); len(found) != 1 || found[0].Arm != "arm2" {
		t.Errorf("%+v", found)
	}
}

// TestDriftFallsByLessThanAll: a fall from 30 to 3 is reported as 90 %, not as 270 % of the median.
func TestDriftFallsByLessThanAll(t *testing.T) {
	var trials []Trial
	var own []Value
	for block := range 12 {
		level := 3 + 27*math.Exp(-float64(block)/3)
		trials = append(trials, Trial{"a", block, level}, Trial{"b", block, 1.1 * level})
		own = append(own, Value{block, level})
	}
	d, ok := FindCommonDrift(trials)
	if !ok || d.Relative() <= -1 || math.Abs(d.Relative()+0.83) > 0.05 {
		t.Errorf("%v %+v: %g", ok, d, d.Relative())
	}
	w, ok := Drift(own, 6)
	if relative := w.Facts["last"]/w.Facts["first"] - 1; !ok || math.Abs(relative-d.Relative()) > 1e-9 {
		t.Errorf("%v %+v", ok, w)
	}
}

// TestDriftFalseAlarms: how often drift is reported in runs without a trend, and how often a drift of one arm by 10 %
// is found in 20 blocks.
func TestDriftFalseAlarms(t *testing.T) {
	t.Parallel()
	for _, arms := range []int{2, 8} {
		for _, n := range []int{10, 20} {
			r := rand.New(rand.NewPCG(41, uint64(100*arms+n)))
			s := newSimulation(t)
			what := fmt.Sprintf("%d arms, %d blocks: ", arms, n)
			common, own := s.rate(what+"common", 0.015, 0.04), s.rate(what+"of an arm", 0.015, 0.04)
			found := s.rate(what+"a drift of one arm by 10 % found", 0.5, math.NaN())
			s.run(func() {
				trials := drifting(r, n, make([]float64, arms)...)
				_, ok := FindCommonDrift(trials)
				common.add(ok)
				own.add(len(FindArmDrifts(trials, "arm0")) > 0)
				changes := make([]float64, arms)
				changes[1] = 0.1
				found.add(len(FindArmDrifts(drifting(r, n, changes...), "arm0")) > 0)
			})
		}
	}
}

func TestDriftNeedsEnough(t *testing.T) {
	r := rand.New(rand.NewPCG(40, 4))
	short := drifting(r, 7, 0.3, 0.3)
	if _, ok := FindCommonDrift(short); ok || len(FindArmDrifts(drifting(r, 7, 0, 0.3), "arm0")) > 0 {
		t.Error("seven blocks are too few")
	}
	if _, ok := FindCommonDrift(nil); ok || len(FindArmDrifts(nil, "a")) > 0 {
		t.Error("nothing does not drift")
	}
	var zero []Trial
	for block := range 12 {
		zero = append(zero, Trial{"a", block, 0}, Trial{"b", block, float64(block)}, Trial{"b", block, math.NaN()},
			Trial{"c", block, math.Inf(1)})
	}
	if d, ok := FindCommonDrift(zero); ok {
		t.Errorf("a share of a median of 0 is undefined: %+v", d)
	}
	if found := FindArmDrifts(zero, "a"); len(found) != 1 || found[0].First != 1.5 || found[0].Last != 9.5 {
		t.Errorf("%+v", found)
	}
}
