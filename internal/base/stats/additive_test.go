package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// additiveDesigns have 3 to 8 arms, and 1, 1, 2 and 6 contrasts that can contradict the sum of layers.
var additiveDesigns = []struct {
	name   string
	design Design
}{
	{"3 arms", Design{Arms: []string{"a", "b", "c"}, Layers: []string{"router"}, Counts: [][]float64{{0}, {1}, {2}}}},
	{"6 arms", overlayDesign()},
	{"8 arms", fullDesign()},
	{"8 arms, 1 layer", Design{
		Arms: []string{"a", "b", "c", "d", "e", "f", "g", "h"}, Layers: []string{"router"},
		Counts: [][]float64{{0}, {1}, {2}, {0}, {1}, {2}, {3}, {4}},
	}},
}

// fullDesign is the design of labs/overlay.
func fullDesign() Design {
	return Design{
		Arms:   []string{"l2", "switched", "routed", "vxlan-flat", "vxlan", "dlr", "firewall", "full"},
		Layers: []string{"bridge", "router", "vtep", "dlr", "firewall"},
		Counts: [][]float64{
			{1, 0, 0, 0, 0}, {2, 0, 0, 0, 0}, {2, 1, 0, 0, 0}, {1, 0, 2, 0, 0},
			{2, 1, 2, 0, 0}, {2, 1, 2, 1, 0}, {1, 0, 0, 0, 1}, {2, 1, 2, 1, 1},
		},
	}
}

// tested draws a run in which one arm deviates from the sum of its layers, and returns whether the test of additivity
// rejects, and whether it then names that arm.
func tested(r *rand.Rand, d Design, blocks int, noise noise, growth float64, arm int,
	by float64) (rejected, named bool) {
	trials := drawOverlay(r, d, make([]float64, len(d.Layers)), blocks, growth, noise)
	for i := range trials {
		if trials[i].Arm == d.Arms[arm] {
			trials[i].Value += by
		}
	}
	f := newFit(d, trials)
	f.setColumns(f.design.Separate())
	all, _ := f.estimates(0)
	a := f.additivity(all)
	rejected = a.Rejected()
	return rejected, rejected && slices.ContainsFunc(a.Arms, func(v Deviation) bool { return v.Arm == d.Arms[arm] })
}

// additiveNoises are normal, log-normal, Student t and two modes.
func additiveNoises() []noise { return []noise{noises[0], noises[1], noises[3], noises[4]} }

// perNoise adds a rate for each of additiveNoises, which is only reported.
func (s *simulation) perNoise(what string) []*rate {
	var each []*rate
	for _, noise := range additiveNoises() {
		each = append(each, s.rate(what+", "+noise.name, 0.5, math.NaN()))
	}
	return each
}

// TestLevelOfAdditivity: how often the test rejects although layers add up. Half of the draws have equal variances; in
// the others the noise grows by a fifth of the baseline's with each arm. The draws take turns with the noises.
func TestLevelOfAdditivity(t *testing.T) {
	t.Parallel()
	for _, d := range additiveDesigns {
		for _, blocks := range []int{6, 8, 10, 20, 40} {
			r := rand.New(rand.NewPCG(30, uint64(blocks)))
			s := newSimulation(t)
			alarm := s.rate(fmt.Sprintf("%s, %d blocks", d.name, blocks), 0.06, 0.10)
			each := s.perNoise(fmt.Sprintf("%s, %d blocks", d.name, blocks))
			s.run(func() {
				for i, noise := range additiveNoises() {
					for _, growth := range []float64{0, 0.2} {
						rejected, _ := tested(r, d.design, blocks, noise, growth, 0, 0)
						alarm.add(rejected)
						each[i].add(rejected)
					}
				}
			})
		}
	}
}

// TestPowerOfAdditivity: how often the test rejects, and names the arm, if one arm is 2 above the sum of its layers and
// the noise has a spread near 1 in every arm.
func TestPowerOfAdditivity(t *testing.T) {
	t.Parallel()
	for _, d := range additiveDesigns {
		for _, blocks := range []int{6, 8, 10, 20, 40} {
			r := rand.New(rand.NewPCG(31, uint64(blocks)))
			s := newSimulation(t)
			wrongFound, wrongNamed := 0.75, 0.70
			if blocks < 20 {
				wrongFound, wrongNamed = math.NaN(), math.NaN() // only reported
			}
			found := s.rate(fmt.Sprintf("%s, %d blocks: found", d.name, blocks), 0.85, wrongFound)
			named := s.rate(fmt.Sprintf("%s, %d blocks: named", d.name, blocks), 0.80, wrongNamed)
			each := s.perNoise(fmt.Sprintf("%s, %d blocks: found", d.name, blocks))
			s.run(func() {
				for i, noise := range additiveNoises() {
					rejected, right := tested(r, d.design, blocks, noise, 0, len(d.design.Arms)/2, 2)
					found.add(rejected)
					each[i].add(rejected)
					named.add(right)
				}
			})
		}
	}
}

// TestAdditivityNamesTheArm: the noise is 0.3 us in each arm, as in the example of the README, and the arm vxlan costs
// 2 us more than its layers. If costs add up, vxlan - routed = vxlan-flat - l2. So routed, vxlan-flat or vxlan can be
// the arm that deviates, and all three are named.
func TestAdditivityNamesTheArm(t *testing.T) {
	d := fullDesign()
	r := rand.New(rand.NewPCG(32, 1))
	trials := drawOverlay(r, d, []float64{3, 3, 5, 2, 2}, 10, 0, noises[0])
	for i := range trials {
		trials[i].Value *= 0.3
		if trials[i].Arm == "vxlan" {
			trials[i].Value += 2
		}
	}
	a := Attribute(d, "l2", trials).Additivity
	if a.Freedom != 2 || a.Blocks != 10 || !a.Rejected() || len(a.Arms) != 3 {
		t.Fatalf("%+v", a)
	}
	for i, want := range []Deviation{{"routed", -2}, {"vxlan-flat", -2}, {"vxlan", 2}} {
		if a.Arms[i].Arm != want.Arm || math.Abs(a.Arms[i].By-want.By) > 0.6 {
			t.Errorf("%+v, want near %+v", a.Arms[i], want)
		}
	}
}

// TestAdditivityOfOneContrast: three arms of one layer have one contrast, a - 2b + c. The expected p-value is the share
// of all sign assignments to 8 blocks in which the sum of that contrast is at least as large. The arms cannot be told
// apart.
func TestAdditivityOfOneContrast(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 1))
	d := additiveDesigns[0].design
	for range 20 {
		var trials []Trial
		var contrasts []float64
		for block := range 8 {
			a, b, c := 10+r.NormFloat64(), 11+r.NormFloat64(), 12.7+r.NormFloat64()
			trials = append(trials, Trial{"a", block, a}, Trial{"b", block, b}, Trial{"c", block, c})
		}
		for _, block := range newFit(d, trials).blocks { // some trials are moved
			contrasts = append(contrasts, block[0]-2*block[1]+block[2])
		}
		var observed float64
		for _, v := range contrasts {
			observed += v
		}
		count := 0
		for way := range 1 << 8 {
			var sum float64
			for i, v := range contrasts {
				if way>>i&1 == 1 {
					v = -v
				}
				sum += v
			}
			if math.Abs(sum) >= math.Abs(observed)-1e-9 {
				count++
			}
		}
		a := Attribute(d, "a", trials).Additivity
		if want := float64(count) / 256; math.Abs(a.PValue.Value-want) > 1e-12 || len(a.Arms) != 3 {
			t.Fatalf("%+v, want p %g and all three arms", a, want)
		}
	}
}

// TestAdditivityWithoutATest has no sum of layers to test, or too few blocks.
func TestAdditivityWithoutATest(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 1))
	draw := func(d Design, blocks int) Additivity {
		return Attribute(d, d.Arms[0], drawOverlay(r, d, make([]float64, len(d.Layers)), blocks,
			0, noises[0])).Additivity
	}
	alike := Design{Arms: []string{"a", "b", "c"}, Layers: []string{"bridge"}, Counts: [][]float64{{1}, {1}, {1}}}
	saturated := Design{Arms: []string{"a", "b"}, Layers: []string{"bridge"}, Counts: [][]float64{{1}, {2}}}
	for name, a := range map[string]Additivity{
		"identical arms": draw(alike, 20), "saturated": draw(saturated, 20), "5 blocks": draw(fullDesign(), 5),
	} {
		if a.PValue.Known || a.Rejected() || len(a.Arms) > 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	// Values that are exactly additive.
	var trials []Trial
	d := additiveDesigns[0].design
	for block := range 8 {
		for arm, name := range d.Arms {
			trials = append(trials, Trial{name, block, 10 + float64(arm)})
		}
	}
	if a := Attribute(d, "a", trials).Additivity; a.Rejected() {
		t.Errorf("exactly additive: %+v", a)
	}
}

// TestAdditivityWithMissingTrials leaves out one trial in ten.
func TestAdditivityWithMissingTrials(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(35, 1))
	d := fullDesign()
	s := newSimulation(t)
	rejected := s.rate("rejected although layers add up", 0.06, 0.10)
	found := s.rate("found", 0.80, 0.70)
	s.run(func() {
		for _, deviation := range []float64{0, 2} {
			trials := drawOverlay(r, d, []float64{3, 3, 5, 2, 2}, 20, 0.1, noises[0])
			trials = slices.DeleteFunc(trials, func(Trial) bool { return r.IntN(10) == 0 })
			for i := range trials {
				if trials[i].Arm == "vxlan" {
					trials[i].Value += deviation
				}
			}
			rate := found
			if deviation == 0 {
				rate = rejected
			}
			rate.add(Attribute(d, "l2", trials).Additivity.Rejected())
		}
	})
}

// TestCostOfOneArm: a cost names its arm exactly if it depends on the difference of one arm only.
func TestCostOfOneArm(t *testing.T) {
	r := rand.New(rand.NewPCG(36, 1))
	d := Design{Arms: []string{"near", "far"}, Layers: []string{"router"}, Counts: [][]float64{{0}, {2}}}
	c := Attribute(d, "near", drawOverlay(r, d, []float64{3}, 10, 0, noises[0])).Costs[0]
	if c.Arm != "far" || math.Abs(c.Part-0.5) > 1e-12 || !c.PValue.Known {
		t.Errorf("%+v", c)
	}
	d = Design{Arms: []string{"l2", "routed", "both"}, Layers: []string{"router", "firewall"},
		Counts: [][]float64{{0, 0}, {1, 0}, {1, 1}}}
	costs := Attribute(d, "l2", drawOverlay(r, d, []float64{3, 2}, 10, 0, noises[0])).Costs
	if costs[0].Arm != "routed" || math.Abs(costs[0].Part-1) > 1e-12 || costs[1].Arm != "" {
		t.Errorf("%+v", costs)
	}
	for _, c := range Attribute(fullDesign(), "l2",
		drawOverlay(r, fullDesign(), make([]float64, 5), 10, 0, noises[0])).Costs {
		if c.Arm != "" {
			t.Errorf("%+v", c)
		}
		if excludes := !c.Interval.Contains(0); excludes != (c.PValue.Value < Alpha) {
			t.Errorf("interval and p-value disagree: %+v", c)
		}
	}
}
