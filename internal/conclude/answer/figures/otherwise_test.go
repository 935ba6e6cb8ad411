package figures

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
)

// TestOtherwise counts what the arms have otherwise than the baseline, in paths and in settings.
func TestOtherwise(t *testing.T) {
	e := &experiment.Experiment{Workloads: []experiment.Workload{{Name: "rr"}}, Baseline: "wall", Arms: []experiment.Arm{
		{Name: "wall", Layers: map[string]int{"bridge": 3, "firewall": 1}},
		{Name: "vxlan", Layers: map[string]int{"bridge": 3, "firewall": 1, "router": 1, "vtep": 2}},
		{Name: "spin", Layers: map[string]int{"bridge": 1, "wire": 3},
			Set: []experiment.Setting{{Key: "wait", Value: "spin", Workloads: []string{"rr"}}}},
	}}
	got := otherwise(e, "rr")
	if diff := cmp.Diff([]string{"router", "2 vtep"}, got["vxlan"].layers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"3 wire", "2 bridge less", "no firewall"}, got["spin"].layers[:3]); diff != "" {
		t.Error(diff)
	}
	if d := got[e.Baseline]; len(d.layers) > 0 || !d.none {
		t.Errorf("the baseline differs from itself: %+v", d)
	}
}
