package answer

import (
	"testing"

	"nearfar/internal/conclude/answer/figures"
)

// TestLead: the figure of the headline is of the finding that the headline tells, and of none if it tells none.
func TestLead(t *testing.T) {
	sure := func(kind, name, workload string) Finding {
		return Finding{Kind: kind, Name: name, Workload: workload, Verdict: figures.Higher, HeadlineP: new(0.01)}
	}
	unsure := Finding{Kind: OfArm, Name: "a", Workload: "rr", Verdict: figures.NoDifference}
	answered := func(findings ...Finding) Answer {
		return Answer{
			Words:   Words{Headline: "something", Findings: findings},
			Figures: figures.Figures{Arms: []figures.Figure{{Arm: "a"}}},
		}
	}
	failing, noise, asked := answered(sure(OfArm, "a", "rr")), answered(sure(OfArm, "a", "rr")),
		answered(sure(OfArm, "a", "rr"), sure(OfArm, "a", "bulk"))
	failing.Failing, failing.Headline = "All trials of a failed.", "All trials of a failed."
	noise.NoiseFloor = &NoiseFloor{Figures: []Floor{{}}}
	asked.Workloads = []Measured{{Workload: "rr"}, {Workload: "bulk", Question: "How fast?"}}
	for name, c := range map[string]struct {
		answer Answer
		want   int
	}{
		"no finding":           {answered(), -1},
		"the first sure one":   {answered(unsure, sure(OfArm, "b", "rr"), sure(OfArm, "c", "rr")), 1},
		"none is sure":         {answered(unsure, unsure), 0},
		"failures":             {answered(sure(OfArm, "b", "rr"), sure(OfFailures, "b", "rr")), 1},
		"the workload's asked": {asked, 1},
		"trials fail":          {failing, -1},
		"the hosts' noise":     {noise, -1},
	} {
		if got := Lead(c.answer); got != c.want {
			t.Errorf("%s: finding %d, want %d", name, got, c.want)
		}
	}
}
