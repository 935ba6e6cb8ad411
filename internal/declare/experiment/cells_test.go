package experiment

import (
	"maps"
	"slices"
	"testing"
)

// TestCells: the cells are the workloads as arms run them, by arms, each once.
func TestCells(t *testing.T) {
	e := &Experiment{
		Workloads: []Workload{{Name: "rr", Protocol: TCP}, {Name: "bulk", Protocol: TCP}},
		Arms: []Arm{{Name: "plain"}, {
			Name: "other", Set: []Setting{{Key: "protocol", Value: UDP, Workloads: []string{"rr"}}},
			Workloads: []Workload{{Name: "rr", Protocol: UDP}},
		}},
	}
	cells := e.Cells()
	var order []string
	for c := range cells.All() {
		order = append(order, c.Arm+"/"+c.Workload.Name+"/"+c.Workload.Protocol)
		same := cells.In(Slot{Arm: c.Arm, Workload: c.Workload.Name})
		if same.Workload.Protocol != c.Workload.Protocol || !maps.Equal(same.Set, e.SetIn(c.Arm, c.Workload.Name)) {
			t.Errorf("%s in %s: %+v", c.Workload.Name, c.Arm, same)
		}
	}
	want := []string{"plain/rr/tcp", "plain/bulk/tcp", "other/rr/udp", "other/bulk/tcp"}
	if !slices.Equal(order, want) {
		t.Errorf("the cells are %v, want %v", order, want)
	}
	if none := cells.Of("other", "nothing"); none.Arm != "" || none.Workload.Name != "" {
		t.Errorf("a cell that is not there: %+v", none)
	}
}
