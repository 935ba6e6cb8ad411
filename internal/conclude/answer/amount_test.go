package answer

import (
	"math"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// Digits are those that the interval supports, and no end of an interval becomes 0 that is none.
func TestDigitsThatTheIntervalSupports(t *testing.T) {
	for _, c := range []struct {
		value, low, high float64
		size, between    string
	}{
		{82.18e-6, 24.1e-6, 193.2e-6, "82 us", "24 to 193 us"},
		{4.37e-6, 3.32e-6, 5.41e-6, "4.4 us", "3.3 to 5.4 us"},
		{3.2e-6, 2.5e-6, 4.1e-6, "3.2 us", "2.5 to 4.1 us"},
		{3.1e-6, .31e-6, 12e-6, "3 us", "0.3 to 12 us"},
		{3170e-6, 2830e-6, 3510e-6, "3.17 ms", "2.83 to 3.51 ms"},
		{.0123456e-6, .0123e-6, .0124e-6, "12.35 ns", "12.30 to 12.40 ns"},
		{2e-6, -1e-6, 5e-6, "2.0 us", "-1.0 to +5.0 us"},
		{9e-6, 8.9e-6, math.Inf(1), "9.00 us", "at least 8.90 us"},
		{1e-6, 1e-6, 1e-6, "1.0 us", "1.0 to 1.0 us"},
		{1e-6, math.Inf(-1), math.Inf(1), "1.0 us", ""},
	} {
		i := &figures.Bounds{c.low, c.high}
		r := roundingOf(figures.Quantity{Unit: result.Seconds}, c.value, i)
		if size, between := r.size(c.value), r.between(i, false); size != c.size || between != c.between {
			t.Errorf("%g: %q, %q, want %q, %q", c.value, size, between, c.size, c.between)
		}
	}
	r := roundingOf(figures.Quantity{Unit: result.PerSecond}, 412345, &figures.Bounds{390000, 440000})
	if got := r.size(412345); got != "412,000/s" {
		t.Error(got)
	}
	for got, want := range map[string]string{
		percent(.4, &figures.Bounds{.05, 30}): "40 %", percent(.187, &figures.Bounds{.08, .31}): "19 %",
		percent(-.0042, nil): "0.42 %", percent(1.8, &figures.Bounds{.9, 40}): "200 %",
		ratio(2): "3.0", ratio(11): "12", ratio(1.5): "2.5",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := atLeast(8.21e-6); math.Abs(got-8.3e-6) > 1e-12 {
		t.Error(got)
	}
}
