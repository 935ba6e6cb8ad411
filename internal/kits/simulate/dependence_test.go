package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// separateHosts is an experiment of arms a0, a1, ... that each have hosts of their own; 0 blocks mean the default.
func separateHosts(t *testing.T, arms, blocks int) *experiment.Experiment {
	t.Helper()
	var hosts, b strings.Builder
	for i := range arms {
		fmt.Fprintf(&hosts, "  c%d: {ssh: c%d}\n  s%d: {ssh: s%d}\n", i, i, i, i)
		fmt.Fprintf(&b, "  a%d: {client: c%d, server: s%d}\n", i, i, i)
	}
	schedule := ""
	if blocks > 0 {
		schedule = fmt.Sprintf("schedule: {blocks: %d}\n", blocks)
	}
	return parse(t, "nearfar: v1\nname: world\nbaseline: a0\nhosts:\n"+hosts.String()+"arms:\n"+b.String()+
		"workloads: [{name: rr, tool: native, mode: rr}]\n"+schedule)
}

// lasting is a world of equal arms whose hosts are each in a state of their own: its logarithm is autoregressive from
// block to block, with this correlation.
func lasting(e *experiment.Experiment, correlation float64) World {
	return World{Experiment: e, Begin: func(r *rand.Rand) Trials {
		state, of := map[string]float64{}, map[string]int{}
		return func(slot experiment.Slot, t *result.Trial) {
			if of[slot.Arm] != slot.Block {
				step := r.NormFloat64()
				if of[slot.Arm] == 0 {
					state[slot.Arm] = step
				} else {
					state[slot.Arm] = correlation*state[slot.Arm] + math.Sqrt(1-correlation*correlation)*step
				}
				of[slot.Arm] = slot.Block
			}
			p50 := 20e-6 * math.Exp(0.05*state[slot.Arm]+0.005*r.NormFloat64())
			t.Metrics = []result.Metric{RTT(result.P50, p50)}
		}
	}}
}

// If hosts of their own keep a state for several blocks, the default number of blocks finds false differences. It is
// too small to correct them, so the verdict of every such run says what its intervals assume, and it says that this
// does not hold in many of them. The warning itself has its level.
func TestDependentBlocks(t *testing.T) {
	t.Parallel()
	says := func(a answer.Answer) bool {
		return strings.Contains(a.Verdict, answer.TextIndependent) ||
			strings.Contains(a.Verdict, "depend on each other, so the intervals may be too narrow")
	}
	for _, c := range []struct {
		arms, blocks int
		correlation  float64
	}{{2, 0, 0}, {8, 0, 0}, {2, 0, 0.5}, {8, 0, 0.5}, {2, 0, 0.8}, {8, 0, 0.8}, {2, 40, 0.5}, {8, 40, 0.5}} {
		e := separateHosts(t, c.arms, c.blocks)
		few := 30
		if c.blocks > 0 {
			few = 5
		}
		n := draws(t, few)
		rates := lasting(e, c.correlation).Draw(n, 40, differs, warns(stats.CodeBlocksDepend), claims, says)
		t.Logf("%d arms, %d blocks, AR %g, %d runs: a false difference in %s, blocks-depend in %s, the verdict claims a "+
			"difference in %s and says what it assumes in %s", c.arms, e.Schedule.Blocks, c.correlation, n, rates[0],
			rates[1], rates[2], rates[3])
		if rates[3].Hits != n {
			t.Errorf("%d arms, AR %g: %d of %d verdicts say what intervals assume", c.arms, c.correlation, rates[3].Hits, n)
		}
		if c.correlation == 0 && !rates[1].AtMost(0.05) {
			t.Errorf("%d arms: blocks-depend in %s of %d runs of independent blocks", c.arms, rates[1], n)
		}
	}
}
