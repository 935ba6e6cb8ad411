package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
)

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
