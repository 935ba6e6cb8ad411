package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// drawDeployed draws n deployments of blocks. The true difference of a deployment is effect plus between times a draw
// that has a variance of 1; within is the standard deviation of the paired differences in a deployment.
func drawDeployed(
	r *rand.Rand, n, blocks int, effect, between, within float64, draw func(*rand.Rand) float64,
) Deployed {
	var d Deployed
	for range n {
		own := effect + between*draw(r)
		var p Pair
		for block := 1; block <= blocks; block++ {
			level := 100 + 5*r.NormFloat64() // shared by the block
			p.Baseline = append(p.Baseline, Value{block, level})
			p.Arm = append(p.Arm, Value{block, level + own + within*r.NormFloat64()})
		}
		d = append(d, p)
	}
	return d
}

// pooled puts the blocks of all deployments into one pair: the naive analysis.
func pooled(d Deployed) Pair {
	var all Pair
	for i, p := range d {
		for _, v := range p.Arm {
			all.Arm = append(all.Arm, Value{1000*i + v.Block, v.Value})
		}
		for _, v := range p.Baseline {
			all.Baseline = append(all.Baseline, Value{1000*i + v.Block, v.Value})
		}
	}
	return all
}

// deployedDraws are the distributions of deployments' differences, with a mean of 0 and a variance of 1. The interval
// has bounds for the first two. The others are drawn for the figures of docs/statistics.md only.
func deployedDraws() []noise {
	return []noise{
		{"normal", 0, noises[0].draw},
		{"Student t, 3 df", 0, func(r *rand.Rand) float64 { return noises[3].draw(r) / math.Sqrt(3) }},
		{"log-normal", 0, func(r *rand.Rand) float64 { return (noises[1].draw(r) - noises[1].mean) / 1.304 }},
		{"two kinds, 70:30", 0, func(r *rand.Rand) float64 {
			if r.Float64() < 0.3 {
				return 0.7 / math.Sqrt(0.21)
			}
			return -0.3 / math.Sqrt(0.21)
		}},
	}
}

// TestCoverageOfDeployments: how often the interval contains the configuration's difference, for deployments of 10
// blocks. The naive analysis, with all blocks together, must fail where deployments differ: otherwise the simulation
// could not tell. (With 8 deployments, the correction for blocks that depend on each other hides most of its fault.)
func TestCoverageOfDeployments(t *testing.T) {
	t.Parallel()
	const blocks, within = 10, 1.0
	for k, draw := range deployedDraws() {
		for _, n := range []int{2, 3, 5, 8} {
			for _, ratio := range []float64{0, 0.5, 1, 4} {
				r := rand.New(rand.NewPCG(92, uint64(100*n)+uint64(10*ratio)+uint64(10000*k)))
				s := newSimulation(t)
				if k > 0 && s.least == 0 && (k > 1 || n != 3 || ratio != 1) {
					continue // the figures of docs/statistics.md have them all
				}
				what := fmt.Sprintf("%s, %d deployments, variance ratio %.1f", draw.name, n, ratio)
				right, wrong := 0.945, 0.92
				if k > 1 {
					right, wrong = math.NaN(), math.NaN()
				}
				covered := s.rate(what, right, wrong)
				// The interval of the scatter between assumes normal deployments.
				scatter, naive := [2]float64{math.NaN(), math.NaN()}, [2]float64{math.NaN(), math.NaN()}
				if k == 0 {
					scatter = [2]float64{0.945, 0.91}
				}
				if k == 0 && n <= 5 && ratio >= 1 {
					naive = [2]float64{0.88, 0.93}
				}
				between := s.rate(what+", interval of the scatter between", scatter[0], scatter[1])
				together := s.rate(what+", all blocks together", naive[0], naive[1])
				s.run(func() {
					const effect = 3
					d := drawDeployed(r, n, blocks, effect, math.Sqrt(ratio)*within, within, draw.draw)
					c, _ := compareDeployments(d)
					covered.add(c.Interval.Contains(effect))
					between.add(c.Scatter.BetweenInterval.Contains(math.Sqrt(ratio) * within))
					p := pooled(d)
					together.add(Compare(p.Arm, p.Baseline).Interval.Contains(effect))
				})
			}
		}
	}
}

// TestFalseAlarmsOfDeployments: how often one of a table of equal arms is called different.
func TestFalseAlarmsOfDeployments(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 8} {
		for _, arms := range []int{1, 5} {
			for _, ratio := range []float64{0, 4} {
				r := rand.New(rand.NewPCG(93, uint64(100*n)+uint64(10*ratio)+uint64(arms)))
				s := newSimulation(t)
				what := fmt.Sprintf("%d deployments, %d arms, variance ratio %v", n, arms, ratio)
				alarms := s.rate(what, 0.055, 0.085)
				s.run(func() {
					var table []Deployed
					for range arms {
						table = append(table, drawDeployed(r, n, 10, 0, math.Sqrt(ratio), 1, noises[0].draw))
					}
					any := false
					for _, c := range CompareDeployments(table) {
						any = any || c.Verdict == Higher || c.Verdict == Lower
					}
					alarms.add(any)
				})
			}
		}
	}
}

// TestPowerOfDeployments: how often the plan for a difference finds it, if the scatter is known.
func TestPowerOfDeployments(t *testing.T) {
	t.Parallel()
	const blocks = 10
	for _, ratio := range []float64{0.5, 4} {
		scatter := DeploymentScatter{
			// The median of 10 normal values has a variance of 0.1383, that is 1.383 / 10.
			Within: known(math.Sqrt(1.383)), Between: known(math.Sqrt(ratio)), level: Alpha,
		}
		p, ok := scatter.MoreDeployments(2, blocks)
		if !ok {
			t.Fatal("no plan")
		}
		r := rand.New(rand.NewPCG(94, uint64(10*ratio)))
		s := newSimulation(t)
		found := s.between(fmt.Sprintf("variance ratio %v: %d deployments", ratio, p.Deployments),
			[2]float64{0.78, 0.70}, [2]float64{0.90, 0.95})
		s.run(func() {
			d := drawDeployed(r, p.Deployments, blocks, 2, math.Sqrt(ratio), 1, noises[0].draw)
			hit := CompareDeployments([]Deployed{d})[0].Verdict == Higher
			found[0].add(hit)
			found[1].add(hit)
		})
	}
}
