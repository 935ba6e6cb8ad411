package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sideCounts are trials of the arm and of the baseline.
var sideCounts = [][2]int{{6, 6}, {7, 7}, {10, 10}, {15, 15}, {30, 30}, {6, 30}, {30, 6}, {10, 20}}

// sideNoises are the noises, and normal noise with one outlier in ten values.
var sideNoises = append(noises[:len(noises):len(noises)], noise{"normal with outliers", 0, func(r *rand.Rand) float64 {
	if r.Float64() < 0.1 {
		return 10 * r.NormFloat64()
	}
	return r.NormFloat64()
}})

// drawSamples draws two sides that share no blocks: the baseline at 100, the arm higher by difference and with spread
// times the noise.
func drawSamples(r *rand.Rand, counts [2]int, difference, spread float64, draw func(*rand.Rand) float64) Samples {
	var s Samples
	for range counts[0] {
		s.Arm = append(s.Arm, 100+difference+spread*draw(r))
	}
	for range counts[1] {
		s.Baseline = append(s.Baseline, 100+draw(r))
	}
	return s
}

// TestCoverageOfSamples: how often the intervals of unpaired comparisons contain the truth, also if the sides scatter
// differently and have different counts. The weak case in docs/statistics.md is two equal modes on one side, and the
// same modes three times as far apart on the other: the median difference then lies in a gap without differences.
func TestCoverageOfSamples(t *testing.T) {
	t.Parallel()
	for k, noise := range sideNoises {
		for _, spread := range []float64{1, 3} {
			r := rand.New(rand.NewPCG(30, uint64(10*k)+uint64(spread)))
			// The true medians have no formula for most noises.
			const large = 100_001
			differences, ratios := make([]float64, large), make([]float64, large)
			for i := range differences {
				arm, baseline := 103+spread*noise.draw(r), 100+noise.draw(r)
				differences[i], ratios[i] = arm-baseline, arm/baseline-1
			}
			slices.Sort(differences)
			slices.Sort(ratios)
			trueDifference, trueRatio := median(differences), median(ratios)
			right, wrong := 0.935, 0.90
			if spread == 3 && noise.name == "two modes, 50:50" {
				right, wrong = 0.74, 0.66
			}
			for _, counts := range sideCounts {
				what := fmt.Sprintf("%s, spread %g, %d against %d trials", noise.name, spread, counts[0], counts[1])
				s := newSimulation(t)
				held, relative := s.rate(what+": difference", right, wrong), s.rate(what+": relative", right, wrong)
				given := s.rate(what+": has an interval", 0.5, math.NaN())
				s.run(func() {
					c := compareSamples(drawSamples(r, counts, 3, spread, noise.draw))
					given.add(c.Interval.Known)
					if c.Interval.Known {
						held.add(c.Interval.Contains(trueDifference))
						relative.add(c.RelativeInterval.Contains(trueRatio))
					}
				})
			}
		}
	}
}

// TestFalseAlarmsOfSamples: how often a table of sides without a difference shows one, for tables of different sizes,
// and also if one side scatters more. The draws take turns with the noises.
func TestFalseAlarmsOfSamples(t *testing.T) {
	t.Parallel()
	for _, spread := range []float64{1, 3} {
		for _, comparisons := range []int{1, 5, 20} {
			for _, counts := range sideCounts {
				r := rand.New(rand.NewPCG(31, uint64(1000*comparisons+10*counts[0]+counts[1])+uint64(spread)))
				s := newSimulation(t)
				alarm := s.rate(fmt.Sprintf("spread %g, %d comparisons, %d against %d trials",
					spread, comparisons, counts[0], counts[1]), 0.05, 0.1)
				s.run(func() {
					noise := sideNoises[alarm.draws%4]
					// Noise that is symmetric about its median: more scatter alone then moves no median difference.
					draw := func(r *rand.Rand) float64 { return noise.draw(r) * float64(2*r.IntN(2)-1) }
					raw := make([]float64, comparisons)
					for i := range raw {
						raw[i] = sampleP(newTwoSample(drawSamples(r, counts, 0, spread, draw)))
					}
					alarm.add(slices.Min(Holm(raw)) <= Alpha)
				})
			}
		}
	}
}

// sampleP is the p-value of an unpaired comparison, computed without the intervals, which take most of the time.
// TestSampleP checks that compareSamples gives the same p-value.
func sampleP(t twoSample) float64 {
	if t.cut(Alpha) < 0 {
		return 1
	}
	notAbove, notBelow := t.differences.count(0, true), t.pairs()-t.differences.count(0, false)
	return t.p(min(notAbove, notBelow))
}

func TestSampleP(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	for _, counts := range sideCounts {
		s := drawSamples(r, counts, 0.5, 1, noises[0].draw)
		if c := compareSamples(s); c.RawPValue.Known && c.RawPValue.Value != sampleP(c.sample) {
			t.Errorf("%v: %v, want %v", counts, sampleP(c.sample), c.RawPValue.Value)
		}
	}
}

// TestPowerOfSamples draws sides without a difference, and takes the detectable difference and the trials needed that
// they state. It then draws sides that differ, and counts how often the difference is found. 0.8 would be exact.
func TestPowerOfSamples(t *testing.T) {
	t.Parallel()
	for k, noise := range sideNoises[:4] {
		for _, counts := range [][2]int{{6, 6}, {7, 7}, {10, 10}, {20, 20}, {10, 20}} {
			r := rand.New(rand.NewPCG(32, uint64(100*k+counts[0]+counts[1])))
			s := newSimulation(t)
			what := fmt.Sprintf("%s, %v trials", noise.name, counts)
			detectable := s.between(what+": at the detectable difference",
				[2]float64{0.66, 0.57}, [2]float64{0.85, 0.92})
			needed := s.between(what+": with the trials needed", [2]float64{0.73, 0.64}, [2]float64{0.94, 0.98})
			s.run(func() {
				c := compareSamples(drawSamples(r, counts, 0, 1, noise.draw))
				c.decide(1)
				again := compareSamples(drawSamples(r, counts, c.Detectable.Value, 1, noise.draw))
				for _, rate := range detectable {
					rate.add(again.RawPValue.Value <= Alpha && again.Difference.Value > 0)
				}
				const difference = 1
				more := c.sample.needed(c.sample.differences, difference, Alpha)
				if more < 0 {
					return
				}
				enough := [2]int{counts[0] + more, counts[1] + more}
				p := sampleP(newTwoSample(drawSamples(r, enough, difference, 1, noise.draw)))
				for _, rate := range needed {
					rate.add(p <= Alpha)
				}
			})
		}
	}
}

// TestAlternativesToTheInterval has the figures of docs/adr/0014-two-sides.md: how often three intervals contain the
// true difference of normal samples, and how wide they are. The interval of the exact Mann-Whitney test alone fails
// if the side with fewer trials scatters more. The difference of the two medians' own intervals is far too wide.
func TestAlternativesToTheInterval(t *testing.T) {
	t.Parallel()
	normal := noises[0].draw
	for _, test := range []struct {
		counts      [2]int
		spread      float64
		mannWhitney [2]float64 // right and wrong
	}{
		{[2]int{7, 7}, 1, [2]float64{0.945, 0.91}},
		{[2]int{10, 10}, 1, [2]float64{0.945, 0.91}},
		{[2]int{30, 30}, 1, [2]float64{0.94, 0.905}},
		{[2]int{7, 30}, 3, [2]float64{0.90, 0.94}},
	} {
		r := rand.New(rand.NewPCG(34, uint64(100*test.counts[0]+test.counts[1])))
		// With 97.5 % on each side both medians are contained at once.
		each := 2*math.Sqrt(0.975) - 1
		s := newSimulation(t)
		what := fmt.Sprintf("%v trials, spread %g, ", test.counts, test.spread)
		rates := []*rate{
			s.rate(what+"ours", 0.95, 0.92),
			s.rate(what+"Mann-Whitney", test.mannWhitney[0], test.mannWhitney[1]),
			s.rate(what+"two medians", 0.97, 0.94),
		}
		width := make([]float64, len(rates))
		s.run(func() {
			s := drawSamples(r, test.counts, 3, test.spread, normal)
			q := newTwoSample(s)
			k := 0
			for q.null.p(k+1) <= Alpha {
				k++
			}
			arm := medianInterval(Summarize(s.Arm).sorted, each)
			baseline := medianInterval(Summarize(s.Baseline).sorted, each)
			for i, interval := range []Interval{
				q.interval(q.differences, Alpha),
				knownInterval(q.differences.at(k+1), q.differences.at(q.pairs()-k)),
				knownInterval(arm.Low-baseline.High, arm.High-baseline.Low),
			} {
				width[i] += interval.High - interval.Low
				rates[i].add(interval.Contains(3))
			}
		})
		for i, rate := range rates {
			t.Logf("%s: width %.2f", rate.what, width[i]/float64(rate.draws))
		}
		if width[2] < 1.1*width[0] {
			t.Errorf("%swidths %.2f", what, width)
		}
	}
}
