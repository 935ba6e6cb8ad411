package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// deployedOf makes deployments whose blocks all have the given difference, against a baseline that has no ratio.
func deployedOf(differences ...float64) Deployed {
	var d Deployed
	for i, difference := range differences {
		var p Pair
		for block := i*FewestDeployedBlocks + 1; block <= (i+1)*FewestDeployedBlocks; block++ {
			p.Arm = append(p.Arm, Value{block, difference - 1})
			p.Baseline = append(p.Baseline, Value{block, -1})
		}
		d = append(d, p)
	}
	return d
}

func isAbout(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestDeploymentsAgainstR compares with R: t.test(extra ~ group, data = sleep, paired = TRUE), Student's data.
func TestDeploymentsAgainstR(t *testing.T) {
	t.Parallel()
	d := deployedOf(1.2, 2.4, 1.3, 1.3, 0, 1.0, 1.8, 0.8, 4.6, 1.4)
	c := CompareDeployments([]Deployed{d})[0]
	isAbout(t, "the difference", c.Difference.Value, 1.58, 1e-9)
	isAbout(t, "the lower end", c.Interval.Low, 0.7001142, 1e-6)
	isAbout(t, "the upper end", c.Interval.High, 2.4598858, 1e-6)
	isAbout(t, "p", c.PValue.Value, 0.00283289, 1e-7)
	if c.Verdict != Higher || c.Used != 10 || c.Needed != 0 || c.Relative.Known {
		t.Errorf("%+v", c)
	}
	change, relative := EstimateDeployments(d, 1)
	if change.Value != c.Difference || change.Interval != c.Interval || relative.Value.Known {
		t.Errorf("a check has %+v and %+v", change, relative)
	}
}

func TestRelativeDifferenceOfDeployments(t *testing.T) {
	t.Parallel()
	// An arm that is 5 %, 10 % and 15.5 % above baselines of different levels: in logarithms the steps are equal.
	var d Deployed
	for i, factor := range []float64{1.05, 1.1025, 1.157625} {
		var p Pair
		for block := range 5 {
			level := float64(10*(i+1) + block)
			p.Arm = append(p.Arm, Value{block, level * factor})
			p.Baseline = append(p.Baseline, Value{block, level})
		}
		d = append(d, p)
	}
	c := CompareDeployments([]Deployed{d})[0]
	isAbout(t, "the relative difference", c.Relative.Value, 0.1025, 1e-9)
	// s = log 1.05, t(0.975, 2) = 4.302653, so log is 2 log 1.05 +- 4.302653 log 1.05 / sqrt(3).
	half := 4.302653 * math.Log(1.05) / math.Sqrt(3)
	if c.Verdict == NoDifference {
		isAbout(t, "the upper end", c.RelativeInterval.High, math.Expm1(2*math.Log(1.05)+half), 1e-6)
		isAbout(t, "the lower end, extended to 0 at most",
			c.RelativeInterval.Low, math.Min(0, math.Expm1(2*math.Log(1.05)-half)), 1e-6)
	} else {
		t.Errorf("three deployments, verdict %s", c.Verdict)
	}
	for i, want := range []float64{0.05, 0.1025, 0.157625} {
		isAbout(t, "a deployment", c.Each[i].Relative.Value, want, 1e-9)
	}
}

func TestDeploymentsThatSayNothing(t *testing.T) {
	t.Parallel()
	short := deployedOf(1, 2, 3)
	short[1].Arm = short[1].Arm[:FewestDeployedBlocks-1]
	lost := deployedOf(1, 2, 3)
	for i := range lost[2].Arm {
		lost[2].Arm[i].Value = math.Inf(1)
	}
	for _, c := range []struct {
		name    string
		d       Deployed
		used    int
		verdict Verdict
		reason  string
	}{
		{"none", nil, 0, FewDeployments, ReasonTooFewDeployments},
		{"one", deployedOf(1), 1, FewDeployments, ReasonTooFewDeployments},
		{"two, of which one is too short", short[:2], 1, FewDeployments, ReasonTooFewDeployments},
		{"three, of which one is too short", short, 2, NoDifference, ""},
		{"one that lost its values", lost, 3, NotComparable, ReasonLost},
		{"all the same", deployedOf(1, 1, 1), 3, NotComparable, ReasonSameInAll},
	} {
		got := CompareDeployments([]Deployed{c.d})[0]
		if got.Used != c.used || got.Verdict != c.verdict || got.Reason != c.reason {
			t.Errorf("%s: %d used, %s, %q", c.name, got.Used, got.Verdict, got.Reason)
		}
		if c.verdict != NoDifference && (got.Interval.Known || got.PValue.Known) {
			t.Errorf("%s: an interval %+v or a p-value %+v", c.name, got.Interval, got.PValue)
		}
	}
}

// TestScatterWithin compares with the variance of the median of n normal values, from tables of order statistics:
// 0.1661 for n = 8 and 0.1383 for n = 10. Deployments that do not differ have no scatter between them, and those that
// differ have the right one. The variance is right within a quarter: with two deployments it is a little too large.
func TestScatterWithin(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(91, 1))
	for n, want := range map[int]float64{8: 0.1661, 10: 0.1383} {
		for _, deployments := range []int{2, 3, 8} {
			var within, between float64
			const draws = 1500
			for range draws {
				c, _ := compareDeployments(drawDeployed(r, deployments, n, 3, 2, 1, noises[0].draw))
				within += c.Scatter.Within.Value * c.Scatter.Within.Value / float64(n) / draws
				between += c.Scatter.Between.Value * c.Scatter.Between.Value / draws
			}
			t.Logf("%d deployments of %d blocks: %.4f, %.3f", deployments, n, within, between)
			if within < 0.9*want || within > 1.25*want {
				t.Errorf("%d deployments of %d blocks: %.4f, want %.4f", deployments, n, within, want)
			}
			if between < 3.5 || between > 4.5 {
				t.Errorf("%d deployments of %d blocks: %.3f between, want 4", deployments, n, between)
			}
		}
	}
}

func TestPlansOfDeployments(t *testing.T) {
	t.Parallel()
	s := DeploymentScatter{Within: known(3), Between: known(1), level: Alpha}
	more, ok := s.MoreDeployments(2, 9)
	// The standard error of one deployment is sqrt(2). (t(0.975, 5) + t(0.8, 5)) sqrt(2/6) = 2.015, with 7: 1.793.
	if !ok || more != (DeploymentPlan{Deployments: 7, Blocks: 9}) {
		t.Errorf("more deployments: %+v, %v", more, ok)
	}
	blocks, ok := s.MoreBlocks(2, 7)
	if !ok || blocks.Blocks > 9 || !s.finds(blocks, 2) {
		t.Errorf("more blocks: %+v, %v", blocks, ok)
	}
	if p, ok := s.MoreBlocks(0.5, 3); ok {
		t.Errorf("no number of blocks in 3 deployments finds half of their scatter: %+v", p)
	}
	// For a small difference the degrees of freedom hardly matter: sqrt(100 / 1) * 3 / 1 = 30 blocks.
	if p, ok := s.Cheapest(0.1, 100, 1); !ok || p.Blocks != 30 || !s.finds(p, 0.1) {
		t.Errorf("the cheapest: %+v, %v", p, ok)
	}
	price := func(p DeploymentPlan) int { return p.Deployments * (100 + p.Blocks) }
	if p, ok := s.Cheapest(2, 100, 1); !ok || price(p) > price(more) || price(p) > price(blocks) || !s.finds(p, 2) {
		t.Errorf("the cheapest: %+v, %v; others are %+v and %+v", p, ok, more, blocks)
	}
	s.Between = known(0)
	if p, ok := s.Cheapest(0.1, 1000, 1); !ok || p.Blocks != 100 {
		t.Errorf("the cheapest, if deployments do not differ: %+v, %v", p, ok)
	}
	if p, ok := (DeploymentScatter{}).MoreDeployments(1, 10); ok {
		t.Errorf("a plan without a known scatter: %+v", p)
	}
	if p, ok := s.MoreDeployments(0, 10); ok {
		t.Errorf("a plan for no difference: %+v", p)
	}
}
