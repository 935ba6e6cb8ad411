package answer

import (
	"strings"
	"testing"

	"nearfar/internal/declare/result"
)

// TestStealTimeWarning: there is a warning for steal time of at least 1 % on average over a workload, with the worst
// trial. Failed trials and unreadable values do not count.
func TestStealTimeWarning(t *testing.T) {
	e := overlay(12)
	find := func(share func(trial int) string) *Warning {
		trials := model(e, perLayer, 5e-8)
		for i := range trials {
			trials[i].Trial = i + 1
			trials[i].Facts = map[string]string{result.FactStolen: share(i + 1)}
			if share(i+1) == "0.9999" {
				trials[i].Error = "broken"
			}
		}
		for _, w := range Make(Input{Experiment: e, Trials: trials, State: "complete"}).Warnings {
			if w.Code == "cpu-stolen" {
				return &w
			}
		}
		return nil
	}
	always := func(share string) func(int) string { return func(int) string { return share } }
	for name, share := range map[string]func(int) string{
		"none": always("0.0000"), "unknown": always(""), "little": always("0.0099"), "nonsense": always("NaN"),
		"hostile": always("1e300"),
		"failed": func(i int) string {
			if i == 3 {
				return "0.9999"
			}
			return "0.0000"
		},
	} {
		if w := find(share); w != nil {
			t.Errorf("%s: %+v", name, w)
		}
	}
	w := find(func(i int) string {
		if i == 5 {
			return "0.2500"
		}
		return "0.0300"
	})
	if w == nil || w.Workload != "rr" || !strings.Contains(w.Message, "25 % in trial 5") ||
		!strings.Contains(w.Message, "took 3.") {
		t.Errorf("%+v", w)
	}
}
