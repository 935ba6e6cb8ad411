package main

import (
	"encoding/json"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/rundir"
)

// anAnswer is an answer in which everything is as it must be, and its experiment.
func anAnswer() (*answer.Answer, *experiment.Experiment) {
	x := check.Expectation{Name: "same-zone", Value: true}
	e := &experiment.Experiment{
		Baseline: "far", Arms: []experiment.Arm{
			{Name: "far", Expect: []check.Expectation{x}}, {Name: "near", Expect: []check.Expectation{x}},
		},
		Workloads: []experiment.Workload{{Name: "rr"}},
	}
	a := &answer.Answer{
		Ran: answer.Ran{State: rundir.Complete},
		Figures: figures.Figures{Comparisons: []figures.Comparison{
			{Arm: "near", Workload: "rr", Interval: &figures.Bounds{1, 2}},
		}},
	}
	for _, arm := range e.Arms {
		place := func() []check.Place {
			return []check.Place{{Where: &check.Where{
				Cloud: "aws", InstanceID: "i-1", InstanceType: "c5.large", Region: "eu-west-1",
			}}}
		}
		a.Places = append(a.Places, environment.ArmPlaces{Arm: arm.Name, Client: place(), Server: place()})
		a.Proof = append(a.Proof, proof.ArmProof{
			Arm: arm.Name, Outcome: check.Proved, Trials: 6,
			Expectations: []proof.ExpectationOver{{Expectation: x, Outcome: check.Proved, Proved: 6}},
		})
	}
	return a, e
}

// Whatever is missing in an answer is said.
func TestJudge(t *testing.T) {
	for want, damage := range map[string]func(a *answer.Answer, e *experiment.Experiment){
		"": func(*answer.Answer, *experiment.Experiment) {},
		"the run is interrupted": func(a *answer.Answer, _ *experiment.Experiment) {
			a.State = rundir.Interrupted
		},
		"near: same-zone is refuted in": func(a *answer.Answer, _ *experiment.Experiment) { refute(&a.Proof[1]) },
		"nothing is known of the expectations of far": func(a *answer.Answer, _ *experiment.Experiment) {
			a.Proof = a.Proof[1:]
		},
		"near expects nothing": func(_ *answer.Answer, e *experiment.Experiment) { e.Arms[1].Expect = nil },
		"the server of near: its instance": func(a *answer.Answer, _ *experiment.Experiment) {
			a.Places[1].Server[0].Where = nil
		},
		"the client of far: its instance": func(a *answer.Answer, _ *experiment.Experiment) {
			a.Places[0].Client[0].Where.Cloud = "azure"
		},
		"nothing is known of where far is": func(a *answer.Answer, _ *experiment.Experiment) {
			a.Places = a.Places[1:]
		},
		"rr of near has no difference with an interval": func(a *answer.Answer, _ *experiment.Experiment) {
			a.Comparisons[0].Interval = nil
		},
	} {
		a, e := anAnswer()
		damage(a, e)
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		switch err := judge(text, e, "aws"); {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := judge([]byte("no JSON"), nil, "aws"); err == nil {
		t.Error("an answer that cannot be read is accepted")
	}
}

func refute(p *proof.ArmProof) {
	p.Outcome = check.Refuted
	p.Expectations[0].Outcome, p.Expectations[0].Refuted = check.Refuted, 1
}
