package simulate

import (
	"math"
	"math/rand/v2"
	"testing"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// warns says whether an answer has a warning.
func warns(code string) func(answer.Answer) bool {
	return func(a answer.Answer) bool {
		for _, w := range a.Warnings {
			if w.Code == code {
				return true
			}
		}
		return false
	}
}

// stallingTrials is a world of equal arms in which a trial takes eight times as long with a probability.
func stallingTrials(name string, e *experiment.Experiment, share float64) World {
	return World{Name: name, Experiment: e, Begin: func(r *rand.Rand) Trials {
		return func(_ experiment.Slot, t *result.Trial) {
			p50 := 20e-6 * math.Exp(0.03*r.NormFloat64())
			if r.Float64() < share {
				p50 *= 8
			}
			t.Metrics = []result.Metric{RTT(result.P50, p50)}
		}
	}}
}

// A trial that stalled in one arm is no odd block. A block in which all arms are slow is one.
func TestOddBlocks(t *testing.T) {
	t.Parallel()
	for _, blocks := range []int{12, 40} {
		n := draws(t, 80)
		e := equalArms(t, 2, blocks)
		rates := stallingTrials("3 % stalls", e, 0.03).Draw(n, 20, warns(stats.CodeOutlierBlock))
		t.Logf("%d blocks, 3 %% of trials stall, %d runs: outlier-block in %s", blocks, n, rates[0])
		if !rates[0].AtMost(0.1) {
			t.Errorf("%d blocks: outlier-block in %s of %d runs without an odd block", blocks, rates[0], n)
		}
		odd := World{Experiment: e, Begin: func(r *rand.Rand) Trials {
			return func(slot experiment.Slot, t *result.Trial) {
				p50 := 20e-6 * math.Exp(0.03*r.NormFloat64())
				if slot.Block == 5 {
					p50 *= 1.5
				}
				t.Metrics = []result.Metric{RTT(result.P50, p50)}
			}
		}}
		if found := odd.Draw(n, 21, warns(stats.CodeOutlierBlock)); !found[0].AtLeast(0.95) {
			t.Errorf("%d blocks: a block with 50 %% more in all arms is named in %s of %d runs", blocks, found[0], n)
		}
	}
}

// In runs of equal arms, one-block-decides is about false differences, and so as rare as these.
func TestOneBlockDecidesSeldom(t *testing.T) {
	t.Parallel()
	for _, arms := range []int{2, 8} {
		n := draws(t, 60)
		levels := map[string]float64{}
		e := equalArms(t, arms, 0)
		for _, arm := range e.Arms {
			levels[arm.Name] = 20e-6
		}
		rates := steady("equal", e, levels, 0.03, 0.05).Draw(n, 22, warns("one-block-decides"))
		t.Logf("%d equal arms, %d runs: one-block-decides in %s", arms, n, rates[0])
		if !rates[0].AtMost(0.05) {
			t.Errorf("%d arms: one-block-decides in %s of %d runs", arms, rates[0], n)
		}
	}
}

// How much must be measured to find the difference that was seen is not said where it would take a run more than ten
// times as long: that difference is chance.
func TestNoHugeNumbersOfBlocks(t *testing.T) {
	t.Parallel()
	n := draws(t, 60)
	e := equalArms(t, 2, 0)
	huge := func(a answer.Answer) bool {
		for _, c := range a.Comparisons {
			if c.BlocksNeeded != nil && *c.BlocksNeeded > 10*c.Blocks {
				return true
			}
		}
		return false
	}
	rates := steady("equal", e, map[string]float64{"a0": 20e-6, "a1": 20e-6}, 0.03, 0.05).Draw(n, 23, huge)
	if rates[0].Hits > 0 {
		t.Errorf("%d of %d runs ask for more than ten times as many blocks", rates[0].Hits, n)
	}
}

// scattering is a world of arms with one level and a scatter of their own.
func scattering(e *experiment.Experiment, scatter map[string]float64, tails, between, stalls float64) World {
	return World{Experiment: e, Begin: func(r *rand.Rand) Trials {
		block, level := 0, 1.0
		return func(slot experiment.Slot, t *result.Trial) {
			if slot.Block != block {
				block, level = slot.Block, math.Exp(between*r.NormFloat64())
			}
			noise := r.NormFloat64()
			if tails > 0 { // log-normal noise, whose median is 0
				noise = (math.Exp(tails*noise) - 1) / tails
			}
			p50 := 20e-6 * level * (1 + scatter[slot.Arm]*math.Max(noise, -20))
			if r.Float64() < stalls {
				p50 *= 8
			}
			t.Metrics = []result.Metric{RTT(result.P50, p50)}
		}
	}}
}

// scatter-differs has its level of 5 % for all arms of a workload together, also with skewed noise, stalls and blocks
// that scatter, and finds an arm that scatters eight times as much.
func TestScatterDiffers(t *testing.T) {
	t.Parallel()
	for _, arms := range []int{2, 8} {
		e := equalArms(t, arms, 0)
		same, eight := map[string]float64{}, map[string]float64{}
		for _, arm := range e.Arms {
			same[arm.Name], eight[arm.Name] = 0.02, 0.02
		}
		eight["a1"] = 0.16
		for _, w := range []struct {
			name                   string
			tails, between, stalls float64
		}{{"normal", 0, 0, 0}, {"log-normal", 0.8, 0, 0}, {"blocks scatter", 0, 0.03, 0}, {"3 % stalls", 0, 0, 0.03}} {
			n := draws(t, 40)
			level := scattering(e, same, w.tails, w.between, w.stalls).Draw(n, 24, warns(stats.CodeScatterDiffers))
			found := scattering(e, eight, w.tails, w.between, w.stalls).Draw(n, 25, warns(stats.CodeScatterDiffers))
			t.Logf("%d arms, %s, %d runs: scatter-differs in %s, with eight times the scatter in %s", arms, w.name, n,
				level[0], found[0])
			if !level[0].AtMost(0.05) {
				t.Errorf("%d arms, %s: scatter-differs in %s of %d runs of equal scatter", arms, w.name, level[0], n)
			}
			if least := map[bool]float64{true: 0.75, false: 0.5}[w.name == "normal"]; !found[0].AtLeast(least) {
				t.Errorf("%d arms, %s: eight times the scatter is found in %s of %d runs", arms, w.name, found[0], n)
			}
		}
	}
}
