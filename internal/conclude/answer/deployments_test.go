package answer

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// deployedInput has two arms without an effect, in deployments of blocks. Each deployment adds its offset (seconds) to
// the arm b. A deployment takes 20 s to make, a trial 1 s.
func deployedInput(blocks int, offsets ...float64) Input {
	e := &experiment.Experiment{
		Name: "x", Baseline: "a", Arms: []experiment.Arm{{Name: "a"}, {Name: "b"}},
		Workloads: []experiment.Workload{{Name: "rr", Tool: "native", Mode: experiment.RR, Protocol: experiment.TCP}},
		Schedule:  experiment.Schedule{Blocks: blocks, Deployments: len(offsets), Seed: 1},
	}
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var trials []result.Trial
	last := 1
	for _, slot := range e.Slots() {
		v := 100e-6 + 0.3e-6*r.NormFloat64()
		if slot.Arm == "b" {
			v += offsets[slot.Deployment-1]
		}
		if at = at.Add(time.Second); slot.Deployment != last {
			at, last = at.Add(20*time.Second), slot.Deployment
		}
		trials = append(trials, result.Trial{
			Trial: slot.Trial, Block: slot.Block, Deployment: slot.Deployment, Arm: slot.Arm, Workload: "rr",
			Started: at, Tool: result.ToolVersion{Name: "native"}, Mode: experiment.RR, Protocol: experiment.TCP,
			Definition: result.DefinitionRTT, Facts: map[string]string{}, Treatment: map[string]string{},
			Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: v}},
		})
	}
	return Input{Experiment: e, Trials: trials, State: "complete", Seed: 1}
}

func codesOf(a Answer) []string {
	var codes []string
	for _, w := range a.Warnings {
		codes = append(codes, w.Code)
	}
	return codes
}

// Deployments that differ are no effect of the arm. A comparison of all blocks together would find an effect.
func TestDeploymentsThatDifferAreNoEffect(t *testing.T) {
	in := deployedInput(8, 6e-6, 4e-6, 0.9e-6)
	a := Make(in)
	c := a.Comparisons[0]
	if c.Verdict != figures.NoDifference || c.About != figures.AboutConfiguration || c.Deployments == nil {
		t.Fatalf("%+v", c)
	}
	d := c.Deployments
	if d.Used != 3 || len(d.Each) != 3 || *d.Each[0].Difference < 5e-6 || *d.Each[2].Difference > 2e-6 {
		t.Errorf("%+v", d)
	}
	if *d.Between < 2e-6 || *d.Between > 6e-6 || *d.Within > 1e-6 || *d.Share < 0.9 || d.Needed == nil ||
		*d.Needed < 1 {
		t.Errorf("between %v, within %v, share %v, needed %v", *d.Between, *d.Within, *d.Share, d.Needed)
	}
	if len(d.Plans) < 2 || d.Plans[0].Kind != figures.PlanDeployments || d.Plans[0].Blocks != 8 {
		t.Errorf("plans %+v", d.Plans)
	}
	// 20 s for a deployment, and 2 s for a block of two trials.
	if p := d.Plans[0]; p.Seconds == nil || *p.Seconds < float64(p.Deployments*35) ||
		*p.Seconds > float64(p.Deployments*37) {
		t.Errorf("%+v takes %v", p, *p.Seconds)
	}
	if !strings.Contains(a.Verdict, "about the configuration") {
		t.Error(a.Verdict)
	}
	if _, err := json.Marshal(a); err != nil {
		t.Error(err)
	}

	for i := range in.Trials {
		in.Trials[i].Deployment = 0
	}
	in.Experiment.Schedule.Deployments = 0
	in.Experiment.Schedule.Blocks = 24
	if naive := Make(in).Comparisons[0]; naive.Verdict != figures.Higher {
		t.Errorf("all blocks together: %s", naive.Verdict)
	}
}

func TestEffectOverDeployments(t *testing.T) {
	a := Make(deployedInput(8, 6e-6, 5e-6, 5.5e-6, 6.5e-6))
	if c := a.Comparisons[0]; c.Verdict != figures.Higher || c.Better != "baseline" || *c.Relative < 0.04 ||
		*c.Relative > 0.08 {
		t.Errorf("%+v", c)
	}
	for _, code := range codesOf(a) {
		if strings.Contains(code, "block") || strings.Contains(code, "drift") {
			t.Errorf("warning %s", code)
		}
	}
}

// A run that ended early has deployments with too few blocks.
func TestDeploymentsWithTooFewBlocks(t *testing.T) {
	in := deployedInput(8, 6e-6, 5e-6, 5.5e-6)
	for _, c := range []struct {
		trials  int
		verdict string
		codes   []string
	}{
		{2*16 + 6, figures.Higher, []string{"deployment-left-out"}},
		{16 + 6, figures.FewDeployments, []string{"deployment-left-out", "too-few-deployments"}},
		{16, figures.FewDeployments, []string{"too-few-deployments"}},
	} {
		early := in
		early.Trials = in.Trials[:c.trials]
		a := Make(early)
		if got := a.Comparisons[0]; got.Verdict != c.verdict && c.verdict != figures.Higher {
			t.Errorf("%d trials: %s, %s", c.trials, got.Verdict, got.Reason)
		}
		for _, code := range []string{"deployment-left-out", "too-few-deployments"} {
			if slices.Contains(codesOf(a), code) != slices.Contains(c.codes, code) {
				t.Errorf("%d trials: warnings %v", c.trials, codesOf(a))
			}
		}
		said := strings.Contains(a.Verdict, "too few deployments")
		if c.verdict == figures.FewDeployments && (a.Comparisons[0].Interval != nil || !said) {
			t.Errorf("%d trials: %s", c.trials, a.Verdict)
		}
	}
}

// Layers are estimated in each deployment, and their intervals are about deployments.
func TestLayersOverDeployments(t *testing.T) {
	in := deployedInput(8, 6e-6, 4e-6, -1e-6)
	in.Experiment.Arms[0].Layers = map[string]int{"bridge": 1}
	in.Experiment.Arms[1].Layers = map[string]int{"bridge": 1, "router": 1}
	in.Experiment.Arms = append(in.Experiment.Arms,
		experiment.Arm{Name: "c", Layers: map[string]int{"bridge": 1, "router": 2}})
	for _, trial := range slices.Clone(in.Trials) {
		if trial.Arm == "b" {
			trial.Arm, trial.Trial = "c", trial.Trial+1000
			trial.Metrics = []result.Metric{trial.Metrics[0]}
			trial.Metrics[0].Value += trial.Metrics[0].Value - 100e-6
			in.Trials = append(in.Trials, trial)
		}
	}
	a := Make(in)
	if len(a.Layers) != 1 || a.Layers[0].Verdict != figures.NoDifference || a.Layers[0].Interval == nil {
		t.Fatalf("%+v", a.Layers)
	}
	if i := a.Layers[0].Interval; i[0] > 0 || i[1] < 8e-6 {
		t.Errorf("the interval is %v", *i)
	}
	if len(a.Additivity) > 0 {
		t.Errorf("blocks of all deployments are tested together: %+v", a.Additivity)
	}
}

// Hosts that were chosen once are these machines; a lab is made of one machine anyway.
func TestVerdictOfOneDeployment(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*experiment.Arm)
		want string
	}{
		{"hosts", func(a *experiment.Arm) { a.Client, a.Server = "x", "y" }, figures.AboutThisDeployment},
		{"pods", func(a *experiment.Arm) { a.Kubernetes = &experiment.Kubernetes{} }, figures.AboutThisDeployment},
		{"labs", func(a *experiment.Arm) { a.Lab = &experiment.Lab{} }, ""},
	} {
		in := deployedInput(12, 6e-6)
		in.Experiment.Schedule.Deployments = 0
		for i := range in.Experiment.Arms {
			c.set(&in.Experiment.Arms[i])
		}
		for i := range in.Trials {
			in.Trials[i].Deployment = 0
		}
		a := Make(in)
		if got := a.Comparisons[0]; got.Verdict != figures.Higher || got.About != c.want {
			t.Errorf("%s: %s, about %q", c.name, got.Verdict, got.About)
		}
		if said := strings.Contains(a.Verdict, "these machines"); said != (c.want != "") {
			t.Errorf("%s: %s", c.name, a.Verdict)
		}
	}
}
