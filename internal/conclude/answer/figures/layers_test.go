package figures

import (
	"testing"

	"nearfar/internal/base/stats"
)

// Layers get verdicts by the rule of comparisons: among 40 layers without a cost, some t-interval alone would exclude
// 0.
func TestLayersAreJudgedTogether(t *testing.T) {
	a := []Layer{
		{Cost: 2, Interval: &Bounds{1, 3}, PValue: new(0.04)}, {Cost: -2, Interval: &Bounds{-3, -1}, PValue: new(0.0001)},
		{Cost: 1, Interval: &Bounds{-1, 3}, PValue: new(0.4)},
		{Cost: 5, PValue: new(0.6), Verdict: Higher, Arm: "far"}, {Cost: 1},
		{Cost: 9, Interval: &Bounds{8, 10}, PValue: new(0.0002), Verdict: NotComparable},
	}
	judgeLayers(a, make([]stats.Cost, len(a)))
	for i, want := range []string{NoDifference, Lower, NoDifference, Higher, NotComparable, NotComparable} {
		if a[i].Verdict != want {
			t.Errorf("layer %d: %+v, want %s", i, a[i], want)
		}
	}
	if a[0].Interval[0] != 0 || !a[0].Widened || a[1].Interval[1] != -1 || *a[0].PValue != 0.08 || *a[3].PValue != 0.6 {
		t.Errorf("%+v", a)
	}
}
