package hostverbs

import (
	"testing"
	"time"
)

func FuzzLoadText(f *testing.F) {
	for _, text := range []string{"1000/s:1s,5000/s:2s", "1000/s..64000/s", "1000/s, 2000/s", "200ms/1s", "0/0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if steps, err := parseSteps(text); err == nil && len(steps) == 0 {
			t.Errorf("%q are no steps", text)
		}
		rates, err := parseRates(text)
		if err == nil && len(rates) == 0 {
			t.Errorf("%q are no rates", text)
		}
		for _, r := range rates {
			if !(r > 0 && r <= 1e9) {
				t.Errorf("%q has a rate of %v", text, r)
			}
		}
		s, err := parseStall(text)
		if err == nil && text != "" && (s.Length <= 0 || s.Length >= s.Period || s.Period > 1000*time.Hour) {
			t.Errorf("%q is a stall of %+v", text, s)
		}
	})
}
