package answer

import (
	"strings"
	"testing"

	"nearfar/internal/declare/result"
)

// TestMovedCPUsWarning: there is a warning if the core-to-core latency was high in at least two trials of a workload
// and a twentieth of them. Failed trials and impossible values do not count.
func TestMovedCPUsWarning(t *testing.T) {
	e := overlay(12)
	find := func(trips func(trial int) (before, after string)) *Warning {
		trials := model(e, perLayer, 5e-8)
		for i := range trials {
			trials[i].Trial = i + 1
			before, after := trips(i + 1)
			trials[i].Facts = map[string]string{result.FactCoreToCoreBefore: before, result.FactCoreToCoreAfter: after}
			if before == "broken" {
				trials[i].Facts[result.FactCoreToCoreBefore], trials[i].Error = "90ns", "broken"
			}
		}
		for _, w := range Make(Input{Experiment: e, Trials: trials, State: "complete"}).Warnings {
			if w.Code == "cpus-moved" {
				return &w
			}
		}
		return nil
	}
	first := func(n int, before, after string) func(int) (string, string) {
		return func(i int) (string, string) {
			if i <= n {
				return before, after
			}
			return "90ns", "95ns"
		}
	}
	all := len(model(e, perLayer, 5e-8))
	for name, trips := range map[string]func(int) (string, string){
		"near": first(0, "", ""), "always far": first(all, "440ns", "440ns"), "one trial": first(1, "90ns", "440ns"),
		"less than double": first(all/2, "90ns", "179ns"),
		"unknown":          first(all, "", ""), "only after": first(all/2, "", "440ns"),
		"nonsense": first(all/2, "-5ns", "far"), "hostile": first(all/2, "1ns", "100h"),
		"failed": first(all/2, "broken", "440ns"), "fewer than a twentieth": first(2, "440ns", "440ns"),
	} {
		if w := find(trips); w != nil {
			t.Errorf("%s, of %d trials: %+v", name, all, w)
		}
	}
	w := find(first(all/2, "90ns", "440ns"))
	if w == nil || w.Workload != "rr" || !strings.Contains(w.Message, "up to 440ns") ||
		!strings.Contains(w.Message, "90ns at best") {
		t.Errorf("%+v", w)
	}
}
