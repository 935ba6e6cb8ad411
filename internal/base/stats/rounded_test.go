package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// roundedPair draws trials of two arms that differ by shift, with normal noise of 1, rounded to multiples of step.
func roundedPair(r *rand.Rand, blocks int, shift, step float64) Pair {
	var p Pair
	offset := r.Float64() * step
	for block := 1; block <= blocks; block++ {
		level := 20 + offset + 0.3*step*r.NormFloat64()
		p.Arm = append(p.Arm, Value{block, step * math.Round((level+shift+r.NormFloat64())/step)})
		p.Baseline = append(p.Baseline, Value{block, step * math.Round((level+r.NormFloat64())/step)})
	}
	return p
}

// If a tool rounds coarsely, many differences are exactly 0, and count against both signs. The detectable difference
// allows for that: at its median over runs, the power is near 80 %.
func TestDetectableOfRoundedTrials(t *testing.T) {
	for _, c := range []struct {
		blocks int
		step   float64
	}{{12, 0.01}, {12, 1}, {12, 2}, {12, 4}, {20, 2}, {20, 4}, {40, 4}} {
		r := rand.New(rand.NewPCG(7, uint64(c.blocks)))
		const draws = 200
		var all []float64
		for range draws {
			p := roundedPair(r, c.blocks, 0, c.step)
			if d := Compare(p.Arm, p.Baseline).Detectable; d.Known {
				all = append(all, d.Value)
			}
		}
		if len(all) < draws*9/10 {
			t.Errorf("%d blocks, step %g: a detectable difference is known in %d of %d runs", c.blocks, c.step, len(all),
				draws)
			continue
		}
		at, found := medianOfNumbers(all), 0
		for range draws {
			p := roundedPair(r, c.blocks, at, c.step)
			if Compare(p.Arm, p.Baseline).Verdict == Higher {
				found++
			}
		}
		power := float64(found) / draws
		t.Logf("%d blocks, step %g: detectable %.2f, power there %.3f", c.blocks, c.step, at, power)
		if power < 0.74 { // two standard errors below 80 %
			t.Errorf("%d blocks, step %g: the power at the detectable difference is %.3f", c.blocks, c.step, power)
		}
	}
}
