package answer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

var (
	expectZone   = check.Expectation{Name: check.ExpectSameZone, Value: true}
	expectMTU    = check.Expectation{Name: check.ExpectMTU, Value: 1500.0}
	expectKernel = check.Expectation{Name: check.ExpectFact, Path: "kernel", Value: "6.8"}
)

// claiming is an experiment in which vf, and if both is set sw, expect something.
func claiming(blocks int, both bool, unproved string) *experiment.Experiment {
	e := overlay(blocks)
	e.Arms = []experiment.Arm{
		{Name: "sw", Layers: map[string]int{"bridge": 1}},
		{Name: "vf", Layers: map[string]int{"bridge": 1, "vf": 1},
			Expect: []check.Expectation{expectZone, expectMTU, expectKernel}},
	}
	if both {
		e.Arms[0].Expect = []check.Expectation{expectZone}
	}
	e.Baseline, e.Unproved = "sw", unproved
	return e
}

func judgement(x check.Expectation, o check.Outcome) check.Judgement {
	return check.Judgement{Expectation: x, Outcome: o, Evidence: "seen: " + string(o)}
}

// judge gives each trial of an arm with expectations the judgements; of says which.
func judge(e *experiment.Experiment, trials []result.Trial,
	of func(n int, t result.Trial, x check.Expectation) check.Outcome,
) {
	count := map[string]int{}
	for i := range trials {
		t := &trials[i]
		arm, _ := e.Arm(t.Arm)
		count[t.Arm]++
		for _, x := range arm.Expect {
			if o := of(count[t.Arm], *t, x); o != "" {
				t.Expect = append(t.Expect, judgement(x, o))
			}
		}
	}
}

func allProved(int, result.Trial, check.Expectation) check.Outcome { return check.Proved }

func TestProvedArms(t *testing.T) {
	e := claiming(12, true, experiment.UnprovedKeep)
	trials := model(e, map[string]float64{"vf": -1e-6}, 5e-8)
	judge(e, trials, allProved)
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if a.Unproved != "" || a.Comparisons[0].Unproved != "" || len(a.Warnings) > 0 || strings.Contains(a.Verdict, "proved") {
		t.Errorf("all is proved, and the answer says otherwise: %s %+v", a.Verdict, a.Warnings)
	}
	if len(a.Proof) != 2 || a.Proof[1].Outcome != check.Proved || a.Proof[1].Trials != 12 ||
		a.Proof[1].Expectations[2].Proved != 12 || a.Proof[1].Expectations[2].Evidence != "seen: proved" {
		t.Errorf("proof %+v", a.Proof)
	}
}

func TestOneRefutedTrialMarksTheArm(t *testing.T) {
	e := claiming(12, true, experiment.UnprovedKeep)
	trials := model(e, map[string]float64{"vf": -1e-6}, 5e-8)
	judge(e, trials, func(n int, t result.Trial, x check.Expectation) check.Outcome {
		switch {
		case t.Arm == "vf" && x.Name == check.ExpectMTU && n == 3:
			return check.Refuted
		case t.Arm == "vf" && x.Name == check.ExpectMTU && n == 5:
			return check.Unknown
		case t.Arm == "vf" && x.Name == check.ExpectFact && n > 10:
			return "" // no judgement
		}
		return check.Proved
	})
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	const text = "vf is not proved to be what it claims: mtu 1500 is refuted in 1 of 12 trials and unknown in 1, " +
		"fact kernel 6.8 is unknown in 2 of 12 trials"
	if a.Unproved != text+"." || !strings.HasSuffix(a.Verdict, " "+text+".") {
		t.Errorf("unproved: %s\nverdict: %s", a.Unproved, a.Verdict)
	}
	if c := a.Comparisons[0]; c.Unproved != text || c.Blocks != 12 || c.Verdict != figures.Lower {
		t.Errorf("comparison %+v", c)
	}
	if f := a.Findings[0]; f.Unproved != text || !strings.HasSuffix(f.Text, "; "+text) {
		t.Errorf("finding %+v", f)
	}
	if len(a.Layers) != 1 || a.Layers[0].Unproved != text {
		t.Errorf("layers %+v", a.Layers)
	}
	var codes []string
	for _, w := range a.Warnings {
		codes = append(codes, w.Code+" "+w.Arm+" "+w.Message)
	}
	var numbers []string
	for _, tr := range trials {
		if tr.Arm == "vf" {
			numbers = append(numbers, fmt.Sprint(tr.Trial))
		}
	}
	want := []string{
		fmt.Sprintf("expectation-refuted vf mtu 1500 is refuted in 1 of 12 trials and unknown in 1 (trial %s, %s): "+
			"seen: refuted", numbers[2], numbers[4]),
		fmt.Sprintf("expectation-unknown vf fact kernel 6.8 is unknown in 2 of 12 trials (trial %s, %s): "+
			"the trial does not say", numbers[10], numbers[11]),
	}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Error(diff)
	}
	if a.Unverified != "" {
		t.Error("nobody allowed it")
	}
	if a.AllowUnverified(); !strings.HasPrefix(a.Unverified, "Unverified, as --allow-unverified permits: vf is not") {
		t.Errorf("unverified: %s", a.Unverified)
	}
}

// The baseline counts too: each difference is from it.
func TestUnprovedBaselineMarksAllComparisons(t *testing.T) {
	e := claiming(12, true, experiment.UnprovedKeep)
	trials := model(e, nil, 5e-8)
	judge(e, trials, func(_ int, t result.Trial, _ check.Expectation) check.Outcome {
		if t.Arm == "sw" {
			return check.Unknown
		}
		return check.Proved
	})
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if want := "sw is not proved to be what it claims: same-zone is unknown in 12 of 12 trials"; a.Comparisons[0].Unproved != want {
		t.Errorf("got %q, want %q", a.Comparisons[0].Unproved, want)
	}
}

// A run from before there were judgements, or with a judgement of something else, proves nothing.
func TestTrialsWithoutJudgementAreUnknown(t *testing.T) {
	for name, of := range map[string][]check.Judgement{
		"none":              nil,
		"another value":     {judgement(check.Expectation{Name: check.ExpectSameZone, Value: false}, check.Proved)},
		"a value of a text": {judgement(check.Expectation{Name: check.ExpectSameZone, Value: "true"}, check.Proved)},
		"another path":      {judgement(check.Expectation{Name: check.ExpectFact, Path: "model", Value: "6.8"}, check.Proved)},
		"no outcome":        {{Expectation: expectZone}, {Expectation: expectMTU}, {Expectation: expectKernel}},
		"an invented one":   {judgement(expectZone, "certain"), judgement(expectMTU, "PROVED"), judgement(expectKernel, " proved")},
	} {
		e := claiming(12, false, experiment.UnprovedKeep)
		trials := model(e, nil, 5e-8)
		for i := range trials {
			trials[i].Expect = of
		}
		p := Make(Input{Experiment: e, Trials: trials}).Proof[0]
		if p.Outcome != check.Unknown {
			t.Errorf("%s: %+v", name, p)
		}
		for _, o := range p.Expectations {
			if o.Outcome != check.Unknown || o.Unknown != 12 {
				t.Errorf("%s: %+v", name, o)
			}
		}
	}
}

// The value of a number is the same after it was written to a file.
func TestJudgementsSurviveJSON(t *testing.T) {
	e := claiming(12, false, experiment.UnprovedKeep)
	e.Arms[1].Expect[1].Value = 1500 // as a program that makes an experiment writes it
	trials := model(e, nil, 5e-8)
	judge(e, trials, allProved)
	data, err := json.Marshal(trials)
	if err != nil {
		t.Fatal(err)
	}
	var back []result.Trial
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if a := Make(Input{Experiment: e, Trials: back}); a.Unproved != "" {
		t.Error(a.Unproved)
	}
}

func TestDroppedTrialsAreNotCompared(t *testing.T) {
	e := claiming(14, false, experiment.UnprovedDrop)
	trials := model(e, map[string]float64{"vf": -1e-6}, 5e-8)
	// The trials that are not proved are ten times slower. Nothing of them may be in a figure.
	judge(e, trials, func(n int, _ result.Trial, x check.Expectation) check.Outcome {
		if n <= 3 && x.Name == check.ExpectMTU {
			return check.Refuted
		}
		return check.Proved
	})
	for i := range trials {
		if trials[i].Arm == "vf" && trials[i].Expect[1].Outcome == check.Refuted {
			trials[i].Metrics[0].Value *= 10
		}
	}
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	c := a.Comparisons[0]
	if c.Blocks != 11 || c.Unproved != "" || *c.Difference < -1.2e-6 || *c.Difference > -0.8e-6 ||
		c.Verdict != figures.Lower {
		t.Errorf("comparison %+v", c)
	}
	if f := a.Arms[1]; f.Trials != 11 || f.Median > 10e-6 {
		t.Errorf("figure %+v", f)
	}
	if l := a.Layers[0]; l.Unproved != "" || l.Mean < -1.2e-6 || l.Mean > -0.8e-6 {
		t.Errorf("layer %+v", l)
	}
	if p := a.Proof[0]; p.Dropped != 3 || p.Trials != 14 || p.Outcome != check.Refuted {
		t.Errorf("proof %+v", p)
	}
	if want := "vf is not proved to be what it claims: mtu 1500 is refuted in 3 of 14 trials " +
		"(3 of its trials are not compared)."; a.Unproved != want {
		t.Errorf("got %s, want %s", a.Unproved, want)
	}
	if a.Trials != len(trials) || a.Failed != 0 {
		t.Errorf("%d trials, %d failed", a.Trials, a.Failed)
	}
}

// With too few trials left, no difference is seen, and none left is said.
func TestDroppedTrialsCanBeTooMany(t *testing.T) {
	for drop, want := range map[int]string{
		9: figures.FewBlocks, 12: figures.NotComparable,
	} {
		e := claiming(12, false, experiment.UnprovedDrop)
		trials := model(e, map[string]float64{"vf": -1e-6}, 5e-8)
		judge(e, trials, func(n int, _ result.Trial, _ check.Expectation) check.Outcome {
			if n <= drop {
				return check.Unknown
			}
			return check.Proved
		})
		a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
		if c := a.Comparisons[0]; c.Verdict != want {
			t.Errorf("%d dropped: %+v", drop, c)
		}
		if drop == 12 && a.Comparisons[0].Reason !=
			"all 12 trials of vf are dropped, because vf is not proved to be what it claims" {
			t.Errorf("reason: %s", a.Comparisons[0].Reason)
		}
	}
}

// Whatever the trials say: the answer calls an arm proved only if each of its good trials has a judgement that proves
// each expectation, and none that contradicts it. If an arm is not proved, the verdict names it.
func TestNothingIsProvedThatIsNot(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 1))
	outcomes := []check.Outcome{check.Proved, check.Proved, check.Proved, check.Proved, check.Proved, check.Proved,
		check.Refuted, check.Unknown, "", "odd"}
	proofs, doubts := 0, 0
	for round := range 300 {
		unproved := []string{"", experiment.UnprovedKeep, experiment.UnprovedDrop}[round%3]
		e := claiming(6, round%2 == 0, unproved)
		trials := model(e, map[string]float64{"vf": -1e-6}, 5e-8)
		doubtful := random.Float64() < 0.7
		for i := range trials {
			arm, _ := e.Arm(trials[i].Arm)
			if random.IntN(8) == 0 {
				trials[i].Error = "failed"
			}
			for _, x := range arm.Expect {
				trials[i].Expect = append(trials[i].Expect, judgement(x, check.Proved))
				if !doubtful || random.IntN(10) > 0 {
					continue
				}
				last := len(trials[i].Expect) - 1
				switch random.IntN(3) {
				case 0:
					trials[i].Expect = trials[i].Expect[:last]
				case 1:
					trials[i].Expect[last].Outcome = outcomes[random.IntN(len(outcomes))]
				case 2:
					trials[i].Expect = append(trials[i].Expect, judgement(x, outcomes[random.IntN(len(outcomes))]))
				}
			}
		}
		a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
		for _, p := range a.Proof {
			arm, _ := e.Arm(p.Arm)
			want := plainlyProved(arm, trials)
			if got := p.Outcome == check.Proved; got != want {
				t.Fatalf("round %d: %s is proved: %v, want %v: %+v", round, p.Arm, got, want, p)
			}
			named := strings.Contains(a.Unproved, p.Arm+" is not proved")
			if (p.Trials > 0 && !want) != named || named != strings.Contains(a.Verdict, p.Arm+" is not proved") {
				t.Fatalf("round %d: %s is proved: %v, and the verdict is: %s", round, p.Arm, want, a.Verdict)
			}
			if want {
				proofs++
			} else {
				doubts++
			}
		}
		for _, c := range a.Comparisons {
			all := true
			for _, name := range []string{c.Arm, c.Baseline} {
				arm, _ := e.Arm(name)
				all = all && (len(arm.Expect) == 0 || plainlyProved(arm, trials))
			}
			if marked := c.Unproved != ""; unproved != experiment.UnprovedDrop && marked == all ||
				unproved == experiment.UnprovedDrop && marked {
				t.Fatalf("round %d: all proved: %v, comparison %+v", round, all, c)
			}
		}
	}
	if proofs < 20 || doubts < 20 {
		t.Errorf("%d arms were proved and %d were not: too few of one kind", proofs, doubts)
	}
}

// plainlyProved is a second reading of what proves an arm.
func plainlyProved(arm experiment.Arm, trials []result.Trial) bool {
	good := 0
	for _, t := range trials {
		if t.Arm != arm.Name || t.Error != "" {
			continue
		}
		good++
		for _, x := range arm.Expect {
			yes, no := 0, 0
			for _, j := range t.Expect {
				switch {
				case j.Expectation != x:
				case j.Outcome == check.Proved:
					yes++
				default:
					no++
				}
			}
			if yes == 0 || no > 0 {
				return false
			}
		}
	}
	return good > 0
}

func TestPlacesWithoutRepetitions(t *testing.T) {
	e := claiming(4, false, "")
	trials := model(e, nil, 5e-8)
	for i := range trials {
		place := func(host string) *check.Place {
			return &check.Place{Host: host, Where: &check.Where{Cloud: "aws", Zone: fmt.Sprint(trials[i].Block % 2)}}
		}
		if trials[i].Arm == "vf" {
			trials[i].Observed = &result.Sides[check.Place]{Client: place("a")}
		}
	}
	a := Make(Input{Experiment: e, Trials: trials})
	if len(a.Places) != 1 || a.Places[0].Arm != "vf" || len(a.Places[0].Client) != 2 || a.Places[0].Server == nil ||
		len(a.Places[0].Server) != 0 {
		t.Errorf("places %+v", a.Places)
	}
}
