package answer

import (
	"math"
	"strings"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// rounding is how a figure is written: its unit, and how many digits its interval supports.
type rounding struct {
	scale result.Scale
	// decimals counts the digits behind the point; negative ones are zeros before it.
	decimals int
}

// supported is how many significant digits half of an interval has, and a figure without an interval.
const supported = 2

// roundingOf writes a figure so that half of its interval has one or two significant digits: further digits of the
// figure are not known. A figure without an interval has two itself.
func roundingOf(q figures.Quantity, value float64, i figures.Interval) rounding {
	values := []float64{value}
	if i != nil {
		for _, end := range i {
			if !math.IsInf(end, 0) {
				values = append(values, end)
			}
		}
	}
	s := scaleInWords(q, values)
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v)/s.Factor)
	}
	half := math.Abs(value) / s.Factor
	if i != nil {
		half = halfOf(value, i) / s.Factor
	}
	decimals := decimalsOf(half, supported)
	if i != nil && decimals > 0 && half*math.Pow10(decimals) >= mantissa {
		decimals--
	}
	// Four digits are enough for a person, however narrow the interval is.
	return rounding{s, min(decimals, decimalsOf(largest, 2*supported))}
}

// mantissa: from half a width of 35.5 on, its second digit says nothing about a figure with a fraction. (The rule of
// the Particle Data Group, Review of Particle Physics, introduction.)
const mantissa = 35.5

// halfOf is half of the interval's width, or the distance to its only bound.
func halfOf(value float64, i figures.Interval) float64 {
	switch i.Unbounded() {
	case "":
		return (i[1] - i[0]) / 2
	case figures.UnboundedAbove:
		return math.Abs(value - i[0])
	case figures.UnboundedBelow:
		return math.Abs(i[1] - value)
	}
	return math.Abs(value)
}

// decimalsOf is how many digits behind the point a value needs to have this many significant ones.
func decimalsOf(v float64, significant int) int {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return significant - 1
	}
	return significant - 1 - int(math.Floor(math.Log10(v)+1e-9))
}

// points is the unit of differences between shares.
const points = "percentage points"

// unscaled writes plain numbers.
func unscaled() result.Scale { return result.Scale{Factor: 1} }

// scaleInWords is the scale of a sentence: shares are percentage points.
func scaleInWords(q figures.Quantity, values []float64) result.Scale {
	if q.Metric == result.Loss || q.Metric == MetricFailures {
		return result.Scale{Factor: 0.01, Unit: points}
	}
	return result.ScaleOf(q.Unit, values...)
}

// mostDecimals bounds the digits behind the point.
const mostDecimals = 6

// number writes a value without its unit and, if negative, with a minus.
func (r rounding) number(v float64) string {
	v /= r.scale.Factor
	decimals := r.decimals
	if v != 0 && math.Abs(v) < 0.5*math.Pow10(-decimals) {
		decimals = min(decimalsOf(math.Abs(v), 1), mostDecimals) // an end of an interval is not 0 because the other is large
	}
	if decimals < 0 {
		unit := math.Pow10(-decimals)
		v = math.Round(v/unit) * unit
	}
	text := result.Decimal(v, max(0, min(decimals, mostDecimals)))
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return thousands(text)
}

// thousands separates the thousands of numbers from 10,000 on.
func thousands(text string) string {
	whole, rest, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if len(whole) < 5 {
		return text
	}
	var b strings.Builder
	if strings.HasPrefix(text, "-") {
		b.WriteByte('-')
	}
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if point {
		b.WriteString("." + rest)
	}
	return b.String()
}

// signed is number with a plus sign for what is not negative.
func (r rounding) signed(v float64) string {
	text := r.number(v)
	if !strings.HasPrefix(text, "-") && strings.Trim(text, "0.,") != "" {
		text = "+" + text
	}
	return text
}

// with adds the unit.
func (r rounding) with(number string) string {
	if strings.HasPrefix(r.scale.Unit, "/") {
		return number + r.scale.Unit
	}
	return strings.TrimSpace(number + " " + r.scale.Unit)
}

// size writes the size of a difference: "82 us".
func (r rounding) size(v float64) string { return r.with(r.number(math.Abs(v))) }

// between writes an interval: "24 to 193 us". A negative is one of a difference downwards, whose size counts then.
func (r rounding) between(i figures.Interval, down bool) string {
	low, high := i[0], i[1]
	if down {
		low, high = -i[1], -i[0]
	}
	unit := r
	if unit.scale.Unit == points {
		unit.scale.Unit = "points"
	}
	write := r.number
	if low < 0 && high > 0 {
		write = r.signed
	}
	switch {
	case math.IsInf(low, 0) && math.IsInf(high, 0):
		return ""
	case math.IsInf(high, 0):
		return "at least " + unit.with(write(low))
	case math.IsInf(low, 0):
		return "at most " + unit.with(write(high))
	}
	return write(low) + " to " + unit.with(write(high))
}

// percent writes a share with at most two significant digits, and no more than its interval supports: "19 %".
func percent(share float64, i figures.Interval) string {
	value := 100 * math.Abs(share)
	decimals := decimalsOf(value, supported)
	if i != nil && i.Unbounded() == "" {
		decimals = min(decimals, decimalsOf(100*(i[1]-i[0])/2, supported))
	}
	return rounding{unscaled(), decimals}.number(value) + " %"
}

// ratio writes how many times as much a relative difference makes it, with two significant digits: "3.0".
func ratio(relative float64) string {
	value := 1 + relative
	return rounding{unscaled(), decimalsOf(value, supported)}.number(value)
}

// twofold is the relative difference from which on it is said as a ratio.
const twofold = 1

// atLeast rounds a bound up to two significant digits, so that it stays a bound.
func atLeast(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return v
	}
	unit := math.Pow10(int(math.Floor(math.Log10(math.Abs(v)))) - 1)
	return math.Ceil(math.Abs(v)/unit*(1-1e-9)) * unit
}
