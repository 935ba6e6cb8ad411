package cli

import (
	"testing"

	"nearfar/internal/conclude/interim"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/deploy"
)

// Pods on one kernel, as in a cluster of containers, can be on different nodes: facts alone do not prove the opposite.
func TestFactsAloneDoNotTellNodesOfPods(t *testing.T) {
	same := check.Expectation{Name: check.ExpectSameNode, Value: true}
	kernel := check.Expectation{Name: check.ExpectFact, Path: "kernel", Value: "6.8"}
	f := func() *check.Facts {
		var f check.Facts
		f.BootID, f.Kernel = "one", "6.8"
		return &f
	}
	found := []deploy.HostFacts{
		{Host: "a", Sides: []string{"pods/client", "lab/client"}, Facts: f()},
		{Host: "b", Sides: []string{"pods/server", "lab/server"}, Facts: f()},
		{Host: "c", Sides: []string{"silent/client", "silent/server"}, Problem: "it does not answer"},
	}
	arms := []experiment.Arm{
		{Name: "pods", Kubernetes: &experiment.Kubernetes{}, Expect: []check.Expectation{same, kernel}},
		{Name: "lab", Expect: []check.Expectation{same}},
		{Name: "silent", Expect: []check.Expectation{same}},
	}
	got := judgeFacts(&experiment.Experiment{Arms: arms}, found)
	want := []check.Outcome{check.Unknown, check.Proved, check.Proved, check.Unknown}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, x := range got {
		if x.Outcome != want[i] {
			t.Errorf("%s: %s is %s (%s), want %s", x.Arm, x.Text(), x.Outcome, x.Evidence, want[i])
		}
	}
	if found[0].Facts.BootID != "one" {
		t.Error("the facts were changed")
	}
	if err := refutedExpectations(got); err != nil {
		t.Error(err)
	}
}

// The live view shows unproved expectations during the run.
func TestLiveWarnsOfWhatIsNotProved(t *testing.T) {
	e := liveExperiment()
	e.Arms[1].Expect = []check.Expectation{sameZone()}
	trials := liveTrials(e, 16, "")
	for i := range trials {
		trials[i].Expect = []check.Judgement{{Expectation: sameZone(), Outcome: check.Refuted, Evidence: "two zones"}}
		trials[i] = forFigures(trials[i])
	}
	for _, w := range interim.Make(e, trials).Warnings {
		if w.Code == "expectation-refuted" && w.Arm == e.Arms[1].Name {
			return
		}
	}
	t.Error("there is no warning")
}
