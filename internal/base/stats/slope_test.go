package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// pointsOf makes points of rows: for each block X and Y of each arm in turn.
func pointsOf(rows [][]float64) []Point {
	var points []Point
	for block, row := range rows {
		for arm := range len(row) / 2 {
			points = append(points, Point{Arm: string(rune('a' + arm)), Block: block + 1, X: row[2*arm], Y: row[2*arm+1]})
		}
	}
	return points
}

// TestSlopeOfTwoArms: the slope is the median of the ratios of the two differences, and its interval their order
// statistics, as CompareAll has them for differences.
func TestSlopeOfTwoArms(t *testing.T) {
	var rows [][]float64
	var differences []float64
	for i, ratio := range []float64{2.1, 1.9, 2.0, 2.4, 1.7, 2.2, 1.8, 2.3} {
		dx := 10 + float64(i%3)
		base := 20 + 3*float64(i)
		rows = append(rows, []float64{base, 100 + base, base + dx, 100 + base + ratio*dx})
		differences = append(differences, ratio)
	}
	s := SlopeOf(pointsOf(rows), false)
	slices.Sort(differences)
	want := medianInterval(differences, Confidence)
	if !near(s.Slope.Value, 2.05) || !near(s.Interval.Low, want.Low) || !near(s.Interval.High, want.High) || !want.Known {
		t.Errorf("%+v, want 2.05 and %v", s, want)
	}
	if s.Blocks != 8 || s.Counted != 8 || s.Off != nil {
		t.Errorf("%+v", s)
	}
	if wide := SlopeOf(pointsOf(rows), true); wide.Interval.High < s.Interval.High || wide.Slope != s.Slope {
		t.Errorf("at any time %+v, and for these blocks %+v", wide, s)
	}
}

// TestSlopeOfALine: without noise, slope and intercept are the line's, whatever a block adds to both statistics along
// it, and an arm that lies off is found.
func TestSlopeOfALine(t *testing.T) {
	var rows [][]float64
	for i := range 8 {
		b := float64(i * i % 5)
		row := []float64{}
		for _, x := range []float64{10, 60, 510, 200} {
			row = append(row, x+b, 48+3*(x+b))
		}
		rows = append(rows, row)
	}
	s := SlopeOf(pointsOf(rows), false)
	for what, got := range map[string]float64{
		"slope": s.Slope.Value - 3, "low": s.Interval.Low - 3, "high": s.Interval.High - 3,
		"intercept": s.Intercept.Value - 48, "its low": s.InterceptInterval.Low - 48,
	} {
		if math.Abs(got) > 1e-6 {
			t.Errorf("%s is off by %v: %+v", what, got, s)
		}
	}
	if len(s.Off) != 4 || slices.ContainsFunc(s.Off, OffLine.Surely) {
		// Rounding is no deviation.
		for _, o := range s.Off {
			if math.Abs(o.By.Value) > 1e-6 {
				t.Errorf("%+v", s.Off)
			}
		}
	}
	r := rand.New(rand.NewPCG(26, 1))
	for _, row := range rows {
		row[7] += 40 // the last arm
		for i := range row {
			row[i] += 0.01 * r.NormFloat64()
		}
	}
	s = SlopeOf(pointsOf(rows), false)
	last := s.Off[len(s.Off)-1]
	if last.Arm != "d" || !last.Surely() || math.Abs(last.By.Value-40) > 0.5 {
		t.Errorf("%+v", s.Off)
	}
}

// TestGainOfOffLine: no errors of the arms from 0 to 1 put an arm further off the line than its gain, and some put it
// nearly as far.
func TestGainOfOffLine(t *testing.T) {
	for _, places := range [][]float64{{10, 60, 510}, {10, 60, 510, 200}, {0, 1, 2, 3, 4}} {
		most, gains := make([]float64, len(places)), make([]float64, len(places))
		for errors := range 1 << len(places) { // bit by bit: 0 or 1 for each arm
			var rows [][]float64
			for range 8 {
				var row []float64
				for arm, x := range places {
					row = append(row, x, 48+3*x+float64(errors>>arm&1))
				}
				rows = append(rows, row)
			}
			s := SlopeOf(pointsOf(rows), false)
			for i, o := range s.Off {
				most[i], gains[i] = max(most[i], math.Abs(o.By.Value)), o.Gain
			}
		}
		for i := range places {
			if most[i] > gains[i]*(1+1e-9)+1e-9 || most[i] < gains[i]*(1-1e-9)-1e-9 {
				t.Errorf("%v: arm %d is off by up to %v, and its gain is %v", places, i, most[i], gains[i])
			}
		}
	}
}

func TestSlopeWithoutAnswer(t *testing.T) {
	nan := math.NaN()
	line := func(blocks int) (rows [][]float64) {
		for i := range blocks {
			rows = append(rows, []float64{10 + 0.1*float64(i%4), 30, 20, 61 + 0.1*float64(i%3)})
		}
		return rows
	}
	same := [][]float64{}
	for i := range 12 {
		same = append(same, []float64{10 + float64(i%5), 30, 10 + float64((i+3)%5), 31})
	}
	for _, test := range []struct {
		name            string
		rows            [][]float64
		slope, interval bool
	}{
		{"nothing", nil, false, false},
		{"one block", line(1), false, false},
		{"five blocks", line(5), true, false},
		{"six blocks", line(6), true, true},
		{"one arm", [][]float64{{1, 2}, {3, 4}, {5, 6}}, false, false},
		{"an arm is missing", [][]float64{{1, 2, nan, 4}, {1, 2, nan, 4}, {1, 2, nan, 4}}, false, false},
		{"X is the same", [][]float64{{1, 2, 1, 4}, {1, 2, 1, 4}, {1, 2, 1, 4}}, false, false},
		{"X may be the same", same, true, false},
	} {
		s := SlopeOf(pointsOf(test.rows), false)
		if s.Slope.Known != test.slope || s.Interval.Known != test.interval {
			t.Errorf("%s: %+v", test.name, s)
		}
	}
}

// TestSlopeKeepsItsShape: units, the order of points, and what a block adds along the line change nothing; nothing is
// NaN whatever a broken tool prints.
func TestSlopeKeepsItsShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points, scaled []Point
		arms := rapid.IntRange(1, 5).Draw(t, "arms")
		for block := range rapid.IntRange(0, 14).Draw(t, "blocks") {
			for arm := range arms {
				if rapid.IntRange(0, 9).Draw(t, "failed") == 0 {
					continue
				}
				x := rapid.Float64Range(0, 100).Draw(t, "x") + 50*float64(arm)
				y := rapid.Float64Range(0, 100).Draw(t, "y")
				name := string(rune('a' + arm))
				points = append(points, Point{name, block, x, y})
				scaled = append(scaled, Point{name, block, 8 * x, 2 * y})
			}
		}
		a, b := SlopeOf(points, false), SlopeOf(scaled, false)
		same := cmpopts.EquateApprox(1e-6, 1e-6)
		if a.Slope.Known != b.Slope.Known || !cmp.Equal(a.Slope.Value, 4*b.Slope.Value, same) ||
			!cmp.Equal(a.Interval.High, 4*b.Interval.High, same) || !cmp.Equal(2*a.Intercept.Value, b.Intercept.Value, same) {
			t.Fatalf("%+v became %+v", a, b)
		}
		if i := a.Interval; i.Known && !i.Contains(a.Slope.Value) {
			t.Fatalf("%v is not in %v", a.Slope, i)
		}
		if x := a.Across; x.Known && (arms < 3 || x.Low > a.Interval.Low || x.High < a.Interval.High) {
			t.Fatalf("%v of %d arms is within %v", x, arms, a.Interval)
		}
		wild := slices.Clone(points)
		for i := range wild {
			v := rapid.SampledFrom([]float64{wild[i].Y, 0, math.NaN(), math.Inf(1), math.MaxFloat64, 5e-324}).Draw(t, "wild")
			wild[i].Y = v
			if rapid.Bool().Draw(t, "both") {
				wild[i].X = v
			}
		}
		w := SlopeOf(wild, true)
		for _, v := range []float64{
			w.Slope.Value, w.Interval.Low, w.Interval.High, w.Intercept.Value, w.Across.Low, w.Across.High,
		} {
			if math.IsNaN(v) {
				t.Fatalf("%+v", w)
			}
		}
	})
}

// world is a run of known truth: the places of its arms in X, the slope, and the noise of both statistics.
type world struct {
	name   string
	places []float64
	slope  float64
	// noiseX and noiseY are what the noise is multiplied by.
	noiseX, noiseY float64
	draw           func(*rand.Rand) float64
}

// draw makes a run. Blocks add to all of their arms, to each statistic for itself, far more than the noise.
func (w world) run(r *rand.Rand, blocks int) []Point {
	var points []Point
	for block := range blocks {
		driftX, driftY := 5*r.NormFloat64(), 20*r.NormFloat64()
		for arm, place := range w.places {
			points = append(points, Point{
				Arm: string(rune('a' + arm)), Block: block,
				X: place + driftX + w.noiseX*w.draw(r), Y: 48 + w.slope*place + driftY + w.noiseY*w.draw(r),
			})
		}
	}
	return points
}

// TestCoverageOfSlope: how often the interval of a slope contains the truth, with noise in both statistics.
func TestCoverageOfSlope(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(26, 2))
	for _, noise := range noises {
		for _, w := range []world{
			{"two arms", []float64{20, 28}, 40, 1, 10, nil},
			{"two arms, X as noisy as Y", []float64{20, 28}, 2, 1, 2, nil},
			{"three wires", []float64{20, 120, 1020}, 1, 2, 4, nil},
			{"five arms close to each other", []float64{20, 24, 26, 30, 34}, 10, 1, 5, nil},
		} {
			w.draw = noise.draw
			for _, blocks := range []int{8, 12, 40} {
				s := newSimulation(t)
				covers := s.rate(fmt.Sprintf("%s, %s, %d blocks", w.name, noise.name, blocks), 0.945, 0.91)
				s.run(func() { covers.add(SlopeOf(w.run(r, blocks), false).Interval.Contains(w.slope)) })
			}
		}
	}
}

// TestCoverageAcrossArms: arms have something of their own, which is the same in all blocks. The interval of the noise
// then misses the slope of the line, the more often the more blocks there are, and Across does not.
func TestCoverageAcrossArms(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(26, 6))
	for _, w := range []world{
		{"three wires", []float64{20, 120, 1020}, 40, 2, 4, noises[0].draw},
		{"six paths", []float64{15, 16, 20, 30, 31, 32}, 10, 1, 5, noises[0].draw},
	} {
		for _, blocks := range []int{8, 40} {
			for _, own := range []float64{0, 5, 50} {
				s := newSimulation(t)
				name := fmt.Sprintf("%s, %d blocks, arms' own %g", w.name, blocks, own)
				covers := s.rate(name, 0.945, 0.91)
				s.run(func() {
					points, off := w.run(r, blocks), map[string]float64{}
					for i := range points {
						arm := points[i].Arm
						if _, drawn := off[arm]; !drawn {
							off[arm] = own * r.NormFloat64()
						}
						points[i].Y += off[arm]
					}
					covers.add(SlopeOf(points, false).Across.Contains(w.slope))
				})
			}
		}
	}
}

// TestCoverageOfIntercept: the same for the intercept, where it is not far from the arms.
func TestCoverageOfIntercept(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(26, 3))
	normal := noises[0].draw
	for _, w := range []world{
		{"two arms", []float64{20, 60}, 3, 1, 3, normal},
		{"three wires", []float64{20, 120, 1020}, 1, 2, 4, normal},
	} {
		for _, blocks := range []int{12, 40} {
			s := newSimulation(t)
			// What a block adds to Y alone is in its intercept, which scatters by that.
			covers := s.rate(fmt.Sprintf("%s, %d blocks", w.name, blocks), 0.945, 0.91)
			s.run(func() { covers.add(SlopeOf(w.run(r, blocks), false).InterceptInterval.Contains(48)) })
		}
	}
}

// TestLevelOfOff: how often an arm that lies on the line is said to be off.
func TestLevelOfOff(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(26, 4))
	w := world{"four arms", []float64{20, 40, 120, 200}, 2, 1, 2, noises[0].draw}
	for _, blocks := range []int{12, 40} {
		s := newSimulation(t)
		alarm := s.rate(fmt.Sprintf("%d blocks", blocks), 0.05, 0.09)
		s.run(func() { alarm.add(slices.ContainsFunc(SlopeOf(w.run(r, blocks), false).Off, OffLine.Surely)) })
	}
}

// TestNoisyXDoesNotFlatten: where X is noisy, least squares of Y on X gives too flat a line. SlopeOf does not.
func TestNoisyXDoesNotFlatten(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(26, 5))
	w := world{"", []float64{20, 22, 24, 26}, 10, 1.5, 3, noises[0].draw}
	var ours, theirs []float64
	for range 300 {
		points := w.run(r, 30)
		ours = append(ours, SlopeOf(points, false).Slope.Value)
		theirs = append(theirs, flattened(points, len(w.places)))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	if m := median(ours); m < 9.6 || m > 10.4 {
		t.Errorf("the median slope is %.2f, and 10 is true", m)
	}
	if m := median(theirs); m > 8.5 {
		t.Errorf("least squares gives %.2f: this world does not test errors in X", m)
	}
}

// flattened is the slope by least squares within blocks.
func flattened(points []Point, arms int) float64 {
	var xy, xx float64
	for block := range slices.Chunk(points, arms) {
		var mx, my float64
		for _, p := range block {
			mx, my = mx+p.X/float64(arms), my+p.Y/float64(arms)
		}
		for _, p := range block {
			xy += (p.X - mx) * (p.Y - my)
			xx += (p.X - mx) * (p.X - mx)
		}
	}
	return xy / xx
}
