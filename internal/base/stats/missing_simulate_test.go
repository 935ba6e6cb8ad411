package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestCoverageWithMissingTrials: only one arm has a layer, and it lacks trials in some of 10 blocks. The intervals of
// its cost and its whole must still contain the truth.
func TestCoverageWithMissingTrials(t *testing.T) {
	t.Parallel()
	const blocks = 10
	design := Design{
		Layers: []string{"router", "vtep"}, Arms: []string{"l2", "routed", "twice", "vxlan"},
		Counts: [][]float64{{0, 0}, {1, 0}, {2, 0}, {2, 2}},
	}
	r := rand.New(rand.NewPCG(31, 7))
	for _, noise := range noises[:3] {
		for _, missing := range []int{0, 3, 5, 7} {
			s := newSimulation(t)
			what := fmt.Sprintf("%s, %d of %d blocks without the arm", noise.name, missing, blocks)
			cost, whole := s.rate(what+": cost", 0.94, 0.905), s.rate(what+": whole", 0.94, 0.905)
			s.run(func() {
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
				cost.add(a.Costs[1].Interval.Contains(4))
				whole.add(a.Arms[2].WholeInterval.Contains(14))
			})
		}
	}
}
