package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// simulationRuns is how many runs a simulation has: few as a rule, more where NEARFAR_SIMULATION_RUNS says so. The
// figures of docs/statistics.md come from 1000.
func simulationRuns(t *testing.T, few int) int {
	t.Helper()
	if text := os.Getenv("NEARFAR_SIMULATION_RUNS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return few
}

// additiveDesigns have 3 to 8 arms, and 1, 1, 2 and 6 ways to contradict the sum of layers.
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

// fullDesign is that of labs/overlay.
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

// rejections counts how often the test of additivity rejects, and how often it then names the arm that deviates.
func rejections(r *rand.Rand, d Design, runs, blocks, noise int, growth float64, deviating int, deviation float64) (rejected, named int) {
	for range runs {
		trials := drawOverlay(r, d, make([]float64, len(d.Layers)), blocks, growth, noises[noise].mean, noises[noise].draw)
		for i := range trials {
			if trials[i].Arm == d.Arms[deviating] {
				trials[i].Value += deviation
			}
		}
		f := newFit(d, trials)
		f.setColumns(f.design.Separate())
		all, _ := f.estimates(0)
		if a := f.additivity(all); a.PValue.Known && a.PValue.Value <= Alpha {
			rejected++
			if slices.ContainsFunc(a.Arms, func(v Deviation) bool { return v.Arm == d.Arms[deviating] }) {
				named++
			}
		}
	}
	return rejected, named
}

// TestLevelOfAdditivity has layers that add up: equal variances, and noise that grows by a fifth of the baseline's with
// each arm.
func TestLevelOfAdditivity(t *testing.T) {
	runs := simulationRuns(t, 40)
	for _, d := range additiveDesigns {
		for _, blocks := range []int{6, 8, 10, 20, 40} {
			alarms, total, line := 0, 0, ""
			for _, noise := range []int{0, 1, 3, 4} {
				r := rand.New(rand.NewPCG(30, uint64(1000*noise+blocks)))
				here := 0
				for _, growth := range []float64{0, 0.2} {
					n, _ := rejections(r, d.design, runs, blocks, noise, growth, 0, 0)
					here += n
				}
				line += fmt.Sprintf(" %s %.3f", noises[noise].name, float64(here)/float64(2*runs))
				alarms += here
				total += 2 * runs
			}
			t.Logf("%s, %d blocks:%s", d.name, blocks, line)
			// 0.07 and three standard errors.
			if bound := 0.07 + 3*math.Sqrt(0.05*0.95/float64(total)); float64(alarms) > bound*float64(total) {
				t.Errorf("%s, %d blocks: rejected in %d of %d runs in which layers add up", d.name, blocks, alarms, total)
			}
		}
	}
}

// TestPowerOfAdditivity has one arm that is 2 above what its layers add up to, with noise of a spread near 1 in every
// arm.
func TestPowerOfAdditivity(t *testing.T) {
	runs := simulationRuns(t, 40)
	for _, d := range additiveDesigns {
		for _, blocks := range []int{6, 8, 10, 20, 40} {
			found, total, line := 0, 0, ""
			for _, noise := range []int{0, 1, 3, 4} {
				r := rand.New(rand.NewPCG(31, uint64(1000*noise+blocks)))
				n, named := rejections(r, d.design, runs, blocks, noise, 0, len(d.design.Arms)/2, 2)
				line += fmt.Sprintf(" %s %.2f (%.2f)", noises[noise].name, float64(n)/float64(runs), float64(named)/float64(runs))
				found += n
				total += runs
			}
			t.Logf("%s, %d blocks: found (and named)%s", d.name, blocks, line)
			if blocks >= 20 && found < total*8/10 {
				t.Errorf("%s, %d blocks: found in %d of %d", d.name, blocks, found, total)
			}
		}
	}
}

// TestAdditivityNamesTheArm has noise as in the example of the README, 0.3 us in each arm, and one arm that costs 2 us
// more than its layers: not the fullest one, whose residual says little of it. Four arms hold bridge, router and vtep
// in all combinations but one, and any of three can be the one that deviates.
func TestAdditivityNamesTheArm(t *testing.T) {
	d := fullDesign()
	r := rand.New(rand.NewPCG(32, 1))
	trials := drawOverlay(r, d, []float64{3, 3, 5, 2, 2}, 10, 0, 0, noises[0].draw)
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

// TestAdditivityOfOneContrast: three arms of one layer have one contrast, a - 2b + c. With all signs of 8 blocks, the
// share in which the sum is at least as large is worked out from that contrast alone. No arm can be told from the
// others.
func TestAdditivityOfOneContrast(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 1))
	d := additiveDesigns[0].design
	for range 20 {
		var trials []Trial
		var contrasts []float64
		for block := range 8 {
			a, b, c := 10+r.NormFloat64(), 11+r.NormFloat64(), 12.7+r.NormFloat64()
			trials = append(trials, Trial{"a", block, a}, Trial{"b", block, b}, Trial{"c", block, c})
			contrasts = append(contrasts, a-2*b+c)
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

// TestAdditivityIsNotAsked has nothing that could fail to add up, or too little to tell.
func TestAdditivityIsNotAsked(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 1))
	draw := func(d Design, blocks int) Additivity {
		return Attribute(d, d.Arms[0], drawOverlay(r, d, make([]float64, len(d.Layers)), blocks, 0, 0, noises[0].draw)).Additivity
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
	// Exactly additive figures.
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
	r := rand.New(rand.NewPCG(35, 1))
	runs := simulationRuns(t, 100)
	d := fullDesign()
	var rejected, found int
	for range runs {
		for _, deviation := range []float64{0, 2} {
			trials := drawOverlay(r, d, []float64{3, 3, 5, 2, 2}, 20, 0.1, 0, noises[0].draw)
			trials = slices.DeleteFunc(trials, func(Trial) bool { return r.IntN(10) == 0 })
			for i := range trials {
				if trials[i].Arm == "vxlan" {
					trials[i].Value += deviation
				}
			}
			if Attribute(d, "l2", trials).Additivity.Rejected() {
				if deviation == 0 {
					rejected++
				} else {
					found++
				}
			}
		}
	}
	t.Logf("rejected %d, found %d of %d", rejected, found, runs)
	if float64(rejected) > (0.07+3*math.Sqrt(0.0475/float64(runs)))*float64(runs) || found < runs*6/10 {
		t.Errorf("rejected %d, found %d of %d", rejected, found, runs)
	}
}

// TestCostOfOneArm: a cost that is one arm's difference says so; one that several arms speak of does not.
func TestCostOfOneArm(t *testing.T) {
	r := rand.New(rand.NewPCG(36, 1))
	d := Design{Arms: []string{"near", "far"}, Layers: []string{"router"}, Counts: [][]float64{{0}, {2}}}
	c := Attribute(d, "near", drawOverlay(r, d, []float64{3}, 10, 0, 0, noises[0].draw)).Costs[0]
	if c.Arm != "far" || math.Abs(c.Part-0.5) > 1e-12 || !c.PValue.Known {
		t.Errorf("%+v", c)
	}
	d = Design{Arms: []string{"l2", "routed", "both"}, Layers: []string{"router", "firewall"}, Counts: [][]float64{{0, 0}, {1, 0}, {1, 1}}}
	costs := Attribute(d, "l2", drawOverlay(r, d, []float64{3, 2}, 10, 0, 0, noises[0].draw)).Costs
	if costs[0].Arm != "routed" || math.Abs(costs[0].Part-1) > 1e-12 || costs[1].Arm != "" {
		t.Errorf("%+v", costs)
	}
	for _, c := range Attribute(fullDesign(), "l2", drawOverlay(r, fullDesign(), make([]float64, 5), 10, 0, 0, noises[0].draw)).Costs {
		if c.Arm != "" {
			t.Errorf("%+v", c)
		}
		if excludes := !c.Interval.Contains(0); excludes != (c.PValue.Value < Alpha) {
			t.Errorf("interval and p-value disagree: %+v", c)
		}
	}
}
