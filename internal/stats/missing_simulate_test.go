package stats

import (
	"math/rand/v2"
	"testing"
)

// TestCoverageWithMissingTrials: of 10 blocks the arm that alone has a layer misses some, so that its cost and its whole rest on
// fewer. Their intervals hold the truth all the same.
func TestCoverageWithMissingTrials(t *testing.T) {
	const runs, blocks = 600, 10
	design := Design{Layers: []string{"router", "vtep"}, Arms: []string{"l2", "routed", "twice", "vxlan"}, Counts: [][]float64{{0, 0}, {1, 0}, {2, 0}, {2, 2}}}
	r := rand.New(rand.NewPCG(31, 7))
	for _, noise := range noises[:3] {
		for _, missing := range []int{0, 3, 5, 7} {
			cost, whole := 0.0, 0.0
			for range runs {
				var trials []Trial
				for block := range blocks {
					effect := 5 * r.NormFloat64()
					for i, arm := range design.Arms {
						v := effect + 3*design.Counts[i][0] + 4*design.Counts[i][1] + noise.draw(r) - noise.mean
						if arm != "vxlan" || block >= missing {
							trials = append(trials, Trial{arm, block, v})
						}
					}
				}
				a := Attribute(design, "l2", trials)
				if a.Costs[1].Interval.Contains(4) {
					cost += 1.0 / runs
				}
				if p := a.Arms[2]; p.WholeInterval.Contains(14) {
					whole += 1.0 / runs
				}
			}
			t.Logf("%-10s %d of %d blocks without the arm: cost %.3f, whole %.3f", noise.name, missing, blocks, cost, whole)
			if min(cost, whole) < 0.925 {
				t.Errorf("%s, %d of %d blocks without the arm: cost %.3f, whole %.3f", noise.name, missing, blocks, cost, whole)
			}
		}
	}
}
