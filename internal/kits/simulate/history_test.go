package simulate

import (
	"math"
	"math/rand/v2"
	"testing"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/conclude/gate"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// twoRuns is two runs of one arm, and what a history of other runs knows about how runs scatter.
type twoRuns struct {
	experiment *experiment.Experiment
	// within is the scatter of a trial within its run, between that of a run, as standard deviations of logarithms.
	// The runs of the history scatter within by quiet.
	within, between, quiet float64
	// history is the number of other runs.
	history int
}

// run draws the p50 of the trials of a run, in seconds.
func (w twoRuns) run(r *rand.Rand, within float64) []float64 {
	level := 20e-6 * math.Exp(w.between*r.NormFloat64())
	values := make([]float64, w.experiment.Schedule.Blocks)
	for i := range values {
		values[i] = level * math.Exp(within*r.NormFloat64())
	}
	return values
}

// side is a run as a side of a gate.
func (w twoRuns) side(name string, values []float64) *contrast.Side {
	s := &contrast.Side{Name: name, Source: name, Kind: contrast.Run, ID: name, Experiment: w.experiment,
		State: "complete"}
	for i, v := range values {
		s.Trials = append(s.Trials, result.Trial{Trial: i + 1, Block: i + 1, Arm: "a0", Workload: "rr",
			Tool: result.ToolVersion{Name: "native"}, Mode: "rr", Protocol: "tcp", Definition: result.DefinitionRTT,
			ReportedAs: result.DefinitionRTT, Metrics: []result.Metric{RTT(result.P50, v)}})
	}
	return s
}

// gate judges the rule of two runs with the history's scatter.
func (w twoRuns) gate(t *testing.T, base, other []float64, scatter stats.Scatter, rule string) gate.Result {
	t.Helper()
	c, err := contrast.Match(w.side("BASE", base), w.side("NEW", other))
	if err != nil {
		t.Fatal(err)
	}
	c.UseScatter(func(*contrast.Side, string, string, figures.Quantity) stats.Scatter { return scatter })
	rules, err := gate.ParseAll([]gate.Written{{Text: rule}})
	if err != nil {
		t.Fatal(err)
	}
	return gate.Evaluate(c, rules, false)
}

// falseFails is how often a gate fails without a true difference.
func (w twoRuns) falseFails(t *testing.T, n int) (fails Rate) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, uint64(n)))
	for range n {
		var medians []float64
		for range w.history {
			medians = append(medians, stats.Summarize(w.run(r, w.quiet)).Median.Value)
		}
		fails.Draws++
		judged := w.gate(t, w.run(r, w.within), w.run(r, w.within), stats.ScatterOf(medians), "rr rtt.p50 > +0%")
		if judged.Verdict == gate.Fail {
			fails.Hits++
		}
	}
	return fails
}

// TestGateWithHistory: a history takes the trials' own scatter from no gate. With fewer trials than an interval takes,
// a gate with seven quiet runs in its history failed in 0.072 to 0.458 of runs without a difference; where trials and
// runs scatter alike, in up to 0.039.
func TestGateWithHistory(t *testing.T) {
	t.Parallel()
	for _, blocks := range []int{5, 6, 10, 20} {
		for _, s := range []struct{ within, between, quiet float64 }{
			{0.05, 0, 0.002}, {0.05, 0, 0.01}, {0.05, 0.02, 0.01}, {0.05, 0.03, 0.05},
		} {
			for _, runs := range []int{7, 30} {
				w := twoRuns{experiment: oneArm(t, blocks), within: s.within, between: s.between, quiet: s.quiet, history: runs}
				n := draws(t, 100)
				r := w.falseFails(t, n)
				t.Logf("%d trials that scatter by %g, runs by %g, %d runs of trials that scatter by %g: %s of %d", blocks, s.within,
					s.between, runs, s.quiet, r, n)
				if !r.AtMost(0.025) {
					t.Errorf("%d trials, %+v, %d runs: the gate fails in %s of %d", blocks, s, runs, r, n)
				}
			}
		}
	}
}

// TestQuietHistoryOfAScatteringRun: five trials of 20 and 30 us have no interval, whatever seven quiet runs say.
func TestQuietHistoryOfAScatteringRun(t *testing.T) {
	t.Parallel()
	w := twoRuns{experiment: oneArm(t, 5)}
	scatter := stats.ScatterOf([]float64{20e-6, 20.1e-6, 19.9e-6, 20e-6, 20.05e-6, 19.95e-6, 20.1e-6})
	other := []float64{20e-6, 30e-6, 30e-6, 20e-6, 30e-6}
	base := []float64{20e-6, 20.1e-6, 20e-6, 19.9e-6, 20.05e-6}
	for _, known := range []stats.Scatter{{}, scatter} {
		r := w.gate(t, base, other, known, "rr rtt.p50 > +5%")
		if c := r.Checks[0]; r.Verdict != gate.Inconclusive || c.Interval != nil {
			t.Errorf("with %d runs: %s %v", known.Runs, r.Verdict, c.Interval)
		}
	}
}

func oneArm(t *testing.T, blocks int) *experiment.Experiment {
	t.Helper()
	e := equalArms(t, 1, 6)
	e.Schedule.Blocks = blocks
	return e
}
