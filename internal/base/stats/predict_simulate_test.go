package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// hostsModel is a model of hosts on which trials are measured. Scatters are log-normal, as shares of the level.
type hostsModel struct {
	name string
	// block is the effect that the trials of a block share, between the scatter between trials that their length does
	// not change, and within the scatter within trials of length 1, which falls as 1/sqrt(length).
	block, between, within float64
	// stalls is the probability that a trial stalls, whatever its length.
	stalls float64
}

var hostsModels = []hostsModel{
	{"quiet", 0.01, 0.01, 0.005, 0},
	{"scatter between trials", 0.05, 0.04, 0.01, 0},
	{"scatter within trials", 0.05, 0.01, 0.04, 0},
	{"3 % of trials stall", 0.05, 0.03, 0.02, 0.03},
	{"8 % of trials stall", 0.3, 0.05, 0.05, 0.08},
	{"heavy tails", 0.3, 0.6, 0.3, 0.03},
}

// predictable says whether a run of 30 blocks tells how trials scatter. With stalls in 15 % of the differences, and
// with heavy tails, the difference that 10 blocks find depends on few of the 30, so that the error of predictions is
// only reported.
func (m hostsModel) predictable() bool { return m.stalls < 0.05 && m.between < 0.5 }

// trial draws a trial of this length.
func (m hostsModel) trial(r *rand.Rand, block, length float64) float64 {
	v := 20 * math.Exp(block+m.between*r.NormFloat64()+m.within/math.Sqrt(length)*r.NormFloat64())
	if r.Float64() < m.stalls {
		v *= 1 + 2*r.Float64()
	}
	return v
}

// pair draws the trials of an arm and its baseline. The arm's are higher by shift.
func (m hostsModel) pair(r *rand.Rand, blocks int, length, shift float64) Pair {
	var p Pair
	for block := 1; block <= blocks; block++ {
		effect := m.block * r.NormFloat64()
		p.Arm = append(p.Arm, Value{block, m.trial(r, effect, length) + shift})
		p.Baseline = append(p.Baseline, Value{block, m.trial(r, effect, length)})
	}
	return p
}

// foundInFourOfFive is the difference that this many blocks find with probability Power in a table of this many
// comparisons, by the true distribution of the noise.
func (m hostsModel) foundInFourOfFive(r *rand.Rand, blocks, tests int, length float64) float64 {
	const large = 200_000
	off := make([]float64, large)
	for i := range off {
		effect := m.block * r.NormFloat64()
		off[i] = m.trial(r, effect, length) - m.trial(r, effect, length)
	}
	slices.Sort(off)
	k := criticalCount(blocks, Alpha/float64(tests))
	wrong := distuv.Beta{Alpha: float64(k + 1), Beta: float64(blocks - k)}.Quantile(1 - Power)
	return off[int((1-wrong)*large)]
}

// baselineBlocks is the default number of blocks of `nearfar baseline`.
const baselineBlocks = 30

// TestBaselinesPredictLaterRuns: a run of an arm against itself says which difference later runs find four times in
// five. The prediction is compared with the truth, and with what 20 later runs say themselves (the median of their
// Detectable). It must be above what they say about as often as below, whatever the noise, and its interval must hold
// the truth.
func TestBaselinesPredictLaterRuns(t *testing.T) {
	t.Parallel()
	for i, m := range hostsModels {
		wrong := 0.7
		if !m.predictable() {
			wrong = math.NaN()
		} else if m.stalls > 0 {
			wrong = 0.6
		}
		for _, design := range [][2]int{{10, 1}, {20, 1}, {12, 4}} {
			blocks, tests := design[0], design[1]
			r := rand.New(rand.NewPCG(61, uint64(100*i+blocks)))
			truth := m.foundInFourOfFive(r, blocks, tests, 1)
			s := newSimulation(t)
			what := fmt.Sprintf("%s, %d blocks, %d comparisons", m.name, blocks, tests)
			near := s.rate(what+": within 30 % of the truth", wrong+0.14, wrong)
			like := s.rate(what+": within 30 % of 20 later runs", wrong+0.14, wrong)
			above := s.between(what+": above what later runs say", [2]float64{0.4, 0.25}, [2]float64{0.6, 0.75})
			held := s.rate(what+": the interval holds the truth", 0.9, 0.83)
			var ratios []float64
			s.run(func() {
				noise := func(blocks int) Noise {
					p := m.pair(r, blocks, 1, 0)
					return Compare(p.Arm, p.Baseline).Noise.Independent().In(design[0], tests)
				}
				measured := noise(baselineBlocks)
				predicted := measured.Detectable().Value
				ratios = append(ratios, predicted/truth)
				near.add(math.Abs(predicted/truth-1) <= 0.3)
				held.add(measured.DetectableInterval().Contains(truth))
				said := make([]float64, 20)
				for j := range said {
					said[j] = noise(blocks).Detectable().Value
				}
				slices.Sort(said)
				like.add(math.Abs(predicted/median(said)-1) <= 0.3)
				for _, rate := range above {
					rate.add(predicted > median(said))
				}
			})
			slices.Sort(ratios)
			t.Logf("%s: truth %.2f %%; predicted/true: median %.2f, 5 %% %.2f, 95 %% %.2f", what, 5*truth,
				median(ratios), ratios[len(ratios)/20], ratios[len(ratios)*19/20])
		}
	}
}

// TestFoundInFourOfFive: runs with the difference that foundInFourOfFive gives find it in 80 % of cases.
func TestFoundInFourOfFive(t *testing.T) {
	t.Parallel()
	for i, m := range hostsModels[2:4] {
		r := rand.New(rand.NewPCG(63, uint64(i)))
		shift := m.foundInFourOfFive(r, 10, 1, 1)
		s := newSimulation(t)
		found := s.between(m.name, [2]float64{0.79, 0.73}, [2]float64{0.81, 0.87})
		s.run(func() {
			p := m.pair(r, 10, 1, shift)
			for _, rate := range found {
				rate.add(Compare(p.Arm, p.Baseline).Verdict == Higher)
			}
		})
	}
}

// TestScatterByLength: the difference that 20 blocks of trials of another length find, as predicted from trials of the
// lengths 1 and 1/4, against the truth. For longer trials the prediction errs on the side of too large a difference.
func TestScatterByLength(t *testing.T) {
	t.Parallel()
	for i, m := range hostsModels {
		r := rand.New(rand.NewPCG(62, uint64(i)))
		const blocks = 20
		half, four := m.foundInFourOfFive(r, blocks, 1, 0.5), m.foundInFourOfFive(r, blocks, 1, 4)
		wrong := 0.6
		if !m.predictable() {
			wrong = math.NaN()
		}
		s := newSimulation(t)
		shorter := s.rate(m.name+": trials half as long, within 30 %", wrong+0.14, wrong)
		longer := s.rate(m.name+": trials 4 times as long, at most 30 % more than predicted", wrong+0.3, wrong+0.2)
		var logs []float64
		s.run(func() {
			long, short := m.pair(r, baselineBlocks, 1, 0), m.pair(r, baselineBlocks, 0.25, 0)
			a, b := Compare(long.Arm, long.Baseline).Noise, Compare(short.Arm, short.Baseline).Noise
			fit, ok := FitLength(a, b, 1, 0.25)
			if !ok {
				t.Fatal("no fit")
			}
			logs = append(logs, math.Log(a.SD().Value))
			noise := a.Independent().In(blocks, 1)
			shorter.add(math.Abs(noise.Times(fit.Factor(0.5)).Detectable().Value/half-1) <= 0.3)
			longer.add(four <= 1.3*noise.Times(fit.Factor(4)).Detectable().Value)
		})
		var mean, squares float64
		for _, v := range logs {
			mean += v / float64(len(logs))
		}
		for _, v := range logs {
			squares += (v - mean) * (v - mean) / float64(len(logs)-1)
		}
		t.Logf("%s: standard error of ln SD, times sqrt(n): %.2f", m.name, math.Sqrt(squares*baselineBlocks))
	}
}

// TestSD: SD of normal differences, and that a few stalled trials do not move it much.
func TestSD(t *testing.T) {
	var differences []float64
	for i := range 1000 {
		differences = append(differences, 3*distuv.UnitNormal.Quantile((float64(i)+0.5)/1000))
	}
	if sd := NoiseOf(differences).SD(); !sd.Known || math.Abs(sd.Value-3) > 0.1 {
		t.Errorf("SD of normal differences: %v, want 3", sd)
	}
	for i := range 30 {
		differences[i*33] = 1000
	}
	if sd := NoiseOf(differences).SD(); !sd.Known || math.Abs(sd.Value-3) > 0.4 {
		t.Errorf("SD with 3 %% of outliers: %v, want about 3", sd)
	}
	if sd := NoiseOf([]float64{1, 1, 1}).SD(); sd.Known {
		t.Errorf("SD of equal values: %v", sd)
	}
	if sd := NoiseOf(differences).Times(2).SD(); math.Abs(sd.Value/NoiseOf(differences).SD().Value-2) > 1e-9 {
		t.Errorf("scaled by 2: %v", sd)
	}
}

// TestFactor: the extremes of how scatter depends on length.
func TestFactor(t *testing.T) {
	for _, c := range []struct {
		ratio, least, length, want float64
	}{
		{4, 4, 1, 1}, {4, 4, 0.25, 2}, {4, 4, 4, 0.5}, // all within trials
		{1, 1, 0.25, 1}, {1, 1, 4, 1}, {0.7, 1, 0.25, 1}, // all between trials
		{2.5, 1, 4, 1}, {2.5, 1, 0.5, math.Sqrt(1.5)}, // longer trials count only beyond the standard error
		{16, 16, 0.25, 4}, {16, 16, 4, 0.5}, // short trials that scatter even more
	} {
		b := ByLength{Long: 1, Short: 0.25, Ratio: c.ratio, LeastRatio: c.least}
		if got := b.Factor(c.length); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("ratio %v, least %v, length %v: %v, want %v", c.ratio, c.least, c.length, got, c.want)
		}
	}
}

// TestDetectableInterval: with more measured blocks the interval is narrower, and few blocks do not bound it.
func TestDetectableInterval(t *testing.T) {
	of := func(measured, blocks int) (Noise, Interval) {
		var differences []float64
		for i := range measured {
			differences = append(differences, distuv.UnitNormal.Quantile((float64(i)+0.5)/float64(measured)))
		}
		noise := NoiseOf(differences).In(blocks, 1)
		return noise, noise.DetectableInterval()
	}
	width := math.Inf(1)
	for _, measured := range []int{30, 60, 120, 1000} {
		noise, i := of(measured, 10)
		if d := noise.Detectable(); !i.Known || !i.Contains(d.Value) || i.Low <= 0 || !(i.High-i.Low < width) {
			t.Errorf("%d blocks: %+v around %v, before %v wide", measured, i, d, width)
		}
		width = i.High - i.Low
	}
	if width > 0.2 {
		t.Errorf("1000 blocks leave an interval of %v", width)
	}
	if _, i := of(12, 6); !i.Known || !math.IsInf(i.High, 1) {
		t.Errorf("12 blocks bound what 6 find: %+v", i)
	}
	for _, blocks := range []int{0, 5} {
		if _, i := of(30, blocks); i.Known {
			t.Errorf("%d blocks: %+v", blocks, i)
		}
	}
}
