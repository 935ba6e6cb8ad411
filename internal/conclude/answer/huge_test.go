package answer

import (
	"encoding/json"
	"regexp"
	"testing"

	"nearfar/internal/declare/result"
)

// TestNoNumberFillsALine: whatever size the numbers of a record have, no text of the answer has one of more digits than
// anybody reads.
func TestNoNumberFillsALine(t *testing.T) {
	long := regexp.MustCompile(`"[^"]*[0-9,]{30,}[^"]*"`)
	for _, size := range []float64{1e300, 1e150, 1e30, 1e-300} {
		e := overlay(12)
		trials := model(e, map[string]float64{"bridge": 1e-6, "router": 2e-6, "vtep": 3e-6}, 1e-7)
		for i := range trials {
			for m := range trials[i].Metrics {
				if i%2 == 0 || i%5 == 0 {
					trials[i].Metrics[m].Value *= size
				}
			}
			if trials[i].Facts == nil {
				trials[i].Facts = map[string]string{}
			}
			for _, fact := range []string{
				result.FactStolen, result.FactWaited, result.FactOthers, result.FactMachineOthers,
				result.FactWireLatenessP99,
			} {
				trials[i].Facts[fact] = "1e300"
			}
		}
		a := Make(Input{Experiment: e, Trials: trials})
		if len(a.Warnings) == 0 {
			t.Error("no warnings")
		}
		for _, text := range []any{a.Verdict, a.Headline, a.Basis, a.Also, a.Warnings, a.Failing, a.Environment} {
			data, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			if at := long.Find(data); at != nil {
				t.Errorf("size %g: %s", size, at)
			}
		}
	}
}
