package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// pathCosts are what the layers of `paths` cost, in seconds: 7 to 19 % of the baseline's 20 us.
func pathCosts() map[string]float64 {
	return map[string]float64{"bridge": 1.4e-6, "router": 2.4e-6, "vtep": 1.9e-6, "dlr": 3.0e-6, "firewall": 3.8e-6}
}

// paths is an experiment with the eight arms of labs/overlay, with declared layers. repeats is how often a block runs
// the baseline.
func paths(t *testing.T, blocks, repeats int) *experiment.Experiment {
	t.Helper()
	return parse(t, fmt.Sprintf(`nearfar: v1
name: world
baseline: l2
arms:
  l2: {lab: {path: [bridge]}, layers: {bridge: 1}}
  switched: {lab: {path: [bridge]}, layers: {bridge: 2}}
  routed: {lab: {path: [bridge]}, layers: {bridge: 2, router: 1}}
  vxlan-flat: {lab: {path: [bridge]}, layers: {bridge: 1, vtep: 2}}
  vxlan: {lab: {path: [bridge]}, layers: {bridge: 2, router: 1, vtep: 2}}
  dlr: {lab: {path: [bridge]}, layers: {bridge: 2, router: 1, vtep: 2, dlr: 1}}
  firewall: {lab: {path: [bridge]}, layers: {bridge: 1, firewall: 1}}
  full: {lab: {path: [bridge]}, layers: {bridge: 2, router: 1, vtep: 2, dlr: 1, firewall: 1}}
workloads: [{name: rr, tool: native, mode: rr}]
schedule: {blocks: %d, baseline_repeats: %d}
`, blocks, repeats))
}

// scatter draws what a trial adds to its level, in seconds. Its median is 0, and that of all arms is alike.
type scatter func(r *rand.Rand) float64

// The shapes of scatter: each about 0.6 us (3 % of 20 us) wide.
func normal(r *rand.Rand) float64 { return 0.6e-6 * r.NormFloat64() }

func skewed(r *rand.Rand) float64 { return 0.6e-6 * (math.Exp(0.8*r.NormFloat64()) - 1) }

func heavy(r *rand.Rand) float64 {
	a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
	return 0.6e-6 * r.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
}

func twoModes(r *rand.Rand) float64 {
	v := 0.15e-6 * r.NormFloat64()
	if r.Float64() < 0.3 {
		v += 1.2e-6
	}
	return v
}

// stalling makes 3 % of trials take several times as long.
func stalling(of scatter) scatter {
	return func(r *rand.Rand) float64 {
		v := of(r)
		if r.Float64() < 0.03 {
			v += 64e-6 * r.ExpFloat64()
		}
		return v
	}
}

// layered is a world in which the arms take 20 us and what their layers cost, and an arm in beyond as much more.
// Blocks scatter by 1 us.
func layered(name string, e *experiment.Experiment, costs map[string]float64, noise scatter,
	beyond map[string]float64) World {
	return World{Name: name, Experiment: e, Begin: func(r *rand.Rand) Trials {
		block, level := 0, 0.0
		return func(slot experiment.Slot, t *result.Trial) {
			if slot.Block != block {
				block, level = slot.Block, 1e-6*r.NormFloat64()
			}
			arm, _ := e.Arm(slot.Arm)
			base, _ := e.Arm(e.Baseline)
			p50 := 20e-6 + level + noise(r) + beyond[slot.Arm]
			for layer, cost := range costs {
				p50 += cost * float64(arm.Layers[layer]-base.Layers[layer])
			}
			t.Metrics = []result.Metric{RTT(result.P50, math.Max(p50, 1e-6))}
		}
	}}
}

// tally is what answers say about layers whose costs are known.
type tally struct {
	// covered: intervals of costs that hold the truth; found: costs that are found where there is one; comparisons:
	// arms that are found to differ, of those that do.
	covered, found, comparisons Rate
	// alarm: answers that claim any cost where there is none. notAdding: answers in which the layers surely do not add
	// up; exact: in which they do not add up exactly (5 %); within: in which they surely do to within the margin.
	alarm, notAdding, exact, within Rate
	// against: answers with a layer that contradicts a comparison of an arm that differs by this layer alone;
	// silent: without a sentence about it.
	against, silent Rate
	// bias is the mean error of the cost of a bridge, in seconds.
	bias float64
}

func (r *Rate) add(hit bool) {
	r.Draws++
	if hit {
		r.Hits++
	}
}

// count answers n runs of the world.
func (w World) count(n int, seed uint64, costs map[string]float64) tally {
	var t tally
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	for range n {
		a := w.Answer(r)
		alarm := false
		for _, l := range a.Layers {
			cost := costs[l.Layer]
			sure := l.Verdict == figures.Higher || l.Verdict == figures.Lower
			if l.Interval != nil {
				t.covered.add(l.Interval[0] <= cost && cost <= l.Interval[1])
			}
			if cost != 0 {
				t.found.add(sure && (l.Cost > 0) == (cost > 0))
			} else if sure {
				alarm = true
			}
			if l.Layer == "bridge" {
				t.bias += (l.Mean - cost) / float64(n)
			}
		}
		t.alarm.add(alarm)
		for _, c := range a.Comparisons {
			if len(costs) > 0 {
				t.comparisons.add(c.Verdict == figures.Higher)
			}
		}
		for _, test := range a.Additivity {
			t.notAdding.add(!test.Additive)
			t.exact.add(test.PValue <= 0.05)
			t.within.add(test.Fit == "within")
		}
		against := contradicts(a)
		t.against.add(against)
		t.silent.add(against && !warns("layer-against-comparison")(a))
	}
	return t
}

// contradicts says whether a comparison finds a difference of switched, which has one bridge more than the baseline,
// and the bridge's cost is not found or of the other sign; or the same for firewall.
func contradicts(a answer.Answer) bool {
	for arm, layer := range map[string]string{"switched": "bridge", "firewall": "firewall"} {
		for _, c := range a.Comparisons {
			for _, l := range a.Layers {
				if c.Arm == arm && l.Layer == layer && c.Quantity == l.Quantity && c.Verdict != l.Verdict &&
					(c.Verdict == figures.Higher || c.Verdict == figures.Lower) {
					return true
				}
			}
		}
	}
	return false
}

func (t tally) String() string {
	return fmt.Sprintf("covered %v, found %v (arms %v), any alarm %v; not adding up %v, exactly %v, within %v; "+
		"against %v, silent %v; bias %+.0f ns", t.covered, t.found, t.comparisons, t.alarm, t.notAdding, t.exact,
		t.within, t.against, t.silent, t.bias*1e9)
}

// TestLayersUnderStalls: a stalled trial destroys no layer. Costs of 7 to 19 % are found about as often as the arms
// are found to differ, their intervals hold them, and layers without a cost are not found.
func TestLayersUnderStalls(t *testing.T) {
	t.Parallel()
	shapes := []struct {
		name string
		of   scatter
	}{
		{"normal", normal}, {"3 % stall", stalling(normal)}, {"skewed", skewed}, {"skewed, 3 % stall", stalling(skewed)},
		{"Student t, 3 df", heavy}, {"two modes", twoModes}, {"two modes, 3 % stall", stalling(twoModes)},
	}
	counts := []int{12, 40}
	if n := draws(t, 0); n == 0 { // every run of the tests
		shapes, counts = shapes[:2], counts[:1]
	}
	for i, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			for _, blocks := range counts {
				for _, repeats := range []int{1, 3} {
					judgeLayers(t, shape.name, shape.of, blocks, repeats, uint64(100*i+blocks+repeats))
				}
			}
		})
	}
}

// judgeLayers draws runs with costs and without, and checks what the answers say about layers.
func judgeLayers(t *testing.T, shape string, of scatter, blocks, repeats int, seed uint64) {
	t.Helper()
	e := paths(t, blocks, repeats)
	name := fmt.Sprintf("%s, %d blocks, baseline %d times", shape, blocks, repeats)
	n := draws(t, 60)
	costs := layered(name, e, pathCosts(), of, nil).count(n, seed, pathCosts())
	none := layered(name, e, nil, of, nil).count(n, seed+1, nil)
	t.Logf("%s: costs: %v", name, costs)
	t.Logf("%s: none: %v", name, none)
	if !costs.covered.AtLeast(0.94) || !none.covered.AtLeast(0.94) {
		t.Errorf("%s: intervals hold the cost in %v and %v", name, costs.covered, none.covered)
	}
	if costs.found.Share() < 0.9*costs.comparisons.Share() {
		t.Errorf("%s: layers are found in %v, arms in %v", name, costs.found, costs.comparisons)
	}
	if !none.alarm.AtMost(0.05) {
		t.Errorf("%s: a layer without a cost is found in %v", name, none.alarm)
	}
	if costs.silent.Hits+none.silent.Hits > 0 {
		t.Errorf("%s: layers contradict comparisons without a word", name)
	}
	if !costs.notAdding.AtMost(0.05) || !none.notAdding.AtMost(0.05) {
		t.Errorf("%s: layers do not add up in %v and %v", name, costs.notAdding, none.notAdding)
	}
}

// TestSizeOfNotAddingUp: an interaction far below the margin leaves the layers the lead, also where it is surely there,
// one far beyond it takes the lead away, and one at the margin seldom passes as within it, or as beyond it.
func TestSizeOfNotAddingUp(t *testing.T) {
	t.Parallel()
	quiet := func(r *rand.Rand) float64 { return 0.05e-6 * r.NormFloat64() }
	whole := 1.4e-6 + 2.4e-6 + 2*1.9e-6 + 3.0e-6 + 3.8e-6
	worlds := []struct {
		name  string
		share float64 // of the whole
		of    scatter
	}{
		{"1.5 %, quiet", 0.015, quiet}, {"1.5 %, 3 % stall", 0.015, stalling(quiet)},
		{"15 %, quiet", 0.15, quiet}, {"15 %, 3 % stall", 0.15, stalling(quiet)},
		{"5 %, quiet", 0.05, quiet}, {"5 %, 3 % stall", 0.05, stalling(quiet)}, {"5 %, busy", 0.05, normal},
	}
	for i, world := range worlds {
		e := paths(t, 12, 1)
		w := layered(world.name, e, pathCosts(), world.of, map[string]float64{"vxlan": world.share * whole})
		got := w.count(draws(t, 60), uint64(900+i), pathCosts())
		t.Logf("%s: %v", world.name, got)
		switch {
		case world.share < 0.05:
			if got.within.Share() < 0.9 || got.notAdding.Hits > 0 || got.exact.Share() < 0.5 {
				t.Errorf("%s: within the margin in %v, beyond in %v, not exact in %v", world.name, got.within, got.notAdding,
					got.exact)
			}
		case world.share > 0.05:
			if got.notAdding.Share() < 0.9 || got.within.Hits > 0 {
				t.Errorf("%s: beyond the margin in %v, within in %v", world.name, got.notAdding, got.within)
			}
		default:
			if !got.within.AtMost(0.05) || !got.notAdding.AtMost(0.05) {
				t.Errorf("%s: within the margin in %v, beyond in %v", world.name, got.within, got.notAdding)
			}
		}
	}
}

// TestComparisonsWithRepeatedBaseline: the median of three trials of the baseline against single trials of an arm does
// not bias comparisons, whatever the noise. An arm that equals the baseline lies above such a median as often as below,
// and so does a shifted arm about its shift. If the arm's noise grows with its level, the error stays below a
// hundredth of the difference.
func TestComparisonsWithRepeatedBaseline(t *testing.T) {
	t.Parallel()
	for i, world := range []struct {
		name string
		of   scatter
		// arm is the median of the arm, and grows says that its noise grows with it.
		arm   float64
		grows bool
	}{
		{"skewed, equal", skewed, 20e-6, false}, {"skewed, 3 % stall, equal", stalling(skewed), 20e-6, false},
		{"skewed, +15 %", skewed, 23e-6, false}, {"skewed, 3 % stall, +15 %", stalling(skewed), 23e-6, false},
		{"skewed, +50 %, noise too", skewed, 30e-6, true}, {"two modes, equal", twoModes, 20e-6, false},
	} {
		for _, repeats := range []int{1, 3} {
			e := equalArms(t, 6, 12)
			e.Schedule.BaselineRepeats = repeats
			w := World{Name: world.name, Experiment: e, Begin: func(r *rand.Rand) Trials {
				block, level := 0, 0.0
				return func(slot experiment.Slot, t *result.Trial) {
					if slot.Block != block {
						block, level = slot.Block, 1e-6*r.NormFloat64()
					}
					p50, noise := 20e-6, world.of(r)
					if slot.Arm != "a0" {
						p50 = world.arm
						if world.grows {
							noise *= world.arm / 20e-6
						}
					}
					t.Metrics = []result.Metric{RTT(result.P50, p50+level+noise)}
				}
			}}
			truth := world.arm - 20e-6
			var covered, alarm Rate
			var off []float64
			r := rand.New(rand.NewPCG(uint64(70+i), uint64(repeats)))
			for range draws(t, 60) {
				a := w.Answer(r)
				if truth == 0 {
					alarm.add(differs(a))
				}
				for _, c := range a.Comparisons {
					covered.add(c.Interval[0] <= truth && truth <= c.Interval[1])
					off = append(off, *c.Difference-truth)
				}
			}
			slices.Sort(off)
			bias := off[len(off)/2]
			t.Logf("%s, baseline %d times: covered %v, any alarm %v, median error %+.0f ns", world.name, repeats, covered,
				alarm, bias*1e9)
			if !covered.AtLeast(0.94) || alarm.Draws > 0 && !alarm.AtMost(0.05) || math.Abs(bias) > 0.05e-6+0.01*truth {
				t.Errorf("%s, baseline %d times: covered %v, any alarm %v, median error %+.0f ns", world.name, repeats,
					covered, alarm, bias*1e9)
			}
		}
	}
}
