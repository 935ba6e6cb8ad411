package stats

import (
	"math"
	"testing"
)

// series gives each value its block.
func series(values ...float64) []Value {
	var s []Value
	for block, v := range values {
		s = append(s, Value{block, v})
	}
	return s
}

func TestWarnZeroSpread(t *testing.T) {
	if w, ok := ZeroSpread([]float64{2, 2, math.NaN(), 2}); !ok || w.Facts["trials"] != 3 || w.Facts["value"] != 2 {
		t.Errorf("%v %+v", ok, w)
	}
	for _, values := range [][]float64{nil, {1}, {1, 2, 1}} {
		if _, ok := ZeroSpread(values); ok {
			t.Errorf("%v has a spread or is too little", values)
		}
	}
}

// TestWarnDrift: S = 41, and p = 2 Phi(-(41-1)/sqrt(10*9*25/18)) = 0.000346619... (scipy.stats.norm). The median
// slope is 0.5 per block (scipy.stats.theilslopes).
func TestWarnDrift(t *testing.T) {
	rising := series(1, 2.2, 2.1, 3, 3.5, 4.1, 3.9, 5, 5.2, 6)
	w, ok := Drift(rising, 100)
	if !ok || math.Abs(w.Facts["p_value"]-0.0003466193511346668) > 1e-12 ||
		!near(w.Facts["change"], 4.5) || !near(w.Facts["relative"], 0.045) {
		t.Errorf("%v %+v", ok, w)
	}
	if _, ok := Drift(rising, 1000); ok {
		t.Error("0.45 % does not matter")
	}
	if _, ok := Drift(rising, 0); ok {
		t.Error("a change relative to a level of 0 is undefined")
	}
	if _, ok := Drift(rising[:7], 100); ok {
		t.Error("seven blocks are too few")
	}
	if _, ok := Drift(series(1, 9, 2, 8, 3, 7, 4, 6, 5, 5), 10); ok {
		t.Error("up and down is no drift")
	}
	if _, ok := Drift(series(3, 3, 3, 3, 3, 3, 3, 3), 3); ok {
		t.Error("a constant does not drift")
	}
	falling := series(6, 5.2, 5, 3.9, 4.1, 3.5, 3, 2.1, 2.2, 1)
	if w, ok := Drift(falling, 100); !ok || w.Facts["change"] >= 0 {
		t.Errorf("%v %+v", ok, w)
	}
}

// TestDriftOfManyBlocks: with thousands of blocks only some pairs are compared, and the change comes out the same.
func TestDriftOfManyBlocks(t *testing.T) {
	var values []float64
	for i := range 2500 {
		values = append(values, 100+0.01*float64(i)+float64(i%7))
	}
	w, ok := Drift(series(values...), 100)
	if !ok || math.Abs(w.Facts["change"]-24.99) > 0.3 || w.Facts["blocks"] != 2500 {
		t.Errorf("%v %+v", ok, w)
	}
	// Values of one block have no slope.
	same := make([]Value, 20)
	for i := range same {
		same[i] = Value{1, float64(i)}
	}
	if w, ok := Drift(same, 10); ok {
		t.Errorf("within one block: %+v", w)
	}
}

func TestWarnBimodal(t *testing.T) {
	w, ok := Bimodal([]float64{10.1, 14.9, 10.2, 15.1, 10, 10.3, 15, 14.8, 10.1, 10.2})
	if !ok || w.Facts["below"] != 6 || w.Facts["above"] != 4 ||
		!near(w.Facts["low"], 10.15) || !near(w.Facts["high"], 14.95) || !near(w.Facts["gap"], 4.5) {
		t.Errorf("%v %+v", ok, w)
	}
	if _, ok := Bimodal([]float64{10, 10, 10, 10, 15, 15, 15, 15}); !ok {
		t.Error("two values are two modes")
	}
	for _, values := range [][]float64{
		{10, 15, 10, 15, 10, 15, 10},
		{10, 11, 12, 13, 14, 15, 16, 17, 18, 19},
		{10.1, 10.2, 10.3, 10.1, 10.2, 10, 10.3, 10.2, 99, 98},
		{10, 10, 10, 10, 10, 10, 10, 10},
		{10, 10, 10, 10, 10.01, 10.01, 10.01, 10.01},
	} {
		if w, ok := Bimodal(values); ok {
			t.Errorf("%v: %+v", values, w)
		}
	}
}

func TestWarnOutlierBlocks(t *testing.T) {
	var trials []Trial
	for block := range 10 {
		effect := math.Sin(float64(block))
		if block == 6 {
			effect = 40
		}
		trials = append(trials, Trial{"a", block, 100 + effect}, Trial{"b", block, 200 + effect},
			Trial{"c", block, 300 + effect})
	}
	// A failed trial is left out.
	trials[0].Value = math.NaN()
	effects := BlockEffects(trials)
	if len(effects) != 10 || effects[6].Block != 6 || effects[6].Shared < 39 {
		t.Fatalf("%+v", effects)
	}
	warnings := OutlierBlocks(effects, 200)
	if len(warnings) != 1 || warnings[0].Facts["block"] != 6 || warnings[0].Facts["relative"] < 0.19 ||
		warnings[0].Facts["distance"] < 6 {
		t.Errorf("%+v", warnings)
	}
	if warnings := OutlierBlocks(effects, 1e6); len(warnings) != 0 {
		t.Errorf("too small to matter: %+v", warnings)
	}
	// One trial that stalled in one of two arms is no odd block.
	trials = nil
	for block := range 10 {
		stall := 0.0
		if block == 6 {
			stall = 100
		}
		trials = append(trials, Trial{"a", block, 100 + math.Sin(float64(block))},
			Trial{"b", block, 200 + math.Cos(float64(block)) + stall})
	}
	if warnings := OutlierBlocks(BlockEffects(trials), 100); len(warnings) != 0 {
		t.Errorf("one stalled trial of two: %+v", warnings)
	}
	if warnings := OutlierBlocks(effects[:7], 200); len(warnings) != 0 {
		t.Errorf("too few: %+v", warnings)
	}
}
