package result

import (
	"math"
	"strconv"
	"strings"
)

// Scale is the unit in which a value is written for people.
type Scale struct {
	// Factor is one Unit in base units.
	Factor float64
	Unit   string
}

// ScaleOf picks the scale in which the largest of the values has one to three digits before the point. For times that
// are all 0 it is microseconds.
func ScaleOf(unit string, values ...float64) Scale {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	steps := []Scale{{1, unit}}
	switch unit {
	case Seconds:
		if largest == 0 {
			return Scale{1e-6, "us"}
		}
		steps = []Scale{{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}
	case BitsPerSecond:
		steps = []Scale{{1, "bit/s"}, {1e3, "kbit/s"}, {1e6, "Mbit/s"}, {1e9, "Gbit/s"}}
	case SecondsPerBit:
		// A millisecond per 1e9 bits is 1e-12 s/bit.
		steps = []Scale{{1e-12, "ms/Gbit"}, {1e-9, "s/Gbit"}}
	case PerSecond:
		steps = []Scale{{1, "/s"}}
	case Bytes:
		steps = []Scale{{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}}
	case One:
		steps = []Scale{{1, ""}}
	}
	chosen := steps[0]
	for _, s := range steps[1:] {
		// 0.9995: values that round to 1000 of the smaller unit are written in the larger one. Microseconds begin at
		// a tenth, because most differences are microseconds and are read side by side.
		if largest >= 0.9995*s.Factor || s.Unit == "us" && largest >= 0.1*s.Factor {
			chosen = s
		}
	}
	return chosen
}

// mostPlain is the size from which on a number is written with an exponent. Nothing that is measured is as large, but a
// host or a file can say it, and 300 digits hide the rest of a sentence.
const mostPlain = 1e15

// Decimal writes a number with so many digits behind the point, -1 for as many as it needs.
func Decimal(v float64, digits int) string {
	switch abs := math.Abs(v); {
	case abs >= mostPlain:
		return strconv.FormatFloat(v, 'e', 2, 64)
	case digits < 0 && abs != 0 && abs < 1/mostPlain:
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// Number writes a value in the scale, without the unit.
func (s Scale) Number(v float64) string {
	v /= s.Factor
	digits := 2
	switch abs := math.Abs(v); {
	case abs >= 1000:
		digits = 0
	case abs >= 100:
		digits = 1
	case abs != 0 && abs < 1:
		digits = 3
	}
	text := Decimal(v, digits)
	if strings.Trim(text, "-0.") == "" { // no minus before a zero
		text = strings.TrimPrefix(text, "-")
	}
	return text
}

// Signed is Number with a plus sign unless the value is negative.
func (s Scale) Signed(v float64) string {
	text := s.Number(v)
	if !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	return text
}

// With adds the unit to the result of Number or Signed.
func (s Scale) With(number string) string { return strings.TrimSpace(number + " " + s.Unit) }

// Amount writes a value with a unit that fits its size: "14.52 us".
func Amount(v float64, unit string) string {
	s := ScaleOf(unit, v)
	return s.With(s.Number(v))
}

// SignedAmount is Amount with a plus sign unless the value is negative.
func SignedAmount(v float64, unit string) string {
	s := ScaleOf(unit, v)
	return s.With(s.Signed(v))
}

// Share writes a ratio of 0 or more as a percentage with two significant digits: "0.42 %",
// "19 %", "130 %".
func Share(ratio float64) string { return twoDigits(100*ratio) + " %" }

// Roughly writes the size of a value with two significant digits and a unit that fits: "0.13 us". It is for sizes that
// stand beside a Share.
func Roughly(v float64, unit string) string {
	s := ScaleOf(unit, v)
	return s.With(twoDigits(math.Abs(v) / s.Factor))
}

// twoDigits writes a number with two significant digits.
func twoDigits(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	if err != nil {
		rounded = v
	}
	return Decimal(rounded, -1)
}
