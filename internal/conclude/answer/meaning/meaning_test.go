package meaning

import (
	"math"
	"testing"

	"nearfar/internal/base/stats"
)

func TestTolerance(t *testing.T) {
	of := func(trips ...float64) (points []stats.Point) {
		for i, x := range trips {
			for block, factor := range []float64{0.9, 1, 5} { // medians, so that a stalled trial does not count
				points = append(points, stats.Point{Arm: string(rune('a' + i)), Block: block, X: factor * x, Y: 1})
			}
		}
		return points
	}
	for name, test := range map[string]struct {
		points      []stats.Point
		share, time float64
	}{
		"half of the smallest round trip":  {of(40e-6, 140e-6, 1040e-6), 0.02, 20e-6},
		"whatever arm it is":               {of(1040e-6, 40e-6), 0.02, 20e-6},
		"a small difference":               {of(40e-6, 48e-6), 0.15, 1.2e-6},
		"as the smallest grows":            {of(2, 3), 0.15, 0.15},
		"a large one":                      {of(40e-6, 40e-3), 0.0005, 20e-6},
		"a clock that ran backwards":       {of(-1e-6, 100e-6), 0, 0},
		"no difference":                    {of(40e-6, 40e-6), 0.15, 0},
		"no arm":                           {nil, 0.15, 0},
		"figures that have no difference":  {of(math.NaN(), 40e-6), 0.15, 0},
		"figures that overflow in between": {of(-math.MaxFloat64, math.MaxFloat64), 0.15, 0},
	} {
		share, time := tolerance(test.points)
		if math.Abs(share-test.share) > 0.01*test.share+1e-12 || math.Abs(time-test.time) > 0.01*test.time+1e-12 {
			t.Errorf("%s: %v of the difference, %v s, want %v, %v s", name, share, time, test.share, test.time)
		}
	}
}
