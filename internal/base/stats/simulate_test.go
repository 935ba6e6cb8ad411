package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// noise is what a trial adds to its arm's level.
type noise struct {
	name string
	mean float64
	draw func(r *rand.Rand) float64
}

// noises all have a spread near 1.
var noises = []noise{
	{"normal", 0, func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"log-normal", math.Exp(0.32) - 1, func(r *rand.Rand) float64 { return math.Exp(0.8*r.NormFloat64()) - 1 }},
	{"Laplace", 0, func(r *rand.Rand) float64 { return r.ExpFloat64() - r.ExpFloat64() }},
	{"Student t, 3 df", 0, func(r *rand.Rand) float64 {
		a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		return r.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
	}},
	{"two modes, 70:30", 0.6, func(r *rand.Rand) float64 { return 0.2*r.NormFloat64() + mode(r, 0.3) }},
	{"two modes, 50:50", 1, func(r *rand.Rand) float64 { return 0.2*r.NormFloat64() + mode(r, 0.5) }},
}

// mode is 2 with the given probability, and else 0.
func mode(r *rand.Rand, share float64) float64 {
	if r.Float64() < share {
		return 2
	}
	return 0
}

var blockCounts = []int{6, 8, 10, 12, 20, 40, 100}

// drawPair draws one block: the baseline at 100, the arm 3 higher, and a block effect that is much larger than the
// noise. The arm has 1.5 times the noise, so that skewed noise gives skewed differences.
func drawPair(r *rand.Rand, draw func(*rand.Rand) float64) (arm, baseline float64) {
	block := 5 * r.NormFloat64()
	return 103 + block + 1.5*draw(r), 100 + block + draw(r)
}

// TestCoverageOfComparison: how often the interval of a paired comparison contains the truth.
func TestCoverageOfComparison(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(20, 1))
	for _, noise := range noises {
		// The true medians have no formula for most noises.
		const large = 100_001
		differences, ratios := make([]float64, large), make([]float64, large)
		for i := range differences {
			arm, baseline := drawPair(r, noise.draw)
			differences[i], ratios[i] = arm-baseline, (arm-baseline)/baseline
		}
		slices.Sort(differences)
		slices.Sort(ratios)
		trueDifference, trueRatio := median(differences), median(ratios)
		for _, n := range blockCounts {
			s := newSimulation(t)
			difference := s.rate(fmt.Sprintf("difference, %s, %d blocks", noise.name, n), 0.945, 0.91)
			relative := s.rate(fmt.Sprintf("relative, %s, %d blocks", noise.name, n), 0.945, 0.91)
			s.run(func() {
				p := Pair{}
				for block := range n {
					arm, baseline := drawPair(r, noise.draw)
					p.Arm = append(p.Arm, Value{block, arm})
					p.Baseline = append(p.Baseline, Value{block, baseline})
				}
				c := compare(p)
				difference.add(c.Interval.Contains(trueDifference))
				relative.add(c.RelativeInterval.Contains(trueRatio))
			})
		}
	}
}

// TestCoverageOfSummary: how often the interval of an arm's median contains the truth.
func TestCoverageOfSummary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(20, 2))
	for _, noise := range noises {
		const large = 100_001
		values := make([]float64, large)
		for i := range values {
			values[i] = noise.draw(r)
		}
		slices.Sort(values)
		truth := median(values)
		for _, n := range blockCounts {
			s := newSimulation(t)
			held := s.rate(fmt.Sprintf("median, %s, %d trials", noise.name, n), 0.945, 0.91)
			s.run(func() {
				sample := make([]float64, n)
				for i := range sample {
					sample[i] = noise.draw(r)
				}
				held.add(Summarize(sample).Interval.Contains(truth))
			})
		}
	}
}

// TestCoverageOfAttribution: how often the intervals of costs, wholes and residuals contain the truth. The four costs
// of a draw count as four draws, although they are not quite independent.
func TestCoverageOfAttribution(t *testing.T) {
	t.Parallel()
	d := overlayDesign()
	costs := []float64{4, 10, 6, 14}
	for i, noise := range noises {
		for _, n := range blockCounts {
			r := rand.New(rand.NewPCG(20, uint64(1000*i+n)))
			s := newSimulation(t)
			cost := s.rate(fmt.Sprintf("costs, %s, %d blocks", noise.name, n), 0.94, 0.91)
			whole := s.rate(fmt.Sprintf("whole, %s, %d blocks", noise.name, n), 0.935, 0.895)
			residual := s.rate(fmt.Sprintf("residual, %s, %d blocks", noise.name, n), 0.935, 0.895)
			s.run(func() {
				a := Attribute(d, "l2", drawOverlay(r, d, costs, n, 0.1, noise))
				for i, c := range a.Costs {
					cost.add(c.Interval.Contains(costs[i]))
				}
				whole.add(a.Arms[a.Fullest].WholeInterval.Contains(fullestWhole(costs)))
				// In this design the fullest arm's residual is always 0; the vxlan arm's is not.
				residual.add(a.Arms[2].ResidualInterval.Contains(0))
			})
		}
	}
}

// fullestWhole is the true difference of the fullest arm of overlayDesign from its baseline.
func fullestWhole(costs []float64) float64 { return costs[0] + costs[1] + 2*costs[2] + costs[3] }

// overlayDesign has more arms than unknowns, so that there is a residual.
func overlayDesign() Design {
	return Design{
		Arms:   []string{"l2", "switched", "routed", "vxlan", "firewalled", "full"},
		Layers: []string{"bridge", "router", "vtep", "firewall"},
		Counts: [][]float64{{1, 0, 0, 0}, {2, 0, 0, 0}, {2, 1, 0, 0}, {2, 1, 2, 0}, {1, 0, 0, 1}, {2, 1, 2, 1}},
	}
}

// TestCoverageUnderSevereSkew has noise that is skewed and 2.5 times as large in the longest arm as in the baseline.
// The interval of a mean of few skewed differences is then slightly too narrow (docs/statistics.md). This test says
// how much.
func TestCoverageUnderSevereSkew(t *testing.T) {
	t.Parallel()
	d := overlayDesign()
	costs := []float64{4, 10, 6, 14}
	for _, i := range []int{1, 4} {
		for _, n := range []int{6, 10, 20} {
			r := rand.New(rand.NewPCG(24, uint64(1000*i+n)))
			s := newSimulation(t)
			cost := s.rate(fmt.Sprintf("costs, %s, %d blocks", noises[i].name, n), 0.94, 0.91)
			whole := s.rate(fmt.Sprintf("whole, %s, %d blocks", noises[i].name, n), 0.885, 0.84)
			s.run(func() {
				a := Attribute(d, "l2", drawOverlay(r, d, costs, n, 0.3, noises[i]))
				for j, c := range a.Costs {
					cost.add(c.Interval.Contains(costs[j]))
				}
				whole.add(a.Arms[a.Fullest].WholeInterval.Contains(fullestWhole(costs)))
			})
		}
	}
}

// TestPowerAtDetectableCost draws a run and takes the detectable cost of a layer that it states. It then draws a run
// with that cost, and counts how often it is found. 0.8 would be exact; few blocks give a scattered standard error.
func TestPowerAtDetectableCost(t *testing.T) {
	t.Parallel()
	d := overlayDesign()
	for _, tests := range []int{1, 4} {
		for _, n := range []int{6, 12, 40} {
			r := rand.New(rand.NewPCG(37, uint64(100*tests+n)))
			s := newSimulation(t)
			found := s.between(fmt.Sprintf("%d blocks, %d tests", n, tests),
				[2]float64{0.68, 0.60}, [2]float64{0.85, 0.91})
			s.run(func() {
				detectable := Attribute(d, "l2", drawOverlay(r, d, make([]float64, 4), n, 0.1,
					noises[0])).Costs[2].Detectable(tests)
				costs := []float64{0, 0, detectable.Value, 0}
				c := Attribute(d, "l2", drawOverlay(r, d, costs, n, 0.1, noises[0])).Costs[2]
				for _, rate := range found {
					rate.add(c.PValue.Value <= Level(tests) && c.Cost.Value > 0)
				}
			})
		}
	}
}

// drawOverlay draws trials whose noise grows by the given share with each arm. The noise is shifted to a mean of 0,
// because a cost is a mean.
func drawOverlay(r *rand.Rand, d Design, costs []float64, blocks int, growth float64, noise noise) []Trial {
	var trials []Trial
	for block := range blocks {
		effect := 5 * r.NormFloat64()
		for arm, name := range d.Arms {
			value := 100 + effect + (1+growth*float64(arm))*(noise.draw(r)-noise.mean)
			for layer, cost := range costs {
				value += cost * d.Counts[arm][layer]
			}
			trials = append(trials, Trial{name, block, value})
		}
	}
	return trials
}

// TestFalseAlarms: how often a table of identical arms shows a difference. The draws take turns with the noises.
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	for _, comparisons := range []int{1, 5, 20} {
		for _, n := range []int{6, 8, 10, 12, 20, 40, 100} {
			r := rand.New(rand.NewPCG(21, uint64(1000*comparisons+n)))
			s := newSimulation(t)
			alarm := s.rate(fmt.Sprintf("%d blocks, %d comparisons", n, comparisons), 0.05, 0.09)
			s.run(func() {
				alarm.add(falseAlarm(r, n, comparisons, noises[alarm.draws%len(noises)].draw))
			})
		}
	}
}

// falseAlarm draws a table of comparisons with one baseline and no difference, and says whether a difference is found.
func falseAlarm(r *rand.Rand, blocks, comparisons int, draw func(*rand.Rand) float64) bool {
	pairs := make([]Pair, comparisons)
	for block := range blocks {
		effect := 5 * r.NormFloat64()
		baseline := Value{block, 100 + effect + draw(r)}
		for i := range pairs {
			pairs[i].Baseline = append(pairs[i].Baseline, baseline)
			pairs[i].Arm = append(pairs[i].Arm, Value{block, 100 + effect + draw(r)})
		}
	}
	// A verdict is Higher or Lower exactly if the corrected p-value is at most Alpha (TestVerdictAndIntervalAgree).
	// Using the p-values avoids computing the power of each comparison, which takes most of the time.
	raw := make([]float64, comparisons)
	for i, pair := range pairs {
		if c := compare(pair); c.RawPValue.Known {
			raw[i] = c.RawPValue.Value
		} else {
			raw[i] = 1
		}
	}
	return slices.Min(Holm(raw)) <= Alpha
}

// TestPowerAtDetectable draws blocks without a difference and takes the detectable difference that they state. It then
// draws blocks with that difference, and counts how often it is found at the level of the table. 0.8 would be exact.
func TestPowerAtDetectable(t *testing.T) {
	t.Parallel()
	for _, noise := range noises[:4] {
		for _, tests := range []int{1, 20} {
			r := rand.New(rand.NewPCG(22, uint64(tests)))
			s := newSimulation(t)
			all := s.between(fmt.Sprintf("%s, %d comparisons, all counts", noise.name, tests),
				[2]float64{0.76, 0.71}, [2]float64{0.86, 0.90})
			var counts []int
			var each [][2]*rate
			for _, n := range []int{6, 8, 10, 12, 20, 40} {
				if criticalCount(n, Alpha/float64(tests)) >= 0 {
					counts = append(counts, n)
					each = append(each, s.between(fmt.Sprintf("%s, %d comparisons, %d blocks", noise.name, tests, n),
						[2]float64{0.66, 0.56}, [2]float64{0.89, 0.95}))
				}
			}
			s.run(func() {
				for i, n := range counts {
					noisy := newNoise(drawDifferences(r, n, 0, noise.draw))
					noisy.tests = tests
					shifted := drawDifferences(r, n, noisy.Detectable().Value, noise.draw)
					found := shifted[criticalCount(n, Alpha/float64(tests))] > 0
					for _, rate := range append(all[:], each[i][:]...) {
						rate.add(found)
					}
				}
			})
		}
	}
}

// drawDifferences draws sorted paired differences with the given true difference.
func drawDifferences(r *rand.Rand, n int, shift float64, draw func(*rand.Rand) float64) []float64 {
	differences := make([]float64, n)
	for i := range differences {
		differences[i] = shift + draw(r) - draw(r)
	}
	slices.Sort(differences)
	return differences
}

// TestPowerAtBlocksNeeded adds the blocks that a comparison asks for, and counts how often they find the difference.
func TestPowerAtBlocksNeeded(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(22, 9))
	const difference = 1.2
	s := newSimulation(t)
	found := s.between("found with the blocks needed", [2]float64{0.76, 0.69}, [2]float64{0.87, 0.93})
	s.run(func() {
		more := newNoise(drawDifferences(r, 10, 0, noises[0].draw)).BlocksNeeded(difference)
		if more < 0 {
			t.Fatal("the blocks needed are unknown")
		}
		differences := drawDifferences(r, 10+more, difference, noises[0].draw)
		for _, rate := range found {
			rate.add(differences[criticalCount(10+more, Alpha)] > 0)
		}
	})
}

// TestDetectorFalseAlarms: how often the warnings are given for stationary noise with one mode.
func TestDetectorFalseAlarms(t *testing.T) {
	t.Parallel()
	uniform := noise{"uniform", 0, func(r *rand.Rand) float64 { return r.Float64() }}
	for i, noise := range append(noises[:4:4], uniform) {
		for _, n := range []int{8, 10, 12, 20, 40} {
			r := rand.New(rand.NewPCG(23, uint64(1000*i+n)))
			s := newSimulation(t)
			bimodal := s.rate(fmt.Sprintf("bimodal, %s, %d trials", noise.name, n), 0.015, 0.035)
			drift := s.rate(fmt.Sprintf("drift, %s, %d blocks", noise.name, n), 0.015, 0.035)
			s.run(func() {
				values := make([]float64, n)
				series := make([]Value, n)
				for j := range values {
					// At a level of 1 every effect is large enough for a warning.
					values[j] = 1 + noise.draw(r)
					series[j] = Value{j, values[j]}
				}
				_, ok := Bimodal(values)
				bimodal.add(ok)
				_, ok = Drift(series, 1)
				drift.add(ok)
			})
		}
	}
}
