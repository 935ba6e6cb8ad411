package experiment

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int{
		"0B": 0, "1B": 1, "1024B": 1024, "1KiB": 1024, "64KB": 64000, "1.5KiB": 1536, "1 MiB": 1 << 20, "16MiB": 16 << 20,
		"1GB": 1e9, "1GiB": 1 << 30, "0.001KB": 1, "1024GiB": 1 << 40,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "50us": 50 * time.Microsecond, "50µs": 50 * time.Microsecond, "50μs": 50 * time.Microsecond,
		"2s": 2 * time.Second, "1m": time.Minute, "100ms": 100 * time.Millisecond, "1h30m": 90 * time.Minute,
		"1h30m5.5s": 90*time.Minute + 5500*time.Millisecond, "2.5s": 2500 * time.Millisecond, "1 s": time.Second,
		"1.000000001s": time.Second + 1, "7ns": 7, "1000h": 1000 * time.Hour,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]float64{
		"1bit/s": 1, "100kbit/s": 1e5, "100Mbit/s": 1e8, "1Gbit/s": 1e9, "1.5 Gbit/s": 1.5e9, "1Tbit/s": 1e12, "0.1Gbit/s": 1e8,
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %g, %v; want %g", text, got, err, want)
		}
	}
}

func TestParsePerSecond(t *testing.T) {
	for text, want := range map[string]float64{
		"1/s": 1, "10000/s": 1e4, "0.5/s": 0.5, "0.001 /s": 0.001, "1000000000/s": 1e9,
	} {
		if got, err := ParsePerSecond(text); err != nil || got != want {
			t.Errorf("ParsePerSecond(%q) = %g, %v; want %g", text, got, err, want)
		}
	}
}

func TestParseRatio(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "0%": 0, "1%": 0.01, "0.01": 0.01, "0.1 %": 0.001, "100%": 1, "1": 1, "33.3%": 0.333,
	} {
		if got, err := ParseRatio(text); err != nil || got != want {
			t.Errorf("ParseRatio(%q) = %g, %v; want %g", text, got, err, want)
		}
	}
}

func TestQuantityErrorsSayWhatWouldBeRight(t *testing.T) {
	size := func(s string) error { _, err := ParseSize(s); return err }
	duration := func(s string) error { _, err := ParseDuration(s); return err }
	rate := func(s string) error { _, err := ParseRate(s); return err }
	perSecond := func(s string) error { _, err := ParsePerSecond(s); return err }
	ratio := func(s string) error { _, err := ParseRatio(s); return err }
	for _, c := range []struct {
		parse      func(string) error
		text, want string
	}{
		{size, "1024", "write 1024B"},
		{size, "1kb", "did you mean 1KB?"},
		{size, "1kib", "did you mean 1KiB?"},
		{size, "12 bytes", "did you mean 12 B?"},
		{size, "1.5B", "not a whole number of bytes"},
		{size, "-1B", "is negative"},
		{size, "", `"" is no size`},
		{size, ".5KiB", "is no size"},
		{size, "5.KiB", "is no size"},
		{size, "1.2.3B", "is no size"},
		{size, "1x", "units are B, KiB"},
		{size, "2000GiB", "at most 1024GiB"},
		{size, strings.Repeat("9", 65) + "B", "is too long for a size"},
		{duration, "2", "write 2s"},
		{duration, "1h30", "write 1h30m"},
		{duration, "1ns5", `"1ns5" has no unit`},
		{duration, "1ns5ns", "out of order"},
		{duration, "30m1h", "from the largest to the smallest"},
		{duration, "5msec", "did you mean 5ms?"},
		{duration, "5usec", "did you mean 5us?"},
		{duration, "1 5s", "unknown unit"},
		{duration, "1h-5m", "unknown unit"},
		{duration, "0.1ns", "finer than a nanosecond"},
		{duration, "1001h", "at most 1000h"},
		{rate, "1Gbps", "did you mean 1Gbit/s?"},
		{rate, "1Mb/s", "did you mean 1Mbit/s?"},
		{rate, "100", "write 100Mbit/s"},
		{rate, "0", "no rate of a network"},
		{rate, "0bit/s", "no rate of a network"},
		{rate, "1001Tbit/s", "1bit/s to 1000Tbit/s"},
		{perSecond, "10000", "write 10000/s"},
		{perSecond, "10k/s", "write, for example, 10000/s"},
		{perSecond, "1Mbit/s", "unknown unit"},
		{perSecond, "0/s", "0.001/s to 1000000000/s"},
		{perSecond, "0.0001/s", "0.001/s to 1000000000/s"},
		{perSecond, "2000000000/s", "0.001/s to 1000000000/s"},
		{perSecond, "-1/s", "is negative"},
		{perSecond, "/s", "is no rate"},
		{ratio, "5", "did you mean 5%?"},
		{ratio, "101%", "is more than 1"},
		{ratio, "1ppm", "write 1% or 0.01"},
		{ratio, "0.0000000001", "write 0"},
		{ratio, "-1%", "is negative"},
	} {
		if err := c.parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v; want one that says %q", c.text, err, c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{FormatSize(0), "0B"}, {FormatSize(1000), "1000B"}, {FormatSize(1024), "1024B"}, {FormatSize(2048), "2KiB"},
		{FormatSize(64000), "64KB"}, {FormatSize(16 << 20), "16MiB"}, {FormatSize(1 << 30), "1GiB"}, {FormatSize(3e9),
			"3GB"},
		{FormatSize(65507), "65507B"}, {FormatSize(5e6), "5MB"},
		{FormatDuration(0), "0s"}, {FormatDuration(7), "7ns"}, {FormatDuration(50 * time.Microsecond), "50us"},
		{FormatDuration(1500 * time.Microsecond), "1.5ms"}, {FormatDuration(2 * time.Second), "2s"},
		{FormatDuration(90 * time.Minute), "1h30m"}, {FormatDuration(time.Hour),
			"1h"}, {FormatDuration(time.Hour + time.Second), "1h1s"},
		{FormatDuration(90 * time.Second), "1m30s"}, {FormatDuration(10 * time.Minute), "10m"},
		{FormatDuration(90500 * time.Millisecond), "90.5s"}, {FormatDuration(-time.Second), "-1s"},
		{FormatRate(1), "1bit/s"}, {FormatRate(8e3), "8kbit/s"}, {FormatRate(1e6), "1Mbit/s"}, {FormatRate(1.5e9),
			"1.5Gbit/s"},
		{FormatRate(2e12), "2Tbit/s"}, {FormatRate(100e6), "100Mbit/s"},
		{FormatPerSecond(0.001), "0.001/s"}, {FormatPerSecond(1e9), "1000000000/s"}, {FormatPerSecond(0.5), "0.5/s"},
		{FormatRatio(0), "0%"}, {FormatRatio(0.01), "1%"}, {FormatRatio(0.001), "0.1%"}, {FormatRatio(1),
			"100%"}, {FormatRatio(0.333), "33.3%"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// returns checks that what a Format function writes is read back as the same value.
func returns[T comparable](t interface{ Fatalf(string, ...any) }, value T, format func(T) string,
	parse func(string) (T, error)) {
	text := format(value)
	if got, err := parse(text); err != nil || got != value {
		t.Fatalf("%v is written as %q, which is read as %v, %v", value, text, got, err)
	}
}

func TestFormatsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		returns(t, rapid.IntRange(0, maxSize).Draw(t, "size"), FormatSize, ParseSize)
		returns(t, time.Duration(rapid.Int64Range(0, int64(maxDuration)).Draw(t, "duration")), FormatDuration,
			ParseDuration)
		returns(t, rapid.Float64Range(minRate, maxRate).Draw(t, "rate"), FormatRate, ParseRate)
		returns(t, rapid.Float64Range(minPerSec, maxPerSec).Draw(t, "per second"), FormatPerSecond, ParsePerSecond)
		returns(t, rapid.Float64Range(minRatio, 1).Draw(t, "ratio"), FormatRatio, ParseRatio)
	})
}

func FuzzQuantities(f *testing.F) {
	for _, s := range []string{"1024B", "1.5 KiB", "64KB", "50us", "50µs", "1h30m", "0", "1.5 Gbit/s", "1Gbps",
		"10000/s", "0.5 /s", "1%", "0.01", "-1", "1h30", "..", "1e9s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseSize(s); err == nil {
			returns(t, v, FormatSize, ParseSize)
		}
		if v, err := ParseDuration(s); err == nil {
			returns(t, v, FormatDuration, ParseDuration)
		}
		if v, err := ParseRate(s); err == nil {
			returns(t, v, FormatRate, ParseRate)
		}
		if v, err := ParsePerSecond(s); err == nil {
			returns(t, v, FormatPerSecond, ParsePerSecond)
		}
		if v, err := ParseRatio(s); err == nil {
			returns(t, v, FormatRatio, ParseRatio)
		}
	})
}
