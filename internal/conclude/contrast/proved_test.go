package contrast

import (
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// claims makes vf of a side expect same-zone, which is refuted in its first blocks.
func claims(s *Side, unproved string, refuted int) *Side {
	x := check.Expectation{Name: check.ExpectSameZone, Value: true}
	s.Experiment.Unproved = unproved
	for i, arm := range s.Experiment.Arms {
		if arm.Name == "vf" {
			s.Experiment.Arms[i].Expect = []check.Expectation{x}
		}
	}
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Arm == "vf" {
			j := check.Judgement{Expectation: x, Outcome: check.Proved, Evidence: "one zone"}
			if t.Block <= refuted {
				j.Outcome, j.Evidence = check.Refuted, "two zones"
			}
			t.Expect = []check.Judgement{j}
		}
	}
	return s
}

func claiming(side string, refuted int, unproved string) *Side {
	return claims(model{side: side, arms: []string{"sw", "vf"}, blocks: 12, seed: uint64(len(side)) + 3,
		noise: 1e-7}.make(), unproved, refuted)
}

func TestSidesSayWhatIsNotProved(t *testing.T) {
	c, err := Match(claiming("A", 0, ""), claiming("B", 2, experiment.UnprovedKeep))
	if err != nil {
		t.Fatal(err)
	}
	a := c.Answer()
	const text = "B: vf is not proved to be what it claims: same-zone is refuted in 2 of 12 trials"
	for _, one := range a.Comparisons {
		want := ""
		if one.Arm == "vf" {
			want = text
		}
		if one.Unproved != want {
			t.Errorf("%s: got %q, want %q", one.Arm, one.Unproved, want)
		}
	}
	if a.Unproved != text+"." || !strings.HasSuffix(a.Basis, " "+text+".") {
		t.Errorf("unproved: %s\nverdict: %s", a.Unproved, a.Verdict)
	}
	w := warned(a, "expectation-refuted")
	if w == nil || w.Arm != "vf" || w.Message != "B: same-zone is refuted in 2 of 12 trials (trial 2, 4): two zones" {
		t.Errorf("warning %+v", w)
	}
}

func TestArmsOfOneRunNeedNoNameOfTheirSide(t *testing.T) {
	base, other := claiming("A", 1, ""), claiming("A", 1, "")
	base.Arm, other.Arm, other.Name = "sw", "vf", "B"
	c, err := Match(base, other)
	if err != nil {
		t.Fatal(err)
	}
	const text = "vf is not proved to be what it claims: same-zone is refuted in 1 of 12 trials"
	if a := c.Answer(); a.Comparisons[0].Unproved != text || a.Unproved != text+"." {
		t.Errorf("got %q and %q", a.Comparisons[0].Unproved, a.Unproved)
	}
}

func TestAnArmThatIsNotComparedIsNotNamed(t *testing.T) {
	base, other := claiming("A", 0, ""), claiming("B", 12, "")
	base.Arm, other.Arm = "sw", "sw"
	c, err := Match(base, other)
	if err != nil {
		t.Fatal(err)
	}
	if a := c.Answer(); a.Unproved != "" || warned(a, "expectation-refuted") != nil {
		t.Errorf("unproved: %s, warnings %+v", a.Unproved, a.Warnings)
	}
}

// Trials that the experiment drops are in no comparison of sides either.
func TestDroppedTrialsAreInNoSide(t *testing.T) {
	slow := claiming("B", 4, experiment.UnprovedDrop)
	for i := range slow.Trials {
		if t := &slow.Trials[i]; t.Arm == "vf" && t.Block <= 4 {
			for k := range t.Metrics {
				t.Metrics[k].Value *= 10
			}
		}
	}
	c, err := Match(claiming("A", 0, ""), slow)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Answer()
	for _, f := range a.Arms {
		if f.Arm == "vf" && f.Side == "B" && f.Trials != 8 {
			t.Errorf("figure %+v", f)
		}
	}
	for _, one := range a.Comparisons {
		if one.Verdict != figures.NoDifference || one.Unproved != "" {
			t.Errorf("comparison %+v", one)
		}
	}

	all := claiming("B", 12, experiment.UnprovedDrop)
	if c, err = Match(claiming("A", 0, ""), all); err != nil {
		t.Fatal(err)
	}
	q := figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	for i := range c.Pairs {
		if p := &c.Pairs[i]; p.NewArm == "vf" && !strings.Contains(p.Lacks(q, false), "all 12 trials are dropped") {
			t.Errorf("%+v lacks %q", p, p.Lacks(q, false))
		}
	}
}

// With several runs a side, each is checked.
func TestSeveralRunsOfASide(t *testing.T) {
	merge := func(name string, refuted ...int) *Side {
		var all []*Side
		for i, n := range refuted {
			s := claiming(name+strings.Repeat("x", i), n, "")
			s.Name = name
			all = append(all, s)
		}
		m, err := Merge(name, all)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	c, err := Match(merge("A", 0, 0, 0), merge("B", 0, 3, 0))
	if err != nil {
		t.Fatal(err)
	}
	const text = "B: vf is not proved to be what it claims: same-zone is refuted in 3 of 12 trials"
	if a := c.Answer(); a.Unproved != text+"." {
		t.Errorf("got %q", a.Unproved)
	}
}
