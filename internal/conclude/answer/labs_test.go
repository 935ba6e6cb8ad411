package answer

import (
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
)

// A sure difference of two labs that is smaller than equal labs differ by is about these labs, and the verdict says so.
// A larger one is not, and neither is one of arms that share a lab.
func TestSmallDifferencesAreOfTheseLabs(t *testing.T) {
	labs := func(e *experiment.Experiment, share bool) {
		for i := range e.Arms {
			e.Arms[i].Lab = &experiment.Lab{Path: []experiment.Element{{Kind: experiment.Bridge}}, MTU: 1500}
			if share && i > 0 {
				e.Arms[i].Set = []experiment.Setting{{}}
			}
		}
	}
	for _, test := range []struct {
		name  string
		by    float64
		share bool
		want  string
	}{
		{"small", 30e-9, false, figures.AboutTheseLabs}, {"large", 300e-9, false, ""}, {"none", 0, false, ""},
		{"one lab", 30e-9, true, ""},
	} {
		e := nearFar(12, 1)
		labs(e, test.share)
		trials := change(model(e, nil, 1e-9), "far", func(int) float64 { return test.by })
		a := Make(Input{Experiment: e, State: "complete", Trials: trials})
		c := a.Comparisons[0]
		if c.About != test.want || (test.by > 0) != (c.Verdict == figures.Higher) {
			t.Errorf("%s: %s, about %q, want %q", test.name, c.Verdict, c.About, test.want)
		}
		said := strings.HasSuffix(a.Verdict, " For far this is about these labs: equal labs that are made anew differ by "+
			"up to 0.1 us.")
		if said != (test.want != "") {
			t.Errorf("%s: %s", test.name, a.Verdict)
		}
	}
}
