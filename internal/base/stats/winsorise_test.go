package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// stallAt draws trials of the full design and makes one of them take much longer.
func stallAt(arm string, block int, by float64) []Trial {
	r := rand.New(rand.NewPCG(40, 1))
	trials := drawOverlay(r, fullDesign(), []float64{3, 3, 5, 2, 2}, 12, 0, noises[0])
	for i, t := range trials {
		if t.Arm == arm && t.Block == block {
			trials[i].Value += by
		}
	}
	return trials
}

// One stalled trial moves no cost by more than its limit allows, however long it stalls, and the cost stays found.
func TestOneStallDestroysNoLayer(t *testing.T) {
	none := Attribute(fullDesign(), "l2", stallAt("routed", 3, 0))
	for _, by := range []float64{100, 1e6, 1e9} {
		a := Attribute(fullDesign(), "l2", stallAt("routed", 3, by))
		for i, c := range a.Costs {
			was := none.Costs[i]
			if math.Abs(c.Cost.Value-was.Cost.Value) > 0.5 || c.PValue.Value > 0.05 {
				t.Errorf("stall of %g: %s %+v, without it %+v", by, c.Term.Name, c, was)
			}
		}
	}
}

// Trials that are not far off stay as they are, so that costs are plain means.
func TestWinsoriseLeavesTrialsAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	for range 50 {
		var rows table
		for range 10 {
			level := 5 * r.NormFloat64()
			rows = append(rows, [][]float64{{level + r.Float64()}, {level + 3 + r.Float64(), level + 3 + r.Float64()}, nil})
		}
		before := rows.means()
		rows.winsorise()
		for i, row := range rows.means() {
			for arm, v := range row {
				if v != before[i][arm] && !(math.IsNaN(v) && math.IsNaN(before[i][arm])) {
					t.Fatalf("block %d, arm %d: %v was %v", i, arm, v, before[i][arm])
				}
			}
		}
	}
}

// A tool that rounds coarsely gives equal values in most blocks. A step is then no outlier, and a stall is one.
func TestWinsoriseCoarseValues(t *testing.T) {
	var rows table
	for block := range 12 {
		a, b := 20.0, 21.0
		switch block {
		case 3:
			b = 22
		case 5:
			a = 80
		}
		rows = append(rows, [][]float64{{a}, {b}, {23}})
	}
	rows.winsorise()
	if rows[3][1][0] != 22 || rows[5][0][0] > 26 || rows[5][0][0] <= 20 || rows[0][0][0] != 20 {
		t.Errorf("%v", rows)
	}
}

// Several trials of the baseline in a block have the same expectation as one trial of another arm, also if the noise is
// skewed: their mean has, their median has not.
func TestRepeatedBaselineIsNotBiased(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(42, 1))
	d := fullDesign()
	var sum, squares float64
	const runs = 1000
	for range runs {
		var trials []Trial
		for block := range 12 {
			for _, arm := range append([]string{"l2", "l2"}, d.Arms...) {
				trials = append(trials, Trial{arm, block, 10 + math.Exp(0.8*r.NormFloat64())})
			}
		}
		cost := Attribute(d, "l2", trials).Costs[0].Cost.Value
		sum, squares = sum+cost, squares+cost*cost
	}
	mean := sum / runs
	// A median of three lies 0.25 below the mean of this noise.
	if deviation := math.Sqrt(squares) / runs; math.Abs(mean) > 0.02+4*deviation {
		t.Errorf("equal arms differ by %.4f on average, standard error %.4f", mean, deviation)
	}
}
