package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// manyTables is an experiment of arms a0, a1, ... and workloads w0, w1, ... with the default schedule.
func manyTables(t *testing.T, arms, workloads int) *experiment.Experiment {
	t.Helper()
	var b strings.Builder
	b.WriteString("nearfar: v1\nname: world\nbaseline: a0\narms:\n")
	for i := range arms {
		fmt.Fprintf(&b, "  a%d: {lab: {path: [bridge]}, layers: {}}\n", i)
	}
	b.WriteString("workloads:\n")
	for i := range workloads {
		fmt.Fprintf(&b, "  - {name: w%d, tool: native, mode: rr}\n", i)
	}
	return parse(t, b.String())
}

// tables is a world whose arms lie above the baseline by a share that depends on the arm and the workload. Trials have
// a p50 and a p99 with noise of their own.
func tables(name string, e *experiment.Experiment, above func(arm, workload string) float64) World {
	return World{Name: name, Experiment: e, Begin: func(r *rand.Rand) Trials {
		block, level := 0, 1.0
		return func(slot experiment.Slot, t *result.Trial) {
			if slot.Block != block {
				block, level = slot.Block, math.Exp(0.05*r.NormFloat64())
			}
			at := level * (1 + above(slot.Arm, slot.Workload))
			t.Metrics = []result.Metric{
				RTT(result.P50, 20e-6*at*math.Exp(0.03*r.NormFloat64())),
				RTT(result.P99, 60e-6*at*math.Exp(0.1*r.NormFloat64())),
			}
		}
	}}
}

// claims says whether the verdict may claim any difference.
func claims(a answer.Answer) bool {
	for _, f := range a.Findings {
		if f.Claimable() {
			return true
		}
	}
	return false
}

// If nothing differs, the verdict claims a difference in at most 5 % of runs, however many tables it chooses from.
// Tables alone have differences in many more of them.
func TestHeadlineOverManyTables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arms, workloads, few int }{{2, 1, 60}, {8, 1, 30}, {8, 5, 6}, {8, 20, 1}} {
		e := manyTables(t, c.arms, c.workloads)
		n := draws(t, c.few)
		none := func(string, string) float64 { return 0 }
		rates := tables("equal", e, none).Draw(n, 10, differs, claims)
		t.Logf("%d arms, %d workloads, %d runs: a table has a false difference in %s, the verdict may claim one in %s",
			c.arms, c.workloads, n, rates[0], rates[1])
		if !rates[1].AtMost(0.05) {
			t.Errorf("%d arms, %d workloads: the verdict may claim a false difference in %s of %d runs",
				c.arms, c.workloads, rates[1], n)
		}
	}
}

// A difference of one arm that a table finds is claimed nearly as often, if its workload is asked about first.
func TestHeadlineKeepsPower(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arms, workloads int }{{2, 1}, {8, 1}, {8, 5}} {
		e := manyTables(t, c.arms, c.workloads)
		n := draws(t, 10)
		of := func(a answer.Answer, claimed func(answer.Finding) bool) bool {
			for _, f := range a.Findings {
				if f.Name == "a1" && f.Workload == "w0" && f.Stat == result.P50 && claimed(f) {
					return true
				}
			}
			return false
		}
		rates := tables("15 %", e, func(arm, workload string) float64 {
			if arm == "a1" && workload == "w0" {
				return 0.15
			}
			return 0
		}).Draw(n, 11, func(a answer.Answer) bool { return of(a, answer.Finding.Differs) },
			func(a answer.Answer) bool { return of(a, answer.Finding.Claimable) })
		t.Logf("%d arms, %d workloads, %d runs: found in %s, claimed in %s", c.arms, c.workloads, n, rates[0], rates[1])
		if !rates[1].AtLeast(0.9) {
			t.Errorf("%d arms, %d workloads: 15 %% is claimed in %s of %d runs", c.arms, c.workloads, rates[1], n)
		}
	}
}

// The intervals of the verdict are about differences that were chosen because they are clear. On average at most 5 % of
// them miss the truth; of the intervals of the tables, more do.
func TestIntervalsOfTheVerdict(t *testing.T) {
	t.Parallel()
	for _, size := range []float64{0, 0.01, 0.03, 0.15} {
		e := manyTables(t, 8, 5)
		n := draws(t, 4)
		truth := func(arm, workload string) float64 {
			if arm == "a1" || arm == "a2" {
				return size
			}
			return 0
		}
		// The shares of intervals that miss, averaged over runs: of those that a table would name, and of the verdict.
		var before, after, named, claimed float64
		r := rand.New(rand.NewPCG(12, uint64(n)))
		w := tables("some differ", e, truth)
		for range n {
			var found, missed, said, wrong float64
			for _, f := range w.Answer(r).Findings {
				at := truth(f.Name, f.Workload)
				out := func(i figures.Interval) bool { return i == nil || at < i[0] || at > i[1] }
				if f.Differs() {
					found++
					if out(f.RelativeInterval) {
						missed++
					}
				}
				if f.Claimable() {
					said++
					if out(f.HeadlineRelativeInterval) {
						wrong++
					}
				}
			}
			before, after = before+missed/max(found, 1), after+wrong/max(said, 1)
			named, claimed = named+found, claimed+said
		}
		before, after = before/float64(n), after/float64(n)
		t.Logf("differences of %g %% in 2 of 7 arms, %d runs: tables name %.1f a run, %.3f of their intervals miss; "+
			"the verdict claims %.1f, %.3f miss", 100*size, n, named/float64(n), before, claimed/float64(n), after)
		if bound := (Rate{Draws: n}).StandardError(0.05); after > 0.05+2*bound {
			t.Errorf("differences of %g %%: %.3f of the verdict's intervals miss", 100*size, after)
		}
	}
}
