package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// plannedRun is the design of a run, for one quantity of one workload.
type plannedRun struct {
	arms, blocks, repeats, retries int
	// questions is the number of tables like this one that are corrected together.
	questions int
}

// hazards are the disturbances of trials: log-normal noise, a level that changes from block to block, stalls that
// make the value several times as large, and failures. Noise and blocks are standard deviations of logarithms; stalls
// and failures are probabilities.
type hazards struct{ noise, blocks, stalls, failures float64 }

// realistic: a few per cent of noise, 3 % of trials stall, 2 % fail.
func realistic(noise float64) hazards {
	return hazards{noise: noise, blocks: 0.05, stalls: 0.03, failures: 0.02}
}

// draw gives a trial's value; false if the trial and all of its retries failed.
func (h hazards) draw(r *rand.Rand, level float64, retries int) (float64, bool) {
	for range retries + 1 {
		if r.Float64() < h.failures {
			continue
		}
		v := level * math.Exp(h.noise*r.NormFloat64())
		if r.Float64() < h.stalls {
			v *= 1.2 + 3*r.ExpFloat64()
		}
		return v, true
	}
	return 0, false
}

// run draws the pairs of a run in which the first arm is higher by the share effect, and all others are alike.
func (d plannedRun) run(r *rand.Rand, h hazards, effect float64) []Pair {
	var all []Pair
	for question := range max(d.questions, 1) {
		pairs := make([]Pair, d.arms-1)
		var baseline []Value
		for block := 1; block <= d.blocks; block++ {
			level := math.Exp(h.blocks * r.NormFloat64())
			for range d.repeats {
				if v, ok := h.draw(r, level, d.retries); ok {
					baseline = append(baseline, Value{block, v})
				}
			}
			for i := range pairs {
				at := level
				if i == 0 && question == 0 {
					at *= 1 + effect
				}
				if v, ok := h.draw(r, at, d.retries); ok {
					pairs[i].Arm = append(pairs[i].Arm, Value{block, v})
				}
			}
		}
		for i := range pairs {
			pairs[i].Baseline = PerBlock(baseline)
		}
		all = append(all, pairs...)
	}
	return all
}

// rates draws a run with an effect of 15 % in one arm, and says whether it is found. It draws another without an
// effect, and says whether any difference is found.
func (d plannedRun) rates(r *rand.Rand, h hazards) (found, alarm bool) {
	return correctedSigns(d.run(r, h, 0.15))[0] <= Alpha, slices.Min(correctedSigns(d.run(r, h, 0))) <= Alpha
}

// correctedSigns gives the corrected p-values of a table as CompareAll does, without computing power, which takes most
// of the time.
func correctedSigns(pairs []Pair) []float64 {
	raw := make([]float64, len(pairs))
	for i, p := range pairs {
		differences, _ := p.differences()
		above, below := 0, 0
		for _, v := range differences {
			if v > 0 {
				above++
			}
			if v < 0 {
				below++
			}
		}
		n := len(differences)
		raw[i] = countedSignP(n, serialOf(differences).Counted, n-max(above, below))
	}
	return Holm(raw)
}

// TestDefaultDesign holds the default design to its purpose: it finds an effect of 15 % in one of the arms with
// a probability of at least 0.95, and a family of identical arms has a false alarm with a probability of at most 0.05.
// The other designs are in the table of docs/statistics.md; only their false alarms are tested.
func TestDefaultDesign(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		design    plannedRun
		isDefault bool
	}{
		{plannedRun{arms: 8, blocks: 10, repeats: 1, questions: 2}, false}, // p50 and p99 corrected together
		{plannedRun{arms: 8, blocks: 10, repeats: 1}, false},
		{plannedRun{arms: 8, blocks: 10, repeats: 1, retries: 2}, false},
		{plannedRun{arms: 8, blocks: 12, repeats: 1, retries: 2}, false}, // labs/overlay
		{plannedRun{arms: 8, blocks: 15, repeats: 1, retries: 2}, false}, // as many trials as the default
		{plannedRun{arms: 8, blocks: 16, repeats: 3, retries: 2}, false},
		{plannedRun{arms: 8, blocks: 12, repeats: 3}, false},
		{plannedRun{arms: 8, blocks: 12, repeats: 3, retries: 2}, true},
		{plannedRun{arms: 5, blocks: 12, repeats: 3, retries: 2}, true},
		{plannedRun{arms: 4, blocks: 14, repeats: 1, retries: 2}, true},
		{plannedRun{arms: 2, blocks: 12, repeats: 1, retries: 2}, true},
		{plannedRun{arms: 12, blocks: 13, repeats: 3, retries: 2}, true},
	} {
		for _, noise := range []float64{0.03, 0.05, 0.07} {
			r := rand.New(rand.NewPCG(25, uint64(i)))
			s := newSimulation(t)
			what := fmt.Sprintf("%+v, noise %.2f", c.design, noise)
			wrong := math.NaN()
			if c.isDefault && noise <= 0.05 {
				wrong = 0.91
			}
			found, alarm := s.rate(what+": found", 0.95, wrong), s.rate(what+": false alarm", 0.05, 0.09)
			s.run(func() {
				right, anyFalse := c.design.rates(r, realistic(noise))
				found.add(right)
				alarm.add(anyFalse)
			})
		}
	}
}

// TestOneBadTrialOfTheBaseline: all arms are 15 % higher than the baseline, and one trial of the baseline, which all
// comparisons share, failed for good, stalled, or was good. How often is the difference found? The draws take turns
// with the comparisons of a table, which depend on each other.
func TestOneBadTrialOfTheBaseline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		design       plannedRun
		right, wrong float64
	}{
		{plannedRun{arms: 8, blocks: 10, repeats: 1, questions: 2}, 0.5, math.NaN()}, // p50 and p99 corrected together
		{plannedRun{arms: 8, blocks: 12, repeats: 1}, 0.985, 0.94},                   // labs/overlay
		{plannedRun{arms: 8, blocks: 12, repeats: 3}, 0.99, 0.96},                    // the default
	} {
		for _, bad := range []string{"none", "failed", "stalled"} {
			r := rand.New(rand.NewPCG(26, uint64(c.design.blocks)))
			s := newSimulation(t)
			found := s.rate(fmt.Sprintf("%+v, one trial of the baseline %s", c.design, bad), c.right, c.wrong)
			s.run(func() {
				p := correctedSigns(c.design.runWithOne(r, bad))
				found.add(p[found.draws%len(p)] <= Alpha)
			})
		}
	}
}

// runWithOne draws a run in which all arms but the baseline are 15 % higher, with 3 % of noise. The baseline's first
// trial in each table is bad.
func (d plannedRun) runWithOne(r *rand.Rand, bad string) []Pair {
	h := hazards{noise: 0.03, blocks: 0.05}
	var all []Pair
	for range max(d.questions, 1) {
		pairs := make([]Pair, d.arms-1)
		var baseline []Value
		for block := 1; block <= d.blocks; block++ {
			level := math.Exp(h.blocks * r.NormFloat64())
			for repeat := range d.repeats {
				v, _ := h.draw(r, level, 0)
				if spoiled := block == 1 && repeat == 0; spoiled && bad == "failed" {
					continue
				} else if spoiled && bad == "stalled" {
					v *= 8
				}
				baseline = append(baseline, Value{block, v})
			}
			for i := range pairs {
				v, _ := h.draw(r, 1.15*level, 0)
				pairs[i].Arm = append(pairs[i].Arm, Value{block, v})
			}
		}
		for i := range pairs {
			pairs[i].Baseline = PerBlock(baseline)
		}
		all = append(all, pairs...)
	}
	return all
}

// TestRepeatsPay compares repeats of the baseline with about as many trials spent on more blocks: the repeats find
// more, except with 4 arms.
func TestRepeatsPay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arms            int
		repeated, plain int // blocks of about as many trials
		// most is the largest power of more blocks; NaN makes no claim.
		most float64
	}{{4, 12, 18, math.NaN()}, {5, 12, 17, 0.75}, {6, 12, 16, 0.75}, {8, 12, 15, 0.53}} {
		for _, design := range []plannedRun{
			{arms: c.arms, blocks: c.repeated, repeats: 3, retries: 2},
			{arms: c.arms, blocks: c.plain, repeats: 1, retries: 2},
		} {
			right, wrong := 0.83, 0.76
			if design.repeats == 1 {
				right, wrong = c.most, c.most+0.07
			}
			r := rand.New(rand.NewPCG(25, uint64(100*c.arms+design.repeats)))
			s := newSimulation(t)
			found := s.rate(fmt.Sprintf("%+v: found", design), right, wrong)
			s.run(func() { found.add(correctedSigns(design.run(r, realistic(0.07), 0.15))[0] <= Alpha) })
		}
	}
}

// TestMeanOfTwoIsBiased shows why a block has an odd number of trials of the baseline: a trial like the baseline is
// below the mean of two skewed values more often than above it, and the sign test takes that for a difference. A
// right build fails with a probability of 2e-5. A build in which 0.525 lie above the median of three passes with 0.2
// %.
func TestMeanOfTwoIsBiased(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(25, 99))
	const draws = 20_000
	h := hazards{noise: 0.01, stalls: 0.2}
	mean, middle := 0, 0
	for range draws {
		value := func() float64 { v, _ := h.draw(r, 1, 0); return v }
		arm, a, b, c := value(), value(), value(), value()
		if arm > (a+b)/2 {
			mean++
		}
		if arm > PerBlock([]Value{{1, a}, {1, b}, {1, c}})[0].Value {
			middle++
		}
	}
	t.Logf("above the mean of two: %.3f, above the median of three: %.3f", float64(mean)/draws, float64(middle)/draws)
	if share := float64(middle) / draws; math.Abs(share-0.5) > 0.015 {
		t.Errorf("%.3f lie above the median of three, want half", share)
	}
	if share := float64(mean) / draws; share > 0.47 {
		t.Errorf("%.3f lie above the mean of two, want fewer than 0.47", share)
	}
}
