package cli

import (
	"math"
	"strings"
)

// leastSpread is the least range that a sparkline's height stands for, as a share of the values. Without it, noise of
// a thousandth would fill the height and look like drift.
const leastSpread = 0.05

// sparkline draws the last width values in a column each: the least at the bottom, a gap for NaN.
func sparkline(values []float64, width int, unicode bool) string {
	levels := []rune("_.:-=+*#")
	if unicode {
		levels = []rune("▁▂▃▄▅▆▇█")
	}
	values = values[max(0, len(values)-width):]
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	middle := low/2 + high/2
	if least := leastSpread * math.Abs(middle); high-low < least {
		low, high = middle-least/2, middle+least/2
	}
	var b strings.Builder
	for _, v := range values {
		part := (v - low) / (high - low)
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case math.IsNaN(part): // all are 0
			b.WriteRune(levels[len(levels)/2])
		default:
			b.WriteRune(levels[min(int(part*float64(len(levels))), len(levels)-1)])
		}
	}
	return b.String()
}
