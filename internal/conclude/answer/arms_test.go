package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
)

// TestOtherwise counts what the arms have otherwise than the baseline, in paths and in settings.
func TestOtherwise(t *testing.T) {
	e := overlay(12)
	e.Arms = append(e.Arms, experiment.Arm{Name: "spin", Layers: map[string]int{"bridge": 1, "wire": 3},
		Set: []experiment.Setting{{Key: "wait", Value: "spin", Workloads: []string{e.Workloads[0].Name}}}})
	e.Arms[0].Layers = map[string]int{"bridge": 3, "firewall": 1}
	e.Arms[1].Layers = map[string]int{"bridge": 3, "firewall": 1, "router": 1, "vtep": 2}
	e.Baseline = e.Arms[0].Name
	got := otherwise(e, e.Workloads[0].Name)
	if diff := cmp.Diff([]string{"router", "2 vtep"}, got[e.Arms[1].Name].layers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"3 wire", "2 bridge less", "no firewall"}, got["spin"].layers[:3]); diff != "" {
		t.Error(diff)
	}
	if d := got[e.Baseline]; len(d.layers) > 0 || !d.none {
		t.Errorf("the baseline differs from itself: %+v", d)
	}
}

// TestKinds: an element and its parameter are one thing.
func TestKinds(t *testing.T) {
	for want, layers := range [][]string{{}, {"firewall", "firewall(rules=5000)"}, {"router", "no firewall"}} {
		if got := kinds(layers); got != want {
			t.Errorf("%q are %d kinds, want %d", layers, got, want)
		}
	}
}

// TestSettingsHavePaths: paths are said where they differ, and only there.
func TestSettingsHavePaths(t *testing.T) {
	lab := func(path ...experiment.Element) *experiment.Lab { return &experiment.Lab{Path: path} }
	bridge, wire := experiment.Element{Kind: experiment.Bridge}, experiment.Element{Kind: experiment.Wire, Delay: 1e6}
	e := &experiment.Experiment{Arms: []experiment.Arm{{Name: "near", Lab: lab(bridge)}, {Name: "far", Lab: lab(bridge, wire)}}}
	none := []experiment.Setting{} // a list in JSON
	want := []Settings{{Arm: "near", Path: "bridge", Set: none}, {Arm: "far", Path: "bridge, wire (1ms each way)", Set: none}}
	if diff := cmp.Diff(want, settingsOf(e)); diff != "" {
		t.Error(diff)
	}
	e.Arms[1].Lab = e.Arms[0].Lab
	if got := settingsOf(e); len(got) > 0 {
		t.Errorf("equal arms: %+v", got)
	}
}
