package experiment_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
)

func parsedExpect(t *testing.T) *experiment.Experiment {
	t.Helper()
	data, err := os.ReadFile("file/testdata/valid/expect.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, err := experimentfile.Parse("expect.yaml", data, testTools)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A run directory holds the expectations of the file, including the types of the values.
func TestExpectationsSurviveJSON(t *testing.T) {
	e := parsedExpect(t)
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back experiment.Experiment
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e.Arms, back.Arms); diff != "" {
		t.Error(diff)
	}
	if back.Unproved != experiment.UnprovedDrop {
		t.Errorf("unproved is %q", back.Unproved)
	}
	if err := back.CheckRunnable(testTools); err != nil {
		t.Error(err)
	}
	for i, a := range back.Arms {
		for k, x := range a.Expect {
			if !x.Same(e.Arms[i].Expect[k]) {
				t.Errorf("%s became another one", x.Text())
			}
		}
	}
}

func TestExpectText(t *testing.T) {
	e := parsedExpect(t)
	want := "same-zone, accelerated-networking, placement-group cluster-1, instance-type Standard_D4s_v5, " +
		"driver mlx5_core, mtu 1500, encapsulation none, fact kernel 6.8.0-1015-azure, " +
		"fact client.devices.eth0.mtu 9000, fact processor.hypervisor, fact load.average 0.5"
	if got := e.Arms[0].ExpectText(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := e.Arms[1].ExpectText(),
		"different-zone, same-zone false, placement-group, different-nodes"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUnprovedHasADefaultWhereSomethingIsExpected(t *testing.T) {
	const head, rest = "nearfar: v1\nname: x\n", "workloads: [{name: rr, tool: native}]\n"
	const expecting = "arms: {a: {lab: {path: [bridge]}, expect: {same-node: true}}}\n"
	for text, want := range map[string]string{
		head + "arms: {a: {lab: {path: [bridge]}}}\n" + rest: "",
		head + expecting + rest:                              experiment.UnprovedKeep,
		head + expecting + rest + "unproved: drop":           experiment.UnprovedDrop,
	} {
		e, err := experimentfile.Parse("x.yaml", []byte(text), testTools)
		if err != nil {
			t.Errorf("%v in:\n%s", err, text)
		} else if e.Unproved != want {
			t.Errorf("unproved is %q, want %q in:\n%s", e.Unproved, want, text)
		}
	}
}

// A run directory can hold anything.
func TestCheckRefusesExpectations(t *testing.T) {
	long := strings.Repeat("x", experiment.MaxExpectText+1)
	many := make([]check.Expectation, experiment.MaxFacts+len(check.Expectations())+1)
	for name, change := range map[string]func(*experiment.Experiment){
		"no expectation": func(e *experiment.Experiment) {
			e.Arms[0].Expect[0].Name = "speed"
		},
		"another type": func(e *experiment.Experiment) { e.Arms[0].Expect[0].Value = map[string]any{"a": 1} },
		"no value":     func(e *experiment.Experiment) { e.Arms[0].Expect[0].Value = nil },
		"a long text": func(e *experiment.Experiment) {
			e.Arms[0].Expect[0] = check.Expectation{Name: check.ExpectDriver, Value: long}
		},
		"a long path": func(e *experiment.Experiment) {
			e.Arms[0].Expect[0] = check.Expectation{Name: check.ExpectFact, Path: long, Value: true}
		},
		"one twice":   func(e *experiment.Experiment) { e.Arms[0].Expect[1] = e.Arms[0].Expect[0] },
		"many":        func(e *experiment.Experiment) { e.Arms[0].Expect = many },
		"no unproved": func(e *experiment.Experiment) { e.Unproved = "forget" },
	} {
		e := parsedExpect(t)
		change(e)
		if e.Check() == nil {
			t.Errorf("%s: Check takes it", name)
		}
	}
}
