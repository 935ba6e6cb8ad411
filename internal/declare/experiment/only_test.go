package experiment_test

import (
	"encoding/json"
	"testing"
	"time"

	experimentfile "nearfar/internal/declare/experiment/file"
)

// Only leaves one arm and one workload, with what the arm sets, and it can be run and written like any experiment.
func TestOnly(t *testing.T) {
	e, err := experimentfile.Parse("x.yaml", []byte(selfExample), testTools)
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	one, err := e.Only("spin", "rr", 3)
	if err != nil {
		t.Fatal(err)
	}
	keptRunnable(t, one)
	if len(one.Arms) != 1 || len(one.Workloads) != 1 || len(one.Hosts) > 0 || len(one.Objectives) > 0 || one.Name != "x" {
		t.Errorf("%+v", one)
	}
	w := one.Workloads[0]
	if w.Name != "rr" || w.Duration != 2*time.Second || w.Wait != "spin" || one.Baseline != "spin" {
		t.Errorf("the workload is %+v, the baseline %s", w, one.Baseline)
	}
	if slots := one.Slots(); len(slots) != 3 || slots[0].Arm != "spin" {
		t.Errorf("the trials are %+v", slots)
	}
	far, err := e.Only("far", "bulk", 1)
	if err != nil || len(far.Hosts) != 2 {
		t.Errorf("the hosts are %+v, %v", far.Hosts, err)
	}
	if after, err := json.Marshal(e); err != nil || string(after) != string(before) {
		t.Errorf("the experiment has changed: %s, %v", after, err)
	}
	for _, c := range [][2]string{{"none", "rr"}, {"spin", "none"}} {
		if _, err := e.Only(c[0], c[1], 1); err == nil {
			t.Errorf("%v exists", c)
		}
	}
}
