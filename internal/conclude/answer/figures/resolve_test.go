package figures

import (
	"testing"

	"nearfar/internal/declare/result"
)

// A difference is a share or has a unit, and is above 0.
func TestParseAim(t *testing.T) {
	for text, want := range map[string]Aim{
		"5%": {Value: 0.05, Unit: result.One}, " 2us ": {Value: 2e-6, Unit: result.Seconds},
		"10Mbit/s": {Value: 1e7, Unit: result.BitsPerSecond}, "100/s": {Value: 100, Unit: result.PerSecond},
	} {
		if a, err := ParseAim(text); err != nil || a.Value != want.Value || a.Unit != want.Unit {
			t.Errorf("%q is read as %+v, %v", text, a, err)
		}
	}
	for _, text := range []string{"", "5", "-5%", "0%", "NaN%", "0us", "x"} {
		if a, err := ParseAim(text); err == nil {
			t.Errorf("%q is read as %+v", text, a)
		}
	}
}
