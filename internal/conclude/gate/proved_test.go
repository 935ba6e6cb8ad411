package gate

import (
	"encoding/json"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
)

// unprovedSide is a run in which vf expects same-zone, which is unknown in its first block.
func unprovedSide(name string, level float64) *contrast.Side {
	x := check.Expectation{Name: check.ExpectSameZone, Value: true}
	s := side(name, 12, uint64(level), map[string]float64{"sw": 10, "vf": level}, func(t *result.Trial) {
		if t.Arm == "vf" && t.Block > 1 {
			t.Expect = []check.Judgement{{Expectation: x, Outcome: check.Proved, Evidence: "one zone"}}
		}
	})
	s.Experiment.Arms[1].Expect = []check.Expectation{x}
	s.Experiment.Baseline = "sw"
	return s
}

func TestGateSaysWhatIsNotProved(t *testing.T) {
	const text = "NEW: vf is not proved to be what it claims: same-zone is unknown in 1 of 12 trials"
	base := side("BASE", 12, 1, map[string]float64{"sw": 10, "vf": 10}, nil)
	r := evaluate(t, base, unprovedSide("NEW", 10), false, "rr rtt.p50 > +20%")
	if r.Verdict != Pass || !r.Unverifiable() || r.Unproved != text+"." || r.title() != "UNPROVED" ||
		!strings.HasSuffix(r.Summary, " "+r.Unproved) {
		t.Errorf("%+v", r)
	}
	for _, format := range Formats() {
		var out strings.Builder
		if err := Write(&out, r, format, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "is not proved to be what it claims") {
			t.Errorf("%s does not say it:\n%s", format, out.String())
		}
	}
	r.AllowUnverified()
	if r.Unverifiable() || r.title() != "passed" || r.Unverified == "" {
		t.Errorf("it was allowed: %+v", r)
	}
	for _, format := range []string{"terminal", "markdown"} {
		var out strings.Builder
		if err := Write(&out, r, format, false); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(strings.TrimPrefix(out.String(), "**"), "Unverified, as --allow-unverified permits: ") {
			t.Errorf("the first line of %s:\n%s", format, out.String())
		}
	}
}

// A gate that fails fails, and rules about other arms are not touched.
func TestProofChangesNoVerdict(t *testing.T) {
	base := side("BASE", 12, 1, map[string]float64{"sw": 10, "vf": 10}, nil)
	if r := evaluate(t, base, unprovedSide("NEW", 20), false, "rr rtt.p50 > +20%"); r.Verdict != Fail ||
		r.Unverifiable() || r.title() != "FAILED" {
		t.Errorf("%+v", r)
	}
	if r := evaluate(t, base, unprovedSide("NEW", 10), false, "sw rr rtt.p50 > +20%"); r.Unproved != "" ||
		r.Unverifiable() {
		t.Errorf("%+v", r)
	}
}

func TestObjectivesSayWhatIsNotProved(t *testing.T) {
	s := unprovedSide("run", 10)
	s.Experiment.Objectives = []string{"vf rr rtt.p50 < 1ms", "sw rr rtt.p50 < 1ms"}
	all, err := Judge(s)
	if err != nil {
		t.Fatal(err)
	}
	const text = "vf is not proved to be what it claims: same-zone is unknown in 1 of 12 trials"
	if all[0].Verdict != answer.Met || all[0].Unproved != text || !strings.HasSuffix(all[0].Said, "; "+text) ||
		all[1].Unproved != "" {
		data, _ := json.Marshal(all)
		t.Errorf("%s", data)
	}
}
