package report

import (
	"math"
	"strconv"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/result"
)

// orDash writes a value, or "-" if it is not known.
func orDash[T any](v *T, write func(T) string) string {
	if v == nil {
		return "-"
	}
	return write(*v)
}

// percent writes a ratio as a signed percentage.
func percent(ratio float64) string {
	digits := 1
	if math.Abs(ratio) >= 1 {
		digits = 0
	}
	text := result.Decimal(100*ratio, digits)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	if !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	return text + " %"
}

// pValue writes a probability.
func pValue(p *float64) string {
	switch {
	case p == nil:
		return "-"
	case *p < 0.0001:
		return "<0.0001"
	}
	return strconv.FormatFloat(*p, 'f', 4, 64)
}

// printable escapes control characters in text from a host or a file.
func printable(s string) string { return clean.Line(s) }
