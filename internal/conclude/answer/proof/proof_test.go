package proof

import (
	"strings"
	"testing"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// TestOf: an arm is proved if each expectation is in each good trial; one trial refutes it, and failed trials and those
// of other arms do not count.
func TestOf(t *testing.T) {
	zone := check.Expectation{Name: check.ExpectSameZone, Value: true}
	arm := experiment.Arm{Name: "vf", Expect: []check.Expectation{zone}}
	trial := func(arm, failed string, o check.Outcome) result.Trial {
		return result.Trial{Arm: arm, Error: failed,
			Expect: []check.Judgement{{Expectation: zone, Outcome: o, Evidence: "seen: " + string(o)}}}
	}
	good := trial("vf", "", check.Proved)
	for name, c := range map[string]struct {
		trials []result.Trial
		want   check.Outcome
		text   string
	}{
		"proved": {[]result.Trial{good, good, trial("vf", "it broke", check.Refuted), trial("sw", "", check.Refuted)},
			check.Proved, ""},
		"refuted":  {[]result.Trial{good, trial("vf", "", check.Refuted)}, check.Refuted, "refuted in 1 of 2 trials"},
		"unknown":  {[]result.Trial{good, {Arm: "vf"}}, check.Unknown, "unknown in 1 of 2 trials"},
		"no trial": {nil, check.Unknown, ""},
	} {
		p := Of(arm, c.trials)
		if p.Outcome != c.want || !strings.Contains(p.Text(), c.text) || (p.Text() == "") != (c.text == "") {
			t.Errorf("%s: %s, %q", name, p.Outcome, p.Text())
		}
	}
}

// TestDropped: trials in which an expectation is not proved are counted, and not compared if the experiment drops them.
func TestDropped(t *testing.T) {
	zone := check.Expectation{Name: check.ExpectSameZone, Value: true}
	e := &experiment.Experiment{Unproved: experiment.UnprovedDrop,
		Arms: []experiment.Arm{{Name: "sw"}, {Name: "vf", Expect: []check.Expectation{zone}}}}
	trials := []result.Trial{{Arm: "sw"}, {Arm: "vf"}, {Arm: "vf", Error: "it broke"}}
	if left := Compared(e, trials); len(left) != 2 {
		t.Errorf("compared: %+v", left)
	}
	all := All(e, trials)
	if len(all.Proof) != 1 || all.Proof[0].Dropped != 1 || !strings.Contains(all.Unproved, "vf is not proved") {
		t.Errorf("%+v", all)
	}
	all.AllowUnverified()
	if !strings.HasSuffix(all.Unverified, all.Unproved) {
		t.Errorf("%q", all.Unverified)
	}
}

// TestSentence names the first texts, and counts the others.
func TestSentence(t *testing.T) {
	for want, texts := range map[string][]string{
		"": nil, "a; b.": {"a", "b"}, "a; b; c; d; and 2 more.": {"a", "b", "c", "d", "e", "f"},
	} {
		if got := Sentence(texts); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Joined("b", "", "a", "b"); got != "a; b" {
		t.Errorf("%q", got)
	}
}
