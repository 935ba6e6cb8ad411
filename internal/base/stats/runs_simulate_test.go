package stats

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// drawRuns draws the trials of runs. between is the standard deviation of the runs' levels around the given one, within
// the standard deviation of the trials inside a run, both relative to the level.
func drawRuns(r *rand.Rand, runs, trials int, level, between, within float64,
	draw func(*rand.Rand) float64) [][]float64 {
	all := make([][]float64, runs)
	for i := range all {
		own := level * (1 + between*draw(r))
		for range trials {
			all[i] = append(all[i], own*(1+within*r.NormFloat64()))
		}
	}
	return all
}

const (
	runTrials = 10
	withinRun = 0.03
)

// differ says whether two sides are called different.
func differ(c RunComparison) bool { return c.Verdict == Higher || c.Verdict == Lower }

// TestFalseDifferenceOfIdenticalRuns: how often two sides of identical runs are called different. At most 5 % if the
// result applies to runs. Two single runs without a history are called different more often the more runs scatter; the
// result then applies to these runs alone, and nothing is claimed for it here.
func TestFalseDifferenceOfIdenticalRuns(t *testing.T) {
	t.Parallel()
	normal := noises[0].draw
	for _, between := range []float64{0, 0.03, 0.10} {
		for _, design := range []struct {
			name               string
			base, arm, history int
		}{
			{"one run a side", 1, 1, 0},
			{"one run a side, 5 runs in the history", 1, 1, 5},
			{"one run a side, 10 runs in the history", 1, 1, 10},
			{"one run a side, 30 runs in the history", 1, 1, 30},
			{"5 runs against 1", 5, 1, 0},
			{"2 runs a side", 2, 2, 0}, {"3 runs a side", 3, 3, 0}, {"5 runs a side", 5, 5, 0},
			{"8 runs a side", 8, 8, 0},
			{"10 runs a side", 10, 10, 0},
		} {
			seed := uint64(1000*between) + uint64(100*design.base+10*design.arm+design.history)
			r := rand.New(rand.NewPCG(60, seed))
			s := newSimulation(t)
			what := fmt.Sprintf("runs scatter by %2.0f %%, %s", 100*between, design.name)
			theseRuns := design.base+design.arm == 2 && design.history == 0
			wrong := 0.09
			if theseRuns {
				wrong = math.NaN()
			}
			alarm := s.rate(what, 0.052, wrong)
			s.run(func() {
				pair := Runs{
					Arm:      drawRuns(r, design.arm, runTrials, 100, between, withinRun, normal),
					Baseline: drawRuns(r, design.base, runTrials, 100, between, withinRun, normal),
				}
				if design.history > 0 {
					medians, _ := runMedians(drawRuns(r, design.history, runTrials, 100, between, withinRun, normal))
					s := ScatterOf(medians)
					pair.Between = s.Add(s)
				}
				c := CompareRuns([]Runs{pair})[0]
				alarm.add(differ(c))
				if (c.Scope == TheseRuns) != theseRuns {
					t.Fatalf("%s: the scope is %s", what, c.Scope)
				}
			})
		}
	}
}

// TestPowerOfRuns: how often a true change is found with this many runs on each side. The expected power is the table
// in docs/statistics.md: 0.03 less is right, 0.1 less is wrong.
func TestPowerOfRuns(t *testing.T) {
	t.Parallel()
	normal := noises[0].draw
	for _, test := range []struct {
		between, change float64
		power           map[int]float64
	}{
		{0, 0.05, map[int]float64{2: 0.33, 3: 0.93, 5: 1, 8: 1, 10: 1}},
		{0, 0.10, map[int]float64{2: 0.69, 3: 1, 5: 1, 8: 1, 10: 1}},
		{0.03, 0.05, map[int]float64{3: 0.21, 5: 0.53, 8: 0.81, 10: 0.76}},
		{0.03, 0.10, map[int]float64{2: 0.19, 3: 0.66, 5: 0.97, 8: 1, 10: 1}},
		{0.03, 0.20, map[int]float64{2: 0.43, 3: 0.98, 5: 1, 8: 1, 10: 1}},
		{0.10, 0.10, map[int]float64{5: 0.22, 8: 0.39, 10: 0.31}},
		{0.10, 0.20, map[int]float64{3: 0.28, 5: 0.66, 8: 0.91, 10: 0.88}},
	} {
		for _, n := range slices.Sorted(maps.Keys(test.power)) {
			seed := uint64(1000*test.between) + uint64(100*test.change) + uint64(1000*n)
			r := rand.New(rand.NewPCG(61, seed))
			s := newSimulation(t)
			what := fmt.Sprintf("runs scatter by %2.0f %%, a change of %+.0f %%, %d runs a side",
				100*test.between, 100*test.change, n)
			found := s.rate(what, test.power[n]-0.03, test.power[n]-0.1)
			s.run(func() {
				c := CompareRuns([]Runs{{
					Arm:      drawRuns(r, n, runTrials, 100*(1+test.change), test.between, withinRun, normal),
					Baseline: drawRuns(r, n, runTrials, 100, test.between, withinRun, normal),
				}})[0]
				found.add(c.Verdict == Higher)
			})
		}
	}
}

// TestCoverageOfRuns: how often the intervals of runs contain the truth, for several distributions of the scatter
// between runs. Two modes are the weak case if runs of one side scatter three times as much.
func TestCoverageOfRuns(t *testing.T) {
	t.Parallel()
	for k, noise := range noises {
		for _, spread := range []float64{1, 3} {
			for _, counts := range [][2]int{{2, 2}, {3, 3}, {4, 4}, {5, 5}, {3, 5}, {1, 5}} {
				if counts[0] == 1 && spread != 1 {
					continue // a single run has no scatter of its own
				}
				bounds := [2]float64{0.90, 0.84}
				switch {
				case spread == 3 && noise.name == "log-normal":
					bounds = [2]float64{0.85, 0.78}
				case spread == 3 && strings.HasPrefix(noise.name, "two modes"):
					bounds = [2]float64{0.72, 0.64}
				}
				r := rand.New(rand.NewPCG(62, uint64(1000*k+100*counts[0]+10*counts[1])+uint64(spread)))
				s := newSimulation(t)
				held := s.rate(fmt.Sprintf("%s, %v runs, spread %g", noise.name, counts, spread), bounds[0], bounds[1])
				s.run(func() {
					arm := drawRuns(r, counts[0], 1, 100, 0.03*spread, 0, centred(noise.draw, noise.mean))
					baseline := drawRuns(r, counts[1], 1, 100, 0.03, 0, centred(noise.draw, noise.mean))
					if c := CompareRuns([]Runs{{Arm: arm, Baseline: baseline}})[0]; c.Interval.Known {
						held.add(c.Interval.Contains(0))
					}
				})
			}
		}
	}
}

// centred shifts noise to a mean of 0.
func centred(draw func(*rand.Rand) float64, mean float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return draw(r) - mean }
}

// TestAlternativesForFewRuns: how often Welch's t calls identical normal runs different. With NEARFAR_SIMULATE it also
// has the figures of docs/adr/0027-runs.md for the pooled t and the exact test.
func TestAlternativesForFewRuns(t *testing.T) {
	t.Parallel()
	normal := noises[0].draw
	for _, spread := range []float64{1, 3} {
		for _, counts := range [][2]int{{2, 2}, {3, 3}, {5, 5}, {3, 6}, {6, 3}} {
			r := rand.New(rand.NewPCG(63, uint64(100*counts[0]+10*counts[1])+uint64(spread)))
			s := newSimulation(t)
			what := fmt.Sprintf("%v runs, spread %g", counts, spread)
			alarms := []*rate{s.rate(what+": false, Welch", 0.06, 0.085)}
			var found []*rate
			if s.least > 0 {
				for _, name := range []string{"pooled", "exact"} {
					alarms = append(alarms, s.rate(what+": false, "+name, 0.06, math.NaN()))
				}
				for _, name := range []string{"Welch", "pooled", "exact"} {
					found = append(found, s.rate(what+": 4 SD found, "+name, 0.5, math.NaN()))
				}
			}
			s.run(func() {
				alike := rejections(drawSamples(r, counts, 0, spread, normal))
				for i, rejects := range alike[:len(alarms)] {
					alarms[i].add(rejects)
				}
				if found == nil {
					return
				}
				for i, rejects := range rejections(drawSamples(r, counts, 4, spread, normal)) {
					found[i].add(rejects)
				}
			})
		}
	}
}

// rejections says whether Welch's t, the pooled t and the exact Mann-Whitney test find a difference.
func rejections(s Samples) [3]bool {
	welched, pooled, exact := newRunT(s, Scatter{}), newRunT(s, Scatter{}), newTwoSample(s)
	n, m := float64(len(s.Arm)), float64(len(s.Baseline))
	va, vb := Summarize(s.Arm).Stddev.Value, Summarize(s.Baseline).Stddev.Value
	pooled.freedom = n + m - 2
	pooled.absolute.deviation = math.Sqrt(((n-1)*va*va + (m-1)*vb*vb) / (n + m - 2) * (1/n + 1/m))
	pooled.logarithmic = changeOf{}
	notAbove := exact.differences.count(0, true)
	notBelow := exact.pairs() - exact.differences.count(0, false)
	return [3]bool{
		welched.p().Value <= Alpha, pooled.p().Value <= Alpha, exact.null.p(min(notAbove, notBelow)) <= Alpha,
	}
}
