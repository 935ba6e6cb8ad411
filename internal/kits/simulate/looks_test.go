package simulate

import (
	"math"
	"math/rand/v2"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// upTo gives the trials of the first blocks.
func upTo(trials []result.Trial, block int) (some []result.Trial) {
	for _, t := range trials {
		if t.Block <= block {
			some = append(some, t)
		}
	}
	return some
}

// sawDifference says whether somebody who looks after each block sees a difference, if the answer is that of a run in
// this state.
func sawDifference(e *experiment.Experiment, trials []result.Trial, state string) bool {
	for block := 6; block <= e.Schedule.Blocks; block++ {
		if differs(answer.Make(answer.Input{Experiment: e, Trials: upTo(trials, block), State: state})) {
			return true
		}
	}
	return false
}

// Whoever watches a run of equal arms, and stops it at the first difference, has a false one in at most 5 % of runs of
// any length.
func TestLooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arms, blocks, few int }{{2, 12, 30}, {2, 40, 6}, {2, 100, 1}, {8, 12, 3}} {
		e := equalArms(t, c.arms, c.blocks)
		levels := map[string]float64{}
		for _, arm := range e.Arms {
			levels[arm.Name] = 20e-6
		}
		w := steady("equal", e, levels, 0.03, 0.05)
		n := draws(t, c.few)
		if c.blocks > 40 {
			n = min(n, 400)
		}
		r := rand.New(rand.NewPCG(30, uint64(c.blocks)))
		before, now := Rate{Draws: n}, Rate{Draws: n}
		for range n {
			trials := w.Run(r)
			if sawDifference(e, trials, "complete") {
				before.Hits++
			}
			if sawDifference(e, trials, "running") {
				now.Hits++
			}
		}
		t.Logf("%d arms, %d blocks, %d runs: looks see a false difference in %s with the analysis of a complete run, in "+
			"%s now", c.arms, c.blocks, n, before, now)
		if !now.AtMost(0.05) {
			t.Errorf("%d arms, %d blocks: looks see a false difference in %s of %d runs", c.arms, c.blocks, now, n)
		}
	}
}

// A run that ends by itself when it knows enough finds a false difference in at most 5 % of runs of equal arms, its
// intervals hold, and it finds a large difference early.
func TestRunsUntilKnown(t *testing.T) {
	t.Parallel()
	aim, err := figures.ParseAim("2%")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arms  int
		above float64
	}{{2, 0}, {8, 0}, {2, 0.15}, {2, 0.02}} {
		e := equalArms(t, c.arms, 60)
		e.Schedule.Until = aim.Text
		levels := map[string]float64{}
		for _, arm := range e.Arms {
			levels[arm.Name] = 20e-6
		}
		levels["a1"] *= 1 + c.above
		w := steady("until", e, levels, 0.02, 0.05)
		n := draws(t, 4)
		r := rand.New(rand.NewPCG(31, uint64(c.arms)))
		wrong, missed, found, blocks := Rate{Draws: n}, Rate{}, Rate{Draws: n}, 0
		for range n {
			trials := w.Run(r)
			var some []result.Trial
			block := 1
			for ; block <= e.Schedule.Blocks; block++ {
				some = upTo(trials, block)
				if figures.Settled(figures.Run{Experiment: e, Trials: some, AnyTime: true}, aim) {
					break
				}
			}
			blocks += min(block, e.Schedule.Blocks)
			a := answer.Make(answer.Input{Experiment: e, Trials: some, State: "complete"})
			falsely, any := false, false
			for _, f := range a.Comparisons {
				truth := levels[f.Arm]/levels["a0"] - 1
				is := f.Verdict == figures.Higher || f.Verdict == figures.Lower
				falsely = falsely || is && (truth == 0 || (f.Verdict == figures.Higher) != (truth > 0))
				any = any || is && f.Arm == "a1"
				missed.Draws++
				if i := f.RelativeInterval; i == nil || truth < i[0] || truth > i[1] {
					missed.Hits++
				}
			}
			if falsely {
				wrong.Hits++
			}
			if any {
				found.Hits++
			}
		}
		t.Logf("%d arms, a1 %g %% above, until 2 %%, %d runs: %.1f blocks on average, false difference in %s, a1 found "+
			"in %s, %s of the intervals miss", c.arms, 100*c.above, n, float64(blocks)/float64(n), wrong, found, missed)
		if !wrong.AtMost(0.05) || !missed.AtMost(0.05) {
			t.Errorf("%d arms: false difference in %s, %s of the intervals miss", c.arms, wrong, missed)
		}
		if c.above > 0.1 && (!found.AtLeast(0.95) || math.Abs(float64(blocks)/float64(n)) > 12) {
			t.Errorf("15 %% are found in %s after %.1f blocks on average", found, float64(blocks)/float64(n))
		}
	}
}
