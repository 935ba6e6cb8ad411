package experiment

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// QuantityError says why a text is not a valid quantity, and what would be right.
type QuantityError struct {
	// Message says what is wrong, and quotes the text.
	Message string
	// Hint says what would be right. It may be empty.
	Hint string
}

func (e *QuantityError) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + ": " + e.Hint
}

// maxQuantityText is the longest text that is read as a quantity, in bytes.
const maxQuantityText = 64

// The limits of quantities. Most keys have narrower ones.
const (
	maxSize     = 1 << 40          // bytes
	maxDuration = 1000 * time.Hour // 1000 h
	maxRate     = 1e15             // bit/s
	minRate     = 1                // bit/s
	minRatio    = 1e-9             // below this a ratio is as good as 0
	maxPerSec   = 1e9              // 1/s
	minPerSec   = 0.001            // 1/s
)

// unit is a unit and its size in base units.
type unit struct {
	name string
	base int64
}

func sizeUnits() []unit {
	return []unit{
		{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
		{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	}
}

// durationUnits lists the largest unit first, which is their order in "1h30m".
func durationUnits() []unit {
	return []unit{
		{"h", int64(time.Hour)}, {"m", int64(time.Minute)}, {"s", int64(time.Second)},
		{"ms", int64(time.Millisecond)}, {"us", int64(time.Microsecond)}, {"ns", 1},
	}
}

func rateUnits() []unit {
	return []unit{{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"Tbit/s", 1e12}}
}

// ParseSize reads a size such as 1024B, 1KiB (1024 bytes) or 64KB (64000 bytes) and gives it in bytes, at most 1 TiB.
// The error is a *QuantityError.
func ParseSize(text string) (int, error) {
	number, unitName, err := splitQuantity(text, "size", "1024B")
	if err != nil {
		return 0, err
	}
	if unitName == "" {
		return 0, noUnit(text, "write "+number+"B, or with another unit of "+unitNames(sizeUnits()))
	}
	u, err := findUnit(text, number, unitName, sizeUnits())
	if err != nil {
		return 0, err
	}
	bytes, whole := scaled(number, u.base)
	if !whole {
		return 0, &QuantityError{quote(text) + " is not a whole number of bytes", "write, for example, 64B"}
	}
	if !bytes.IsInt64() || bytes.Int64() > maxSize {
		return 0, &QuantityError{quote(text) + " is too large a size", "at most " + FormatSize(maxSize)}
	}
	return int(bytes.Int64()), nil
}

// FormatSize writes a size in bytes so that ParseSize reads the same size: in the largest binary unit that divides it;
// else, if it has five digits or more, in the largest decimal unit that divides it; else in bytes.
func FormatSize(bytes int) string {
	switch {
	case bytes >= 1<<30 && bytes%(1<<30) == 0:
		return strconv.Itoa(bytes>>30) + "GiB"
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return strconv.Itoa(bytes>>20) + "MiB"
	case bytes > 1<<10 && bytes%(1<<10) == 0:
		return strconv.Itoa(bytes>>10) + "KiB"
	case bytes >= 1e9 && bytes%1e9 == 0:
		return strconv.Itoa(bytes/1e9) + "GB"
	case bytes >= 1e6 && bytes%1e6 == 0:
		return strconv.Itoa(bytes/1e6) + "MB"
	case bytes >= 1e4 && bytes%1e3 == 0:
		return strconv.Itoa(bytes/1e3) + "KB"
	}
	return strconv.Itoa(bytes) + "B"
}

// ParseDuration reads a duration such as 50us, 2.5s or 1h30m, at most 1000 h and exact to the nanosecond.
// A bare 0 is 0. The error is a *QuantityError.
func ParseDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	var total big.Int
	units := durationUnits()
	for rest := text; ; {
		number, unitName, err := splitQuantity(rest, "duration", "2s, 100ms, 50us or 1h30m")
		if err != nil {
			return 0, withText(err, rest, text)
		}
		if unitName == "" {
			return 0, noUnit(text,
				"write "+text+likelyUnit(units)+", or with another unit of "+unitNames(durationUnits()))
		}
		// The rest after the unit is the next part, such as 30m in 1h30m.
		next := ""
		if i := strings.IndexAny(unitName, "0123456789"); i >= 0 {
			unitName, next = unitName[:i], unitName[i:]
		}
		if unitName == "µs" || unitName == "μs" { // the micro sign, and the Greek letter that looks the same
			unitName = "us"
		}
		u, err := findUnit(text, number, unitName, durationUnits())
		if err != nil {
			return 0, err
		}
		if !slices.Contains(units, u) {
			return 0, &QuantityError{quote(text) + " names its units out of order",
				"write them from the largest to the smallest, each once"}
		}
		ns, whole := scaled(number, u.base)
		if !whole {
			return 0, &QuantityError{quote(text) + " is finer than a nanosecond",
				"write whole nanoseconds, for example 2ns"}
		}
		total.Add(&total, ns)
		if !total.IsInt64() || total.Int64() > int64(maxDuration) {
			return 0, &QuantityError{quote(text) + " is too long", "at most " + FormatDuration(maxDuration)}
		}
		if next == "" {
			return time.Duration(total.Int64()), nil
		}
		rest = next
		units = units[slices.Index(units, u)+1:]
	}
}

// ParseDelay is ParseDuration for the delay of a path. A number without a unit is likely in milliseconds there.
func ParseDelay(text string) (time.Duration, error) {
	d, err := ParseDuration(text)
	if _, alone := strconv.ParseFloat(text, 64); err != nil && alone == nil && !strings.HasPrefix(text, "-") {
		return 0, noUnit(text, "write "+text+"ms, or with another unit of "+unitNames(durationUnits()))
	}
	return d, err
}

// likelyUnit guesses the unit of a number without one: seconds, or the next smaller unit in a duration such as 1h30.
func likelyUnit(units []unit) string {
	if len(units) == 0 || len(units) == len(durationUnits()) {
		return "s"
	}
	return units[0].name
}

// FormatDuration writes a duration so that ParseDuration gives it back: 1h30m, 2.5s, 50us.
// A negative duration gets a sign, which ParseDuration refuses.
func FormatDuration(d time.Duration) string {
	if d < 0 {
		return "-" + strings.TrimPrefix(d.String(), "-")
	}
	if d >= time.Minute && d%time.Second == 0 {
		return formatClock(d)
	}
	ns := strconv.FormatInt(int64(d), 10)
	switch {
	case d >= time.Second:
		return shiftPoint(ns, -9) + "s"
	case d >= time.Millisecond:
		return shiftPoint(ns, -6) + "ms"
	case d >= time.Microsecond:
		return shiftPoint(ns, -3) + "us"
	case d == 0:
		return "0s"
	}
	return ns + "ns"
}

// formatClock writes whole seconds as hours, minutes and seconds, and leaves out zeros.
func formatClock(d time.Duration) string {
	var b strings.Builder
	for _, u := range durationUnits()[:3] {
		if n := int64(d) / u.base; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= time.Duration(n * u.base)
		}
	}
	return b.String()
}

// ParseRate reads a rate such as 100Mbit/s or 1.5 Gbit/s and gives it in bits per second, 1 to 1e15.
// The error is a *QuantityError.
func ParseRate(text string) (float64, error) {
	number, unitName, err := splitQuantity(text, "rate", "100Mbit/s or 1Gbit/s")
	if err != nil {
		return 0, err
	}
	if strings.Trim(number, "0.") == "" {
		return 0, &QuantityError{quote(text) + " is no rate of a network", "write 1bit/s to 1000Tbit/s"}
	}
	if unitName == "" {
		return 0, noUnit(text, "write "+number+"Mbit/s, or with another unit of "+unitNames(rateUnits()))
	}
	u, err := findUnit(text, number, unitName, rateUnits())
	if err != nil {
		return 0, err
	}
	rat, _ := new(big.Rat).SetString(number)
	rate, _ := rat.Mul(rat, new(big.Rat).SetInt64(u.base)).Float64()
	if rate < minRate || rate > maxRate {
		return 0, &QuantityError{quote(text) + " is no rate of a network", "write 1bit/s to 1000Tbit/s"}
	}
	return rate, nil
}

// FormatRate writes a rate in bits per second so that ParseRate gives it back.
func FormatRate(bitsPerSecond float64) string {
	digits := strconv.FormatFloat(bitsPerSecond, 'f', -1, 64)
	switch {
	case bitsPerSecond >= 1e12:
		return shiftPoint(digits, -12) + "Tbit/s"
	case bitsPerSecond >= 1e9:
		return shiftPoint(digits, -9) + "Gbit/s"
	case bitsPerSecond >= 1e6:
		return shiftPoint(digits, -6) + "Mbit/s"
	case bitsPerSecond >= 1e3:
		return shiftPoint(digits, -3) + "kbit/s"
	}
	return digits + "bit/s"
}

// ParsePerSecond reads how often something happens, such as 10000/s or 0.5/s, from 0.001 to a thousand million times a
// second. The error is a *QuantityError.
func ParsePerSecond(text string) (float64, error) {
	const bounds = "0.001/s to 1000000000/s"
	number, unitName, err := splitQuantity(text, "rate", "10000/s")
	if err != nil {
		return 0, err
	}
	if unitName == "" {
		return 0, noUnit(text, "write "+number+"/s")
	}
	if unitName != "/s" {
		return 0, &QuantityError{fmt.Sprintf("unknown unit %s in %s", quote(unitName), quote(text)),
			"write, for example, 10000/s"}
	}
	rate, err := strconv.ParseFloat(number, 64)
	if err != nil || rate < minPerSec || rate > maxPerSec {
		return 0, &QuantityError{quote(text) + " is no rate of messages", bounds}
	}
	return rate, nil
}

// FormatPerSecond writes a rate in times per second so that ParsePerSecond gives it back.
func FormatPerSecond(perSecond float64) string {
	return strconv.FormatFloat(perSecond, 'f', -1, 64) + "/s"
}

// ParseRatio reads a ratio between 0 and 1, written as 0.01 or as 1%. The error is a *QuantityError.
func ParseRatio(text string) (float64, error) {
	number, unitName, err := splitQuantity(text, "ratio", "1% or 0.01")
	if err != nil {
		return 0, err
	}
	if unitName != "" && unitName != "%" {
		return 0, &QuantityError{
			fmt.Sprintf("unknown unit %s in %s", quote(unitName), quote(text)), "write 1% or 0.01",
		}
	}
	rat, _ := new(big.Rat).SetString(number)
	if unitName == "%" {
		rat.Quo(rat, big.NewRat(100, 1))
	}
	ratio, _ := rat.Float64()
	if ratio > 1 {
		hint := "0% to 100%"
		if unitName == "" {
			hint = fmt.Sprintf("did you mean %s%%?", number)
		}
		return 0, &QuantityError{quote(text) + " is more than 1", hint}
	}
	if ratio != 0 && ratio < minRatio {
		return 0, &QuantityError{quote(text) + " is too small to matter", "write 0"}
	}
	return ratio, nil
}

// FormatRatio writes a ratio as a percentage so that ParseRatio gives it back: 0.01 is 1%.
func FormatRatio(ratio float64) string {
	return shiftPoint(strconv.FormatFloat(ratio, 'f', -1, 64), 2) + "%"
}

// splitQuantity splits a text into its number and its unit, without the one space that may be between them. A sign is
// an error, since no quantity can be negative.
func splitQuantity(text, what, example string) (number, unitName string, err error) {
	if len(text) > maxQuantityText {
		return "", "", &QuantityError{quote(text) + " is too long for a " + what, "write, for example, " + example}
	}
	if strings.HasPrefix(text, "-") {
		return "", "", &QuantityError{quote(text) + " is negative",
			"write a " + what + " without a sign, for example " + example}
	}
	end := 0
	for end < len(text) && (isDigit(text[end]) || text[end] == '.') {
		end++
	}
	number = text[:end]
	whole, fraction, point := strings.Cut(number, ".")
	if whole == "" || point && fraction == "" || strings.Contains(fraction, ".") {
		return "", "", &QuantityError{quote(text) + " is no " + what, "write, for example, " + example}
	}
	return number, strings.TrimPrefix(text[end:], " "), nil
}

// findUnit finds a unit by name. The error suggests the most similar one.
func findUnit(text, number, name string, units []unit) (unit, error) {
	for _, u := range units {
		if u.name == name {
			return u, nil
		}
	}
	hint := "units are " + unitNames(units)
	if near := nearestUnit(name, units); near != "" {
		hint = fmt.Sprintf("did you mean %s? Units are %s", strings.Replace(text, name, near, 1), unitNames(units))
	}
	return unit{}, &QuantityError{fmt.Sprintf("unknown unit %s in %s", quote(name), quote(text)), hint}
}

// nearestUnit gives the unit with the same first letter and the most similar spelling, or "".
func nearestUnit(name string, units []unit) string {
	best, bestDistance := "", 0
	for _, u := range units {
		if name == "" || !strings.EqualFold(name[:1], u.name[:1]) {
			continue
		}
		if d := editDistance(name, u.name); best == "" || d < bestDistance {
			best, bestDistance = u.name, d
		}
	}
	return best
}

func unitNames(units []unit) string {
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.name
	}
	return strings.Join(names, ", ")
}

// scaled multiplies a decimal number exactly, and reports whether the product is whole.
func scaled(number string, by int64) (*big.Int, bool) {
	rat, _ := new(big.Rat).SetString(number)
	rat.Mul(rat, new(big.Rat).SetInt64(by))
	return rat.Num(), rat.IsInt()
}

// shiftPoint moves the decimal point to the right by n places (to the left if n is negative), and removes leading and
// trailing zeros.
func shiftPoint(number string, n int) string {
	whole, fraction, _ := strings.Cut(number, ".")
	if n >= 0 {
		fraction += strings.Repeat("0", max(0, n-len(fraction)))
		whole, fraction = whole+fraction[:n], fraction[n:]
	} else {
		whole = strings.Repeat("0", max(0, -n-len(whole))) + whole
		whole, fraction = whole[:len(whole)+n], whole[len(whole)+n:]+fraction
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	fraction = strings.TrimRight(fraction, "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

func noUnit(text, hint string) error {
	return &QuantityError{quote(text) + " has no unit", hint}
}

// withText makes an error about a part of a text quote the whole text.
func withText(err error, part, text string) error {
	var q *QuantityError
	if part == text || !errors.As(err, &q) {
		return err
	}
	return &QuantityError{strings.Replace(q.Message, quote(part), quote(text), 1), q.Hint}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
