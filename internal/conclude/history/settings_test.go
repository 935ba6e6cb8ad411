package history

import (
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/rundir"
)

// declaredTools is a native engine with one mode.
func declaredTools() experiment.Tools {
	size := experiment.Range{Min: 1, Max: 1024}
	return experiment.Tools{{Name: "native", Does: []experiment.Capability{{
		Mode: experiment.RR, Protocol: experiment.TCP, Request: size, Response: size, Keys: []string{"congestion"},
		Duration: experiment.Durations{Min: time.Second, Max: time.Hour, Step: time.Second},
	}}}}
}

// A change of an arm's settings changes the arm's declaration. A change of its workload does not.
func TestSettingsAreTheArmsOwnCondition(t *testing.T) {
	condition := func(congestion, duration string) string {
		t.Helper()
		e, err := experimentfile.Parse("x.yaml", []byte(`nearfar: v1
name: x
arms: {bbr: {lab: {path: [bridge]}, set: {congestion: `+congestion+`}}}
workloads: [{name: rr, tool: native, duration: `+duration+`}]
`), declaredTools())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range runConditions(rundir.Manifest{Experiment: e}) {
			if c.subject == armSubject("bbr") && c.name == declaration {
				return c.value
			}
		}
		t.Fatal("an arm has no condition")
		return ""
	}
	if condition("bbr", "1s") != condition("bbr", "2s") {
		t.Error("the declaration of an arm depends on its workload")
	}
	if condition("bbr", "1s") == condition("cubic", "1s") {
		t.Error("the declaration of an arm does not depend on its settings")
	}
}
